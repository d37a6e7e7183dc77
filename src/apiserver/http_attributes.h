#pragma once

#include "apiserver/auth.h"
#include "apiserver/core.h"
#include "apiserver/http_metrics.h"
#include "apiserver/request.h"
#include "base/result.h"
#include "client/client.h"
#include "net/http.h"

namespace drachma::apiserver {

// The verb of a request for a resource. ERRORS: kMethodNotAllowed.
[[nodiscard]] Result<client::Verb> VerbOf(const net::HttpRequest& request, const RequestPath& path,
                                          const Query& query);
// The selectors of a list, which authorisers see; they are checked later.
void AddSelectors(const Query& query, client::Request& call);
// What a request is about, before its user and its options are known.
[[nodiscard]] Attributes AttributesOf(const net::HttpRequest& request);
// What a request is counted under. Names that nothing serves stay empty: whoever sends them shall
// not make the metrics grow.
[[nodiscard]] RequestLabels LabelsOf(const net::HttpRequest& request, const RequestPath& path,
                                     const Core& core);
// The lower-case method, the verb of requests that are for no resource.
[[nodiscard]] std::string LowerCaseMethod(const net::HttpRequest& request);

}  // namespace drachma::apiserver
