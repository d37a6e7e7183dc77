#pragma once

#include <string>
#include <string_view>

#include "client/client.h"

namespace drachma::client {

// "/api/v1/namespaces/x/pods/y/status" for `request`, without the query: the paths of the API
// conventions, every segment percent-encoded.
[[nodiscard]] std::string UrlPath(const Request& request);
// "watch=true&resourceVersion=5": the query parameters that `request` names; empty for none.
// Options of a delete that stand in the body are not repeated.
[[nodiscard]] std::string UrlQuery(const Request& request);
// "GET", "POST", "PUT", "PATCH", "DELETE".
[[nodiscard]] std::string_view HttpMethod(Verb verb);
// The Content-Type of `request`'s body; for a server-side apply the YAML one (JSON is YAML).
[[nodiscard]] std::string_view ContentType(const Request& request);

}  // namespace drachma::client
