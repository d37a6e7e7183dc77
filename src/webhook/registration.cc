#include "webhook/registration.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "net/signing.h"
#include "webhook/server.h"

namespace drachma::webhook {
namespace {

using json::Value;

// A certificate that ends sooner is replaced at the start.
constexpr Duration kValidityLeftMin = std::chrono::hours(24 * 30);
constexpr std::string_view kGroup = "resource.k8s.io";
// Reservations and deallocations take no device, and an allocation never changes.
constexpr std::string_view kAllocates =
    "has(object.status) && has(object.status.allocation) && "
    "!(has(oldObject.status) && has(oldObject.status.allocation))";

Value List(std::initializer_list<std::string_view> texts) {
  Value list = Value::Array();
  for (const std::string_view text : texts) list.Append(text);
  return list;
}

Value ClientConfig(const Registration& registration, std::string_view path) {
  Value config = Value::Object({{"caBundle", net::Base64Encode(registration.ca_pem)}});
  if (registration.service_name.empty()) {
    config.Set("url", registration.url + std::string(path));
  } else {
    config.Set("service", Value::Object({{"namespace", registration.service_namespace},
                                         {"name", registration.service_name},
                                         {"path", path},
                                         {"port", 443}}));
  }
  return config;
}

Value Webhook(const Registration& registration, std::string_view name, std::string_view path,
              Value rule, std::string_view side_effects) {
  rule.Set("apiGroups", List({kGroup}));
  rule.Set("apiVersions", List({"v1", "v1beta2", "v1beta1"}));
  return Value::Object({{"name", fmt::format("{}.drachma.dev", name)},
                        {"clientConfig", ClientConfig(registration, path)},
                        {"rules", Value::Array({std::move(rule)})},
                        {"admissionReviewVersions", List({"v1"})},
                        {"failurePolicy", registration.failure_policy},
                        {"matchPolicy", "Equivalent"},
                        {"sideEffects", side_effects},
                        {"timeoutSeconds", 10}});
}

// ERRORS: those of the files; kInvalid when they do not serve any more.
Result<SelfSigned> Existing(const std::string& folder, const std::vector<std::string>& names,
                            Time now) {
  SelfSigned kept;
  DRA_ASSIGN(kept.ca_pem, net::ReadFile(folder + "/ca.crt"));
  DRA_ASSIGN(kept.server.certificate_pem, net::ReadFile(folder + "/tls.crt"));
  DRA_ASSIGN(kept.server.key_pem, net::ReadFile(folder + "/tls.key"));
  DRA_TRY(net::CheckCertificate(kept.server, kept.ca_pem));
  DRA_ASSIGN(const net::CertificateInfo info,
             net::DescribeCertificate(kept.server.certificate_pem));
  const bool covers = std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::find(info.names, name) != info.names.end();
  });
  if (!covers || info.not_after - now < kValidityLeftMin) {
    return Fail(Code::kInvalid, "the certificate is for other names, or ends soon");
  }
  return kept;
}

}  // namespace

Value MakeConfiguration(const Registration& registration) {
  Value hooks = Value::Array();
  hooks.Append(Webhook(
      registration, "parameters", kParametersPath,
      Value::Object(
          {{"operations", List({"CREATE", "UPDATE"})},
           {"resources", List({"resourceclaims", "resourceclaimtemplates", "deviceclasses"})}}),
      "None"));
  if (registration.ledger) {
    Value hook = Webhook(registration, "ledger", kLedgerPath,
                         Value::Object({{"operations", List({"UPDATE"})},
                                        {"resources", List({"resourceclaims/status"})}}),
                         "NoneOnDryRun");
    hook.Set("matchConditions",
             Value::Array({Value::Object({{"name", "allocates"}, {"expression", kAllocates}})}));
    hooks.Append(std::move(hook));
  }
  return Value::Object({{"apiVersion", "admissionregistration.k8s.io/v1"},
                        {"kind", "ValidatingWebhookConfiguration"},
                        {"metadata", Value::Object({{"name", registration.name}})},
                        {"webhooks", std::move(hooks)}});
}

Result<SelfSigned> SelfSignedIn(const std::string& folder, const std::vector<std::string>& names,
                                Time now) {
  if (Result<SelfSigned> kept = Existing(folder, names, now)) return kept;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Fail(Code::kForbidden, fmt::format("{}: {}", folder, error.message()));
  DRA_ASSIGN(const net::CertificateAndKey authority, net::MakeAuthority("drachma-webhook-ca", now));
  DRA_ASSIGN(net::CertificateAndKey server,
             net::IssueServerCertificate(authority, "drachma-webhook", names, now));
  DRA_TRY(net::WritePrivateFile(folder + "/ca.crt", authority.certificate_pem));
  DRA_TRY(net::WritePrivateFile(folder + "/ca.key", authority.key_pem));
  DRA_TRY(net::WritePrivateFile(folder + "/tls.crt", server.certificate_pem));
  DRA_TRY(net::WritePrivateFile(folder + "/tls.key", server.key_pem));
  return SelfSigned{authority.certificate_pem, std::move(server)};
}

}  // namespace drachma::webhook
