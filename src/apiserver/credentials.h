#pragma once

#include <string>

#include "apiserver/user.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/certificates.h"
#include "net/signing.h"

namespace drachma::apiserver {

// The keys of a server: its authority, its certificate, and the key that signs tokens. Kept in a
// folder (files of mode 0600), or made anew for a server that keeps nothing.
struct ServerKeys {
  net::CertificateAndKey authority;
  net::CertificateAndKey server;
  std::string service_account_key_pem;
};

// Reads the keys of `folder`, making those that are missing; an empty folder name makes all.
// ERRORS: those of reading, writing and making them; kInvalid when a kept certificate does not fit.
[[nodiscard]] Result<ServerKeys> LoadServerKeys(const std::string& folder, Time now);

// The text of a kubeconfig for `url` whose client certificate says `user`.
[[nodiscard]] Result<std::string> MakeKubeconfig(const ServerKeys& keys, const std::string& url,
                                                 const User& user, Time now);

}  // namespace drachma::apiserver
