#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace drachma::net {

// A certificate with its private key (ECDSA P-256), both PEM.
struct CertificateAndKey {
  std::string certificate_pem;
  std::string key_pem;
};

inline constexpr Duration kCertificateValidity = std::chrono::hours(24 * 365 * 10);

// A new certificate authority. Valid from a little before `now` (clocks differ).
[[nodiscard]] Result<CertificateAndKey> MakeAuthority(const std::string& common_name, Time now,
                                                      Duration validity = kCertificateValidity);
// A server's certificate; each name is a DNS name or an IP address.
[[nodiscard]] Result<CertificateAndKey> IssueServerCertificate(
    const CertificateAndKey& authority, const std::string& common_name,
    const std::vector<std::string>& names, Time now, Duration validity = kCertificateValidity);
// A client's certificate: user `common_name` in the groups `organizations`.
[[nodiscard]] Result<CertificateAndKey> IssueClientCertificate(
    const CertificateAndKey& authority, const std::string& common_name,
    const std::vector<std::string>& organizations, Time now,
    Duration validity = kCertificateValidity);
// Names that an API server's certificate must carry to be reached on this machine and, inside a
// cluster, by its service: 127.0.0.1, ::1, localhost, kubernetes, kubernetes.default, ….
[[nodiscard]] std::vector<std::string> ApiServerNames();

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> names;  // DNS names and IP addresses of the subject alternative name
  Time not_before;
  Time not_after;
  bool is_authority = false;
};
// Reads the first certificate of a PEM text. ERRORS: kInvalid.
[[nodiscard]] Result<CertificateInfo> DescribeCertificate(std::string_view pem);
// Whether the key belongs to the certificate. ERRORS: kInvalid.
[[nodiscard]] Status CheckKeyFits(const CertificateAndKey& certificate);
// Whether the key belongs to the certificate and the certificate was signed by the authority's.
// ERRORS: kInvalid with what does not fit.
[[nodiscard]] Status CheckCertificate(const CertificateAndKey& certificate,
                                      std::string_view authority_pem);

// Writes a file that only its owner may read (0600), all or nothing (a new file renamed over the
// old one, synced). ERRORS: kForbidden, kUnavailable (disk full), kInternal.
[[nodiscard]] Status WritePrivateFile(const std::string& path, std::string_view text);
// ERRORS: kNotFound, kForbidden, kInternal.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

}  // namespace drachma::net
