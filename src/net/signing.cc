#include "net/signing.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstdint>

#include "net/openssl.h"
#include "net/tls.h"

namespace drachma::net {
namespace {

constexpr std::size_t kEs256HalfBytes = 32;

constexpr std::string_view kStandardDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum class Padding { kNo, kYes };

std::string Encode(std::string_view bytes, std::string_view digits, Padding padding) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k <= count; ++k) text += digits[group >> (18 - 6 * k) & 63];
    if (padding == Padding::kYes) text.append(3 - count, '=');
  }
  return text;
}

Result<std::string> Decode(std::string_view text, std::string_view digits, Padding padding) {
  std::string compact;
  for (const char c : text) {
    if (c != '\n' && c != '\r') compact += c;
  }
  if (padding == Padding::kYes) {
    if (compact.size() % 4 != 0) return BadInput("illegal base64 data: its length is wrong");
    for (int i = 0; i < 2 && !compact.empty() && compact.back() == '='; ++i) compact.pop_back();
  }
  if (compact.size() % 4 == 1) return BadInput("illegal base64 data: its length is wrong");
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const std::size_t digit = digits.find(compact[i]);
    if (digit == std::string_view::npos) {
      return BadInput("illegal base64 data at input byte " + std::to_string(i));
    }
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return bytes;
}

std::string Sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

EVP_PKEY* KeyOf(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

// JWS writes an ECDSA signature as two numbers of fixed size; OpenSSL writes DER.
std::string FromDer(std::string_view der) {
  const unsigned char* at = BytesOf(der);
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  if (signature == nullptr) return {};
  std::string raw(2 * kEs256HalfBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, kEs256HalfBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + kEs256HalfBytes, kEs256HalfBytes);
  ECDSA_SIG_free(signature);
  return raw;
}

std::string ToDer(std::string_view raw) {
  if (raw.size() != 2 * kEs256HalfBytes) return {};
  ECDSA_SIG* signature = ECDSA_SIG_new();
  ECDSA_SIG_set0(signature, BN_bin2bn(BytesOf(raw), kEs256HalfBytes, nullptr),
                 BN_bin2bn(BytesOf(raw) + kEs256HalfBytes, kEs256HalfBytes, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature, &der);
  ECDSA_SIG_free(signature);
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::string PublicDer(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

// A number of the key as base64url, at least `bytes_min` long.
std::string NumberOf(EVP_PKEY* key, const char* name, std::size_t bytes_min) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  const std::size_t size = std::max<std::size_t>(bytes_min, BN_num_bytes(number));
  std::string bytes(size, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size));
  BN_free(number);
  return Base64UrlEncode(bytes);
}

KeyPtr ReadAnyKey(std::string_view pem, bool& is_private) {
  is_private = true;
  if (KeyPtr key(PEM_read_bio_PrivateKey(ReadBio(pem).get(), nullptr, nullptr, nullptr)); key) {
    return key;
  }
  is_private = false;
  if (KeyPtr key(PEM_read_bio_PUBKEY(ReadBio(pem).get(), nullptr, nullptr, nullptr)); key) {
    return key;
  }
  const X509Ptr certificate(PEM_read_bio_X509(ReadBio(pem).get(), nullptr, nullptr, nullptr));
  return KeyPtr(certificate == nullptr ? nullptr : X509_get_pubkey(certificate.get()));
}

bool IsP256(EVP_PKEY* key) {
  char group[32] = {};
  return EVP_PKEY_get_group_name(key, group, sizeof(group), nullptr) == 1 &&
         std::string_view(group) == "prime256v1";
}

}  // namespace

const char* AlgorithmName(Algorithm algorithm) {
  return algorithm == Algorithm::kEs256 ? "ES256" : "RS256";
}

Result<SigningKey> SigningKey::Generate() {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (key == nullptr) return Fail(Code::kInternal, "cannot make a key: " + OpenSslError());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return FromPem(TextOf(bio.get()));
}

Result<SigningKey> SigningKey::FromPem(std::string_view pem) {
  SigningKey result;
  KeyPtr key = ReadAnyKey(pem, result.can_sign_);
  if (key == nullptr) return Fail(Code::kInvalid, "cannot read the key: " + OpenSslError());
  OpenSslError();  // of the kinds that it was not
  if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
    result.algorithm_ = Algorithm::kRs256;
  } else if (EVP_PKEY_is_a(key.get(), "EC") != 1 || !IsP256(key.get())) {
    return Fail(Code::kInvalid, "the key is neither RSA nor ECDSA P-256");
  }
  result.key_id_ = Base64UrlEncode(Sha256(PublicDer(key.get())));
  result.key_ = std::shared_ptr<void>(
      key.release(), [](void* raw) { EVP_PKEY_free(static_cast<EVP_PKEY*>(raw)); });
  return result;
}

std::string SigningKey::PrivatePem() const {
  if (!can_sign_) return {};
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), KeyOf(key_), nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio.get());
}

std::string SigningKey::PublicPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(bio.get(), KeyOf(key_));
  return TextOf(bio.get());
}

std::string SigningKey::PublicJwk() const {
  const std::string common =
      R"("use":"sig","kid":")" + key_id_ + R"(","alg":")" + AlgorithmName(algorithm_) + '"';
  if (algorithm_ == Algorithm::kRs256) {
    return "{" + common + R"(,"kty":"RSA","n":")" + NumberOf(KeyOf(key_), "n", 1) + R"(","e":")" +
           NumberOf(KeyOf(key_), "e", 1) + "\"}";
  }
  return "{" + common + R"(,"kty":"EC","crv":"P-256","x":")" +
         NumberOf(KeyOf(key_), OSSL_PKEY_PARAM_EC_PUB_X, kEs256HalfBytes) + R"(","y":")" +
         NumberOf(KeyOf(key_), OSSL_PKEY_PARAM_EC_PUB_Y, kEs256HalfBytes) + "\"}";
}

Result<std::string> SigningKey::Sign(std::string_view data) const {
  if (!can_sign_) return Fail(Code::kInvalid, "a public key cannot sign");
  const DigestPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, KeyOf(key_)) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, BytesOf(data), data.size()) != 1) {
    return Fail(Code::kInternal, "cannot sign: " + OpenSslError());
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     BytesOf(data), data.size()) != 1) {
    return Fail(Code::kInternal, "cannot sign: " + OpenSslError());
  }
  signature.resize(size);
  return algorithm_ == Algorithm::kEs256 ? FromDer(signature) : signature;
}

bool SigningKey::Verify(std::string_view data, std::string_view signature) const {
  const std::string form =
      algorithm_ == Algorithm::kEs256 ? ToDer(signature) : std::string(signature);
  const DigestPtr context(EVP_MD_CTX_new());
  const bool ok =
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, KeyOf(key_)) == 1 &&
      EVP_DigestVerify(context.get(), BytesOf(form), form.size(), BytesOf(data), data.size()) == 1;
  if (!ok) OpenSslError();
  return ok;
}

std::string Base64Encode(std::string_view bytes) {
  return Encode(bytes, kStandardDigits, Padding::kYes);
}
Result<std::string> Base64Decode(std::string_view text) {
  return Decode(text, kStandardDigits, Padding::kYes);
}
std::string Base64UrlEncode(std::string_view bytes) {
  return Encode(bytes, kUrlDigits, Padding::kNo);
}
Result<std::string> Base64UrlDecode(std::string_view text) {
  return Decode(text, kUrlDigits, Padding::kNo);
}

std::string Sha256Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : Sha256(bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

}  // namespace drachma::net
