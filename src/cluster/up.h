#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apiserver/limits.h"
#include "base/result.h"
#include "cluster/fleet.h"
#include "cluster/manifests.h"
#include "scheduler/scheduler.h"

namespace drachma::cluster {

// The parts of a cluster that one process can run.
enum class Role : std::uint8_t { kApiServer, kControllers, kScheduler, kNodes };
// "apiserver,nodes". ERRORS: kBadRequest naming the roles there are.
[[nodiscard]] Result<std::set<Role>> ParseRoles(const std::string& list);

struct UpOptions {
  std::string data_dir;  // empty: everything in memory
  std::string listen = "127.0.0.1:6443";
  std::string kubeconfig;  // where to write it; empty: data_dir/kubeconfig
  std::set<Role> roles = {Role::kApiServer, Role::kControllers, Role::kScheduler, Role::kNodes};
  // Unset: the default fleet, unless manifests or the data hold simulated nodes.
  std::optional<Fleet> fleet;
  std::vector<Manifest> manifests;
  std::map<std::string, bool> feature_gates;
  scheduler::SelectorErrors selector_errors = scheduler::SelectorErrors::kSkip;
  scheduler::DeviceOrder device_order = scheduler::DeviceOrder::kBestFit;
  std::vector<std::string> enable_admission;
  std::vector<std::string> disable_admission;
  std::string token_auth_file;
  std::string runtime_config;  // upstream's --runtime-config
  // The API server's record of requests: where, and the policy that says which.
  std::string audit_log_path;
  std::string audit_policy_file;
  apiserver::Limits limits;
  int emulated_minor = 37;  // what /version says; the gates follow from it
  std::uint64_t seed = 0;   // 0: from the system
  // Told what is going on: "42 of 500 nodes registered".
  std::function<void(const std::string&)> progress;
};

// A running cluster in this process: the API server and, on threads of their own, the roles that
// were asked for. Destruction stops them in order. For one owner thread.
class Cluster {
 public:
  // Starts everything and returns once it is ready: manifests written, nodes registered.
  // ERRORS: those of the server, of the manifests (kInvalid, with file and line).
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> Start(UpOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] const std::string& url() const;
  [[nodiscard]] const std::string& kubeconfig_path() const;
  // The simulated nodes that run: those of the fleet, of the manifests and of earlier runs.
  [[nodiscard]] std::size_t node_count() const;

 private:
  class Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::cluster
