#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::net {

// How a JSON Web Token is signed (RFC 7518): ECDSA P-256 or RSA, each with SHA-256.
enum class Algorithm { kEs256, kRs256 };
// "ES256", "RS256".
[[nodiscard]] const char* AlgorithmName(Algorithm algorithm);

// A key that signs or checks tokens. Immutable, any thread.
class SigningKey {
 public:
  // A new ES256 key.
  [[nodiscard]] static Result<SigningKey> Generate();
  // Reads a private or public key (PEM; SEC 1, PKCS 1, PKCS 8, SubjectPublicKeyInfo) or the key of
  // a certificate; the kind of key decides the algorithm. ERRORS: kInvalid.
  [[nodiscard]] static Result<SigningKey> FromPem(std::string_view pem);

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  [[nodiscard]] bool can_sign() const { return can_sign_; }
  // Names the key in the head of tokens: base64url of the SHA-256 of the public key in DER, as
  // upstream's serviceaccount package.
  [[nodiscard]] const std::string& key_id() const { return key_id_; }
  // PKCS 8; empty for a public key.
  [[nodiscard]] std::string PrivatePem() const;
  [[nodiscard]] std::string PublicPem() const;
  // The public key as a member of a JSON Web Key Set (RFC 7517), compact JSON.
  [[nodiscard]] std::string PublicJwk() const;

  // The signature in JWS form (ES256: r and s, 32 bytes each). ERRORS: kInternal, kInvalid for a
  // public key.
  [[nodiscard]] Result<std::string> Sign(std::string_view data) const;
  [[nodiscard]] bool Verify(std::string_view data, std::string_view signature) const;

 private:
  SigningKey() = default;
  std::shared_ptr<void> key_;  // EVP_PKEY
  Algorithm algorithm_ = Algorithm::kEs256;
  bool can_sign_ = false;
  std::string key_id_;
};

[[nodiscard]] std::string Base64Encode(std::string_view bytes);
// ERRORS: kBadRequest. Line breaks are skipped, as Go does.
[[nodiscard]] Result<std::string> Base64Decode(std::string_view text);
// Without padding, '-' and '_' (RFC 4648 section 5).
[[nodiscard]] std::string Base64UrlEncode(std::string_view bytes);
[[nodiscard]] Result<std::string> Base64UrlDecode(std::string_view text);
// Lower-case hex of the SHA-256.
[[nodiscard]] std::string Sha256Hex(std::string_view bytes);

}  // namespace drachma::net
