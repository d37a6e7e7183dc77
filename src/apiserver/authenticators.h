#pragma once

#include <map>
#include <memory>
#include <string>

#include "apiserver/auth.h"

namespace drachma::apiserver {

// Users by the subject of a client certificate that the TLS layer has verified: the common name is
// the user, the organisations are the groups.
class CertificateAuthenticator final : public Authenticator {
 public:
  [[nodiscard]] Result<std::optional<User>> Authenticate(const Credentials& credentials) override;
};

// Users by the tokens of a file (upstream's --token-auth-file): lines of CSV
// token,user,uid[,"group1,group2"].
class TokenFileAuthenticator final : public Authenticator {
 public:
  // ERRORS: kInvalid for a line without token, user and uid; those of reading the file.
  [[nodiscard]] static Result<std::shared_ptr<TokenFileAuthenticator>> FromFile(
      const std::string& path);
  [[nodiscard]] static Result<std::shared_ptr<TokenFileAuthenticator>> FromText(
      std::string_view text);

  [[nodiscard]] Result<std::optional<User>> Authenticate(const Credentials& credentials) override;

 private:
  std::map<std::string, User, std::less<>> users_;
};

// The last in the line: a token that nobody knew is wrong.
class UnknownTokenAuthenticator final : public Authenticator {
 public:
  [[nodiscard]] Result<std::optional<User>> Authenticate(const Credentials& credentials) override;
};

}  // namespace drachma::apiserver
