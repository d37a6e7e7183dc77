// `drachma webhook`: validating admission for any API server.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/arguments.h"
#include "cli/files.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "client/https_client.h"
#include "client/kubeconfig.h"
#include "client/objects.h"
#include "json/yaml.h"
#include "webhook/registration.h"
#include "webhook/server.h"

namespace drachma::cli {
namespace {

constexpr Duration kReadyLook = std::chrono::milliseconds(200);

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// "127.0.0.1" of "127.0.0.1:9443", "::1" of "[::1]:9443"; empty for all addresses.
std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host == "0.0.0.0" || host == "::" ? "" : host;
}

// ERRORS: kBadRequest.
Result<std::pair<std::string, std::string>> ServiceOf(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == text.size()) {
    return BadInput(fmt::format("--service wants NAMESPACE/NAME, not {}", text));
  }
  return std::pair(text.substr(0, slash), text.substr(slash + 1));
}

// The names that the certificate must have. ERRORS: those of ServiceOf.
Result<std::vector<std::string>> NamesOf(const WebhookArguments& arguments) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", HostName()};
  if (const std::string host = HostOf(arguments.listen); !host.empty()) names.push_back(host);
  if (const std::size_t scheme = arguments.url.find("//"); scheme != std::string::npos) {
    const std::string rest = arguments.url.substr(scheme + 2);
    const std::string address = rest.substr(0, rest.find('/'));
    const bool has_port = address.rfind(':') != std::string::npos && !address.ends_with(']');
    names.push_back(has_port ? HostOf(address) : address);
  }
  if (!arguments.service.empty()) {
    DRA_ASSIGN(const auto service, ServiceOf(arguments.service));
    for (const char* suffix : {"", ".svc", ".svc.cluster.local"}) {
      names.push_back(fmt::format("{}.{}{}", service.second, service.first, suffix));
    }
  }
  return names;
}

struct Certificates {
  net::TlsServerOptions tls;
  std::string ca_pem;
};

// ERRORS: kBadRequest: neither or both ways are asked for; those of the files.
Result<Certificates> CertificatesOf(const WebhookArguments& arguments) {
  const bool files = !arguments.tls_cert_file.empty() && !arguments.tls_key_file.empty();
  if (files == arguments.self_signed) {
    return BadInput("want --tls-cert-file and --tls-key-file, or --self-signed");
  }
  Certificates certificates;
  if (arguments.self_signed) {
    DRA_ASSIGN(const std::vector<std::string> names, NamesOf(arguments));
    const std::string folder =
        arguments.cert_dir.empty() ? DefaultDataDir() + "/webhook" : arguments.cert_dir;
    DRA_ASSIGN(webhook::SelfSigned made, webhook::SelfSignedIn(folder, names, RealClock().Now()));
    certificates.ca_pem = std::move(made.ca_pem);
    certificates.tls.certificate_pem = std::move(made.server.certificate_pem);
    certificates.tls.key_pem = std::move(made.server.key_pem);
    return certificates;
  }
  DRA_ASSIGN(certificates.tls.certificate_pem, ReadFile(arguments.tls_cert_file));
  DRA_ASSIGN(certificates.tls.key_pem, ReadFile(arguments.tls_key_file));
  certificates.ca_pem = certificates.tls.certificate_pem;
  if (!arguments.ca_file.empty()) {
    DRA_ASSIGN(certificates.ca_pem, ReadFile(arguments.ca_file));
  }
  return certificates;
}

// ERRORS: kBadRequest.
Result<validation::DriverGates> DriverGatesOf(const std::string& text) {
  if (text.empty()) return [](std::string_view) { return true; };
  std::map<std::string, bool, std::less<>> gates;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    const std::size_t equals = one.find('=');
    const std::string value = equals == std::string::npos ? "" : one.substr(equals + 1);
    if (value != "true" && value != "false") {
      return BadInput(fmt::format("--driver-feature-gates wants GATE=true|false, not {}", one));
    }
    gates[one.substr(0, equals)] = value == "true";
    begin = end + 1;
  }
  return [gates = std::move(gates)](std::string_view gate) {
    const auto found = gates.find(gate);
    return found != gates.end() && found->second;
  };
}

struct ApiServer {
  std::string url;
  std::unique_ptr<client::HttpsClientFactory> factory;
};

// Without any kubeconfig there is none: configs can be looked at all the same.
// ERRORS: those of a kubeconfig that is there.
Result<ApiServer> ApiServerOf(const WebhookArguments& arguments) {
  ApiServer server;
  if (!arguments.ledger && !arguments.register_itself) return server;
  Result<client::KubeConfig> config =
      client::LoadKubeConfig(client::SourcesFromEnvironment(arguments.kubeconfig));
  if (!config && config.error().code == Code::kNotFound && arguments.kubeconfig.empty() &&
      !arguments.register_itself) {
    Log(LogLevel::kWarning, "webhook", "no ledger: {}", config.error().message);
    return server;
  }
  if (!config) return std::unexpected(config.error());
  server.url = config->server;
  DRA_ASSIGN(server.factory, client::HttpsClientFactory::Make(*std::move(config)));
  return server;
}

// ERRORS: those of ServiceOf.
Result<json::Value> ConfigurationOf(const WebhookArguments& arguments, std::string ca_pem,
                                    const std::string& url, bool ledger) {
  webhook::Registration registration{.name = arguments.name,
                                     .ca_pem = std::move(ca_pem),
                                     .url = arguments.url.empty() ? url : arguments.url,
                                     .failure_policy = arguments.failure_policy,
                                     .ledger = ledger};
  if (!arguments.service.empty()) {
    DRA_ASSIGN(const auto service, ServiceOf(arguments.service));
    registration.service_namespace = service.first;
    registration.service_name = service.second;
  }
  return webhook::MakeConfiguration(registration);
}

// ERRORS: the API server's.
Status Register(const WebhookArguments& arguments, const json::Value& configuration) {
  DRA_ASSIGN(const std::unique_ptr<Session> session, Session::Open(arguments.kubeconfig));
  client::Request request = client::PatchRequest(
      {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"}, "", arguments.name,
      client::PatchType::kApply, configuration);
  request.field_manager = "drachma-webhook";
  request.force = true;
  DRA_TRY(session->Call(std::move(request)));
  Print(fmt::format("validatingwebhookconfiguration.admissionregistration.k8s.io/{} applied\n",
                    arguments.name));
  return {};
}

// Serves until the process is told to end. ERRORS: those of the pieces.
Status Serve(const WebhookArguments& arguments) {
  DRA_ASSIGN(Certificates certificates, CertificatesOf(arguments));
  DRA_ASSIGN(validation::DriverGates gates, DriverGatesOf(arguments.driver_gates));
  DRA_ASSIGN(const ApiServer api, ApiServerOf(arguments));
  const bool ledger = arguments.ledger && api.factory != nullptr;
  webhook::Server::Options options{
      .listen = arguments.listen,
      .tls = std::move(certificates.tls),
      .gates = std::move(gates),
      .ledger = {.settle = arguments.settle,
                 .admitted_max = arguments.admitted_max,
                 .leader_election = arguments.leader_elect,
                 .identity = fmt::format("{}_{}", HostName(), getpid())}};
  HoldSignals();
  DRA_ASSIGN(const std::unique_ptr<webhook::Server> server,
             webhook::Server::Start(std::move(options), ledger ? api.factory.get() : nullptr));
  DRA_ASSIGN(const json::Value configuration,
             ConfigurationOf(arguments, std::move(certificates.ca_pem),
                             "https://" + server->address(), ledger));
  if (arguments.self_signed && !arguments.register_itself) {
    Print("---\n" + json::WriteYaml(configuration, json::KeyOrder::kAsIs));
  }
  Print(fmt::format("# drachma webhook serves at https://{}{}. Stop it with Ctrl-C.\n",
                    server->address(), ledger ? ", with the ledger of " + api.url : ""));
  std::fflush(stdout);
  if (arguments.register_itself) {
    // Asked before it is ready, it would keep all claims from being allocated.
    while (!server->Ready()) {
      if (AwaitSignalFor(kReadyLook)) return {};
    }
    DRA_TRY(Register(arguments, configuration));
    std::fflush(stdout);
  }
  AwaitSignal();
  return {};
}

}  // namespace

int RunWebhook(const WebhookArguments& arguments) {
  const Status status = Serve(arguments);
  if (status) return kFine;
  return PrintError(status.error(),
                    status.error().code == Code::kBadRequest ? kWrongUse : kNegative);
}

}  // namespace drachma::cli
