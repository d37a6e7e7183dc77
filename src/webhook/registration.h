#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"
#include "net/certificates.h"

namespace drachma::webhook {

// How API servers find the webhook.
struct Registration {
  std::string name = "drachma";
  std::string ca_pem;
  // Either a URL ("https://10.0.0.1:9443") or a Service.
  std::string url;
  std::string service_namespace;
  std::string service_name;
  std::string failure_policy = "Fail";
  bool ledger = true;
};

// The ValidatingWebhookConfiguration. The ledger is asked about writes that allocate a claim only.
[[nodiscard]] json::Value MakeConfiguration(const Registration& registration);

// A certificate for `names` and the authority that signed it: those of the folder when they still
// serve, else new ones that are written there (ca.crt, ca.key, tls.crt, tls.key).
// ERRORS: those of files and certificates.
struct SelfSigned {
  std::string ca_pem;
  net::CertificateAndKey server;
};
[[nodiscard]] Result<SelfSigned> SelfSignedIn(const std::string& folder,
                                              const std::vector<std::string>& names, Time now);

}  // namespace drachma::webhook
