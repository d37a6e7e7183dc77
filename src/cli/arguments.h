#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/limits.h"
#include "base/clock.h"
#include "base/result.h"
#include "cli/output.h"
#include "scheduler/scheduler.h"

namespace drachma::cli {

// What the control plane's commands have in common.
struct PlaneArguments {
  std::string feature_gates;     // "A=true,B=false"
  std::string emulated_version;  // "1.36"
  std::string selector_errors;   // "skip", "fail", "" for the command's default
  std::string device_order;      // "best-fit", "first-fit", ""
  std::uint64_t seed = 0;
  std::string imex_mode;  // "driverManaged" (""), "hostManaged"
};

// The minor version of --emulated-version, the newest by default. ERRORS: kBadRequest.
[[nodiscard]] Result<int> EmulatedMinorOf(const PlaneArguments& arguments);
// The gates by name, the compute-domain driver's for its IMEX mode among them. ERRORS: kBadRequest
// with upstream's text.
[[nodiscard]] Result<std::map<std::string, bool>> GatesOf(const PlaneArguments& arguments);
[[nodiscard]] Result<scheduler::SelectorErrors> SelectorErrorsOf(
    const PlaneArguments& arguments, scheduler::SelectorErrors fallback);
[[nodiscard]] Result<scheduler::DeviceOrder> DeviceOrderOf(const PlaneArguments& arguments,
                                                           scheduler::DeviceOrder fallback);

// Sets what a cluster of our own (plan, up) takes of them: selectors skip errors and devices fit
// best unless told otherwise. `Options` is cluster::PlanOptions or cluster::UpOptions.
// ERRORS: those above.
template <typename Options>
[[nodiscard]] Status SetPlaneOptions(const PlaneArguments& arguments, Options& options) {
  DRA_ASSIGN(options.feature_gates, GatesOf(arguments));
  DRA_ASSIGN(options.selector_errors,
             SelectorErrorsOf(arguments, scheduler::SelectorErrors::kSkip));
  DRA_ASSIGN(options.device_order, DeviceOrderOf(arguments, scheduler::DeviceOrder::kBestFit));
  return {};
}

struct UpArguments {
  PlaneArguments plane;
  std::string fleet;
  std::string data_dir;
  bool ephemeral = false;
  std::string listen = "127.0.0.1:6443";
  std::string kubeconfig;
  std::vector<std::string> files;
  std::string roles;
  std::vector<std::string> enable_admission;
  std::vector<std::string> disable_admission;
  std::string token_auth_file;
  std::string runtime_config;
  std::string audit_log_path;
  std::string audit_policy_file;
  apiserver::Limits limits;
};
int RunUp(const UpArguments& arguments);

// `drachma scheduler`, `drachma controllers`, `drachma node`.
// Where `up` keeps a cluster unless it is told.
[[nodiscard]] std::string DefaultDataDir();

struct RoleArguments {
  PlaneArguments plane;
  std::string kubeconfig;
  std::string scheduler_name = "default-scheduler";
  bool leader_elect = false;
  std::string fleet;
  std::vector<std::string> controllers;
  bool account_credentials = true;
  std::string plugins_registry;
};
int RunScheduler(const RoleArguments& arguments);
int RunControllers(const RoleArguments& arguments);
int RunNode(const RoleArguments& arguments);

struct PlanArguments {
  PlaneArguments plane;
  std::string fleet;
  std::vector<std::string> files;
  std::vector<std::string> what_if;
  std::vector<std::string> remove;
  std::vector<std::string> priorities;  // "POD=N"
  double horizon_seconds = 60;
  OutputFormat output = OutputFormat::kTable;
};
int RunPlan(const PlanArguments& arguments);

struct ApplyArguments {
  std::string kubeconfig;
  std::vector<std::string> files;
};
int RunApply(const ApplyArguments& arguments);

struct GetArguments {
  std::string kubeconfig;
  std::string kind;
  std::string ns;
  bool all_namespaces = false;
  OutputFormat output = OutputFormat::kTable;
};
int RunGet(const GetArguments& arguments);

struct CelArguments {
  std::string expression;
  std::vector<std::string> files;
  std::string fleet;  // without it and files: the slices of the API server
  std::string kubeconfig;
  OutputFormat output = OutputFormat::kTable;
};
int RunCelOnSlices(const CelArguments& arguments);

struct TopArguments {
  std::string kubeconfig;
  OutputFormat output = OutputFormat::kTable;
};
int RunTop(const TopArguments& arguments);

// `drachma drain`, `drachma undrain`.
struct DrainArguments {
  std::string kubeconfig;
  std::string kind;  // "device", "node"; or with the name behind a slash
  std::string name;
  std::string effect = "NoExecute";
  std::string reason;
  std::optional<bool> wait;  // without it: when pods are evicted
  Duration timeout{};        // 0: no end
  bool dry_run = false;
  OutputFormat output = OutputFormat::kTable;
};
int RunDrain(const DrainArguments& arguments);
int RunUndrain(const DrainArguments& arguments);

struct WebhookArguments {
  std::string listen = "127.0.0.1:9443";
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string ca_file;  // that signed it, for the configuration
  bool self_signed = false;
  std::string cert_dir;  // of self_signed; empty: under the data folder
  std::string service;   // "NAMESPACE/NAME"
  std::string url;       // empty: https:// with the address that it listens on
  std::string name = "drachma";
  std::string failure_policy = "Fail";
  bool register_itself = false;
  bool ledger = true;
  bool leader_elect = false;
  Duration settle = std::chrono::seconds(5);
  Duration admitted_max = std::chrono::seconds(90);
  std::string driver_gates;  // "A=true,B=false"; empty: all are on
  std::string kubeconfig;
};
int RunWebhook(const WebhookArguments& arguments);

struct FleetArguments {
  std::string name;
  OutputFormat output = OutputFormat::kTable;
};
int RunFleetList(const FleetArguments& arguments);
int RunFleetShow(const FleetArguments& arguments);

}  // namespace drachma::cli
