#pragma once

#include "apiserver/auth.h"
#include "apiserver/core.h"
#include "base/result.h"

namespace drachma::apiserver {

// Who acts when `requestor` asks to act as `wanted` in a request with these attributes, and
// whether that is allowed (apiserver's constrained impersonation, KEP 5284). The modes are tried in
// upstream's order: the node that a service account runs on, any node, a service account, another
// user; each needs the right to impersonate and, for the request at hand, the right to do so in
// this mode. Last comes the verb "impersonate", which allows it in every request.
// `wanted` is as the headers say it; of what is returned the groups are complete.
// ERRORS: kForbidden with the text of the first mode that could have fitted.
[[nodiscard]] Result<User> Impersonate(const Core& core, const User& requestor, const User& wanted,
                                       const Attributes& request);

}  // namespace drachma::apiserver
