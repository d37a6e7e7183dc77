#pragma once

#include <memory>
#include <span>

#include "apiserver/auth.h"
#include "apiserver/core.h"
#include "base/result.h"
#include "net/http.h"

namespace drachma::apiserver {

// Who sends `request`: the first authenticator that knows its credentials, then whom they
// impersonate (Impersonate-User, -Group, -Uid, -Extra-…), which needs the right to do so. Without
// credentials it is system:anonymous (upstream's --anonymous-auth).
// `authenticated` becomes who they are before that, when it is given.
// ERRORS: kUnauthorized with wrong credentials, kForbidden for impersonation, kBadRequest for
// headers that name no user.
[[nodiscard]] Result<User> IdentifyUser(
    const net::HttpRequest& request, std::span<const std::shared_ptr<Authenticator>> authenticators,
    const Core& core, User* authenticated = nullptr);

}  // namespace drachma::apiserver
