#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/auth.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "json/value.h"
#include "net/signing.h"

namespace drachma::apiserver {

// Issues and checks the tokens of service accounts: JSON Web Tokens with the claims of upstream's
// serviceaccount package (iss, sub, aud, exp, iat, nbf, jti and "kubernetes.io" with namespace,
// service account and what the token is bound to). A token is good as long as its service account
// and its bound Pod, Node or Secret exist with the same uid.
//
// Called on the server's executor.
class ServiceAccountTokens final : public Authenticator {
 public:
  static constexpr std::string_view kIssuer = "https://kubernetes.default.svc";
  // Upstream's bounds of TokenRequest.spec.expirationSeconds.
  static constexpr std::int64_t kExpirationSecondsMin = 600;
  static constexpr std::int64_t kExpirationSecondsMax = std::int64_t{1} << 32;
  static constexpr std::int64_t kExpirationSecondsDefault = 3600;
  static constexpr std::size_t kTokenBytesMax = 16 * 1024;

  // `objects`, `clock` and `random` must outlive this.
  ServiceAccountTokens(const ObjectReader& objects, const Clock& clock, Random& random,
                       net::SigningKey key)
      : objects_(objects), clock_(clock), random_(random), key_(std::move(key)) {}

  // Answers a TokenRequest (authentication.k8s.io/v1) for a service account: the request with
  // status.token and status.expirationTimestamp.
  // ERRORS: kNotFound for an account or bound object that does not exist, kConflict for another
  // uid, kInvalid for bounds of the expiration.
  [[nodiscard]] Result<json::Value> Issue(std::string_view ns, std::string_view name,
                                          json::Value token_request);

  [[nodiscard]] Result<std::optional<User>> Authenticate(const Credentials& credentials) override;
  // The user of a token whose audience is one of `audiences` (TokenReview); empty means ours.
  // ERRORS: kUnauthorized with what is wrong.
  struct Checked {
    User user;
    std::vector<std::string> audiences;  // those wanted that the token is meant for
  };
  [[nodiscard]] Result<Checked> Check(std::string_view token,
                                      const std::vector<std::string>& audiences) const;

 private:
  [[nodiscard]] Result<json::Value> BoundClaims(std::string_view ns, const json::Value& account,
                                                const json::Value& bound) const;
  [[nodiscard]] Status CheckBound(const json::Value& claims, std::string_view ns) const;

  const ObjectReader& objects_;
  const Clock& clock_;
  Random& random_;
  net::SigningKey key_;
};

}  // namespace drachma::apiserver
