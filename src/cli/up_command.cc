#include <fmt/format.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/check_hint.h"
#include "cli/signals.h"
#include "cluster/idle_memory.h"
#include "cluster/up.h"

namespace drachma::cli {

std::string DefaultDataDir() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return std::string(state) + "/drachma";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.local/state/drachma";
}

namespace {

// Where an ephemeral cluster without a folder leaves its kubeconfig. ERRORS: kInternal.
Result<std::string> TemporaryKubeconfig() {
  std::string folder = (std::filesystem::temp_directory_path() / "drachma-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Fail(Code::kInternal, "cannot make a temporary folder");
  }
  return folder + "/kubeconfig";
}

Result<cluster::UpOptions> OptionsOf(const UpArguments& arguments) {
  cluster::UpOptions options{.listen = arguments.listen,
                             .kubeconfig = arguments.kubeconfig,
                             .enable_admission = arguments.enable_admission,
                             .disable_admission = arguments.disable_admission,
                             .token_auth_file = arguments.token_auth_file,
                             .runtime_config = arguments.runtime_config,
                             .audit_log_path = arguments.audit_log_path,
                             .audit_policy_file = arguments.audit_policy_file,
                             .limits = arguments.limits,
                             .seed = arguments.plane.seed};
  const std::string folder = arguments.data_dir.empty() ? DefaultDataDir() : arguments.data_dir;
  if (!arguments.ephemeral) {
    options.data_dir = folder;
  } else if (options.kubeconfig.empty() && !arguments.data_dir.empty()) {
    options.kubeconfig = folder + "/kubeconfig";
  } else if (options.kubeconfig.empty()) {
    DRA_ASSIGN(options.kubeconfig, TemporaryKubeconfig());
  }
  if (!arguments.roles.empty()) {
    DRA_ASSIGN(options.roles, cluster::ParseRoles(arguments.roles));
  }
  if (!arguments.fleet.empty()) {
    DRA_ASSIGN(cluster::Fleet fleet, cluster::FindFleet(arguments.fleet));
    options.fleet = std::move(fleet);
  }
  DRA_ASSIGN(options.manifests, cluster::LoadManifests(arguments.files));
  DRA_TRY(SetPlaneOptions(arguments.plane, options));
  DRA_ASSIGN(options.emulated_minor, EmulatedMinorOf(arguments.plane));
  return options;
}

// After this time what the start needed is given back.
constexpr Duration kSettled = std::chrono::seconds(1);

}  // namespace

int RunUp(const UpArguments& arguments) {
  Result<cluster::UpOptions> options = OptionsOf(arguments);
  if (!options) return PrintManifestError(options.error(), arguments.files, kWrongUse);
  Progress progress;
  options->progress = [&](const std::string& text) { progress.Say(text); };
  HoldSignals();
  progress.Say("starting");
  const Result<std::unique_ptr<cluster::Cluster>> cluster =
      cluster::Cluster::Start(std::move(*options));
  progress.Clear();
  if (!cluster) return PrintManifestError(cluster.error(), arguments.files, kNegative);
  Print(fmt::format("drachma is up at {} with {} simulated nodes.\n", (*cluster)->url(),
                    (*cluster)->node_count()));
  if (const std::string& path = (*cluster)->kubeconfig_path(); !path.empty()) {
    Print(fmt::format("Use it with:\n  export KUBECONFIG={}\n  kubectl get nodes,resourceslices\n",
                      path));
  }
  Print("Stop it with Ctrl-C.\n");
  std::fflush(stdout);
  if (AwaitSignalFor(kSettled)) return kFine;
  cluster::ReleaseStartMemory();
  AwaitSignal();
  return kFine;
}

}  // namespace drachma::cli
