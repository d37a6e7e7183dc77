#include "apiserver/credentials.h"

#include <fmt/format.h>

#include <utility>

namespace drachma::apiserver {
namespace {

Result<net::CertificateAndKey> Load(const std::string& folder, const std::string& name) {
  net::CertificateAndKey pair;
  DRA_ASSIGN(pair.certificate_pem, net::ReadFile(fmt::format("{}/{}.crt", folder, name)));
  DRA_ASSIGN(pair.key_pem, net::ReadFile(fmt::format("{}/{}.key", folder, name)));
  return pair;
}

Status Save(const std::string& folder, const std::string& name,
            const net::CertificateAndKey& pair) {
  if (folder.empty()) return {};
  DRA_TRY(net::WritePrivateFile(fmt::format("{}/{}.crt", folder, name), pair.certificate_pem));
  return net::WritePrivateFile(fmt::format("{}/{}.key", folder, name), pair.key_pem);
}

template <typename Make>
Result<net::CertificateAndKey> LoadOrMake(const std::string& folder, const std::string& name,
                                          Make make) {
  if (!folder.empty()) {
    Result<net::CertificateAndKey> kept = Load(folder, name);
    if (kept || kept.error().code != Code::kNotFound) return kept;
  }
  DRA_ASSIGN(net::CertificateAndKey made, make());
  DRA_TRY(Save(folder, name, made));
  return made;
}

Result<std::string> LoadOrMakeSigningKey(const std::string& folder) {
  const std::string path = folder + "/sa.key";
  if (!folder.empty()) {
    Result<std::string> kept = net::ReadFile(path);
    if (kept || kept.error().code != Code::kNotFound) return kept;
  }
  DRA_ASSIGN(const net::SigningKey key, net::SigningKey::Generate());
  std::string pem = key.PrivatePem();
  if (!folder.empty()) DRA_TRY(net::WritePrivateFile(path, pem));
  return pem;
}

}  // namespace

Result<ServerKeys> LoadServerKeys(const std::string& folder, Time now) {
  ServerKeys keys;
  DRA_ASSIGN(keys.authority,
             LoadOrMake(folder, "ca", [&] { return net::MakeAuthority("drachma-ca", now); }));
  DRA_ASSIGN(keys.server, LoadOrMake(folder, "apiserver", [&] {
               return net::IssueServerCertificate(keys.authority, "kube-apiserver",
                                                  net::ApiServerNames(), now);
             }));
  DRA_TRY(net::CheckCertificate(keys.server, keys.authority.certificate_pem));
  DRA_ASSIGN(keys.service_account_key_pem, LoadOrMakeSigningKey(folder));
  return keys;
}

Result<std::string> MakeKubeconfig(const ServerKeys& keys, const std::string& url, const User& user,
                                   Time now) {
  std::vector<std::string> groups;
  for (const std::string& group : user.groups) {
    if (group != kAuthenticatedGroup) groups.push_back(group);
  }
  DRA_ASSIGN(const net::CertificateAndKey client,
             net::IssueClientCertificate(keys.authority, user.name, groups, now));
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: drachma\n"
      "  cluster:\n"
      "    server: {}\n"
      "    certificate-authority-data: {}\n"
      "users:\n"
      "- name: {}\n"
      "  user:\n"
      "    client-certificate-data: {}\n"
      "    client-key-data: {}\n"
      "contexts:\n"
      "- name: drachma\n"
      "  context:\n"
      "    cluster: drachma\n"
      "    user: {}\n"
      "current-context: drachma\n",
      url, net::Base64Encode(keys.authority.certificate_pem), user.name,
      net::Base64Encode(client.certificate_pem), net::Base64Encode(client.key_pem), user.name);
}

}  // namespace drachma::apiserver
