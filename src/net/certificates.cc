#include "net/certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "net/openssl.h"
#include "net/tls.h"

namespace drachma::net {
namespace {

// Clocks of two machines may differ by so much.
constexpr Duration kClockSkew = std::chrono::minutes(5);

std::unexpected<Error> CryptoError(const std::string& what) {
  return Fail(Code::kInternal, what + ": " + OpenSslError());
}

std::string Utf8Of(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string result(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return result;
}

KeyPtr NewKey() { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

std::string ToPem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio.get());
}

std::string ToPem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return TextOf(bio.get());
}

X509Ptr ReadCertificate(std::string_view pem) {
  const BioPtr bio = ReadBio(pem);
  return X509Ptr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

KeyPtr ReadKey(std::string_view pem) {
  const BioPtr bio = ReadBio(pem);
  return KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

bool SetValidity(X509* certificate, Time now, Duration validity) {
  const auto seconds = [](Time time) {
    return std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  };
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(now - kClockSkew)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(now + validity)) != nullptr;
}

bool SetSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return false;
  bytes[0] &= 0x7F;  // serial numbers are positive
  BIGNUM* number = BN_bin2bn(bytes, sizeof(bytes), nullptr);
  const bool ok = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return ok;
}

bool AddSubject(X509* certificate, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool ok = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return ok;
}

bool IsIpAddress(const std::string& name) {
  in6_addr address{};
  return inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

// What a certificate is for.
struct Subject {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::pair<int, std::string>> extensions;  // by NID, in OpenSSL's notation
};

// `authority` null: signs itself.
Result<CertificateAndKey> Issue(const Subject& subject, const CertificateAndKey* authority,
                                Time now, Duration validity) {
  const KeyPtr key = NewKey();
  const X509Ptr certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return CryptoError("cannot make a key");
  X509Ptr issuer;
  KeyPtr issuer_key;
  if (authority != nullptr) {
    issuer = ReadCertificate(authority->certificate_pem);
    issuer_key = ReadKey(authority->key_pem);
    if (issuer == nullptr || issuer_key == nullptr) {
      return Fail(Code::kInvalid, "cannot read the certificate authority: " + OpenSslError());
    }
  }
  X509* signer = issuer != nullptr ? issuer.get() : certificate.get();
  bool ok = X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
            SetSerial(certificate.get()) && SetValidity(certificate.get(), now, validity) &&
            X509_set_pubkey(certificate.get(), key.get()) == 1;
  for (const std::string& organization : subject.organizations) {
    ok = ok && AddSubject(certificate.get(), "O", organization);
  }
  ok = ok && AddSubject(certificate.get(), "CN", subject.common_name) &&
       X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1;
  for (const auto& [kind, value] : subject.extensions) {
    ok = ok && AddExtension(certificate.get(), signer, kind, value);
  }
  EVP_PKEY* signing_key = issuer_key != nullptr ? issuer_key.get() : key.get();
  if (!ok || X509_sign(certificate.get(), signing_key, EVP_sha256()) == 0) {
    return CryptoError("cannot make the certificate of " + subject.common_name);
  }
  return CertificateAndKey{ToPem(certificate.get()), ToPem(key.get())};
}

std::vector<std::string> AlternativeNames(const X509* certificate) {
  std::vector<std::string> names;
  const NamesPtr list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_DNS) names.push_back(Utf8Of(name->d.dNSName));
    if (name->type != GEN_IPADD) continue;
    const unsigned char* bytes = ASN1_STRING_get0_data(name->d.iPAddress);
    const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
    char text[INET6_ADDRSTRLEN] = {};
    inet_ntop(family, bytes, text, sizeof(text));
    names.emplace_back(text);
  }
  return names;
}

Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::unexpected<Error> FileError(const std::string& path, int reason) {
  const std::string text = path + ": " + std::error_code(reason, std::generic_category()).message();
  switch (reason) {
    case ENOENT:
      return Fail(Code::kNotFound, text);
    case EACCES:
    case EPERM:
    case EROFS:
      return Fail(Code::kForbidden, text);
    case ENOSPC:
    case EDQUOT:
      return Fail(Code::kUnavailable, text);
    default:
      return Fail(Code::kInternal, text);
  }
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(file) == 0;
}

}  // namespace

std::vector<std::string> SubjectFields(const X509* certificate, int field) {
  std::vector<std::string> values;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = X509_NAME_get_index_by_NID(subject, field, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, field, at)) {
    values.push_back(Utf8Of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  return values;
}

Result<CertificateAndKey> MakeAuthority(const std::string& common_name, Time now,
                                        Duration validity) {
  return Issue({.common_name = common_name,
                .extensions = {{NID_basic_constraints, "critical,CA:TRUE"},
                               {NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"},
                               {NID_subject_key_identifier, "hash"}}},
               nullptr, now, validity);
}

Result<CertificateAndKey> IssueServerCertificate(const CertificateAndKey& authority,
                                                 const std::string& common_name,
                                                 const std::vector<std::string>& names, Time now,
                                                 Duration validity) {
  std::string alternatives;
  for (const std::string& name : names) {
    if (name.find_first_of(",\n") != std::string::npos) {
      return Fail(Code::kInvalid, "\"" + name + "\" is no name for a certificate");
    }
    if (!alternatives.empty()) alternatives += ',';
    alternatives += (IsIpAddress(name) ? "IP:" : "DNS:") + name;
  }
  Subject subject{.common_name = common_name,
                  .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                 {NID_key_usage, "critical,digitalSignature"},
                                 {NID_ext_key_usage, "serverAuth"},
                                 {NID_authority_key_identifier, "keyid"}}};
  if (!names.empty()) subject.extensions.emplace_back(NID_subject_alt_name, alternatives);
  return Issue(subject, &authority, now, validity);
}

Result<CertificateAndKey> IssueClientCertificate(const CertificateAndKey& authority,
                                                 const std::string& common_name,
                                                 const std::vector<std::string>& organizations,
                                                 Time now, Duration validity) {
  return Issue({.common_name = common_name,
                .organizations = organizations,
                .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                               {NID_key_usage, "critical,digitalSignature"},
                               {NID_ext_key_usage, "clientAuth"},
                               {NID_authority_key_identifier, "keyid"}}},
               &authority, now, validity);
}

std::vector<std::string> ApiServerNames() {
  return {"127.0.0.1",
          "::1",
          "localhost",
          "kubernetes",
          "kubernetes.default",
          "kubernetes.default.svc",
          "kubernetes.default.svc.cluster.local",
          "10.96.0.1"};
}

Result<CertificateInfo> DescribeCertificate(std::string_view pem) {
  const X509Ptr certificate = ReadCertificate(pem);
  if (certificate == nullptr) {
    return Fail(Code::kInvalid, "cannot read the certificate: " + OpenSslError());
  }
  const auto common_names = SubjectFields(certificate.get(), NID_commonName);
  return CertificateInfo{
      .common_name = common_names.empty() ? "" : common_names.back(),
      .organizations = SubjectFields(certificate.get(), NID_organizationName),
      .names = AlternativeNames(certificate.get()),
      .not_before = ToTime(X509_get0_notBefore(certificate.get())),
      .not_after = ToTime(X509_get0_notAfter(certificate.get())),
      .is_authority = X509_check_ca(certificate.get()) == 1,
  };
}

Status CheckKeyFits(const CertificateAndKey& certificate) {
  const X509Ptr own = ReadCertificate(certificate.certificate_pem);
  if (own == nullptr) {
    return Fail(Code::kInvalid, "cannot read the certificate: " + OpenSslError());
  }
  const KeyPtr key = ReadKey(certificate.key_pem);
  if (key == nullptr) return Fail(Code::kInvalid, "cannot read the key: " + OpenSslError());
  if (X509_check_private_key(own.get(), key.get()) != 1) {
    OpenSslError();
    return Fail(Code::kInvalid, "the certificate and its key do not fit");
  }
  return {};
}

Status CheckCertificate(const CertificateAndKey& certificate, std::string_view authority_pem) {
  DRA_TRY(CheckKeyFits(certificate));
  const X509Ptr own = ReadCertificate(certificate.certificate_pem);
  const X509Ptr authority = ReadCertificate(authority_pem);
  if (authority == nullptr) {
    return Fail(Code::kInvalid, "cannot read the authority's certificate: " + OpenSslError());
  }
  if (X509_verify(own.get(), X509_get0_pubkey(authority.get())) != 1) {
    OpenSslError();
    return Fail(Code::kInvalid, "the certificate was not signed by this authority");
  }
  return {};
}

Status WritePrivateFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  unlink(temporary.c_str());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return FileError(path, errno);
  const bool written = WriteAll(file, text);
  const int reason = errno;
  close(file);
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) {
    const int failure = written ? errno : reason;
    unlink(temporary.c_str());
    return FileError(path, failure);
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError(path, errno);
  std::string text;
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    const ssize_t size = read(file, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      const int reason = errno;
      close(file);
      if (size < 0) return FileError(path, reason);
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace drachma::net
