#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/server.h"
#include "chaos.h"
#include "cluster/fleet.h"
#include "cluster/role_clients.h"
#include "controllers/controllers.h"
#include "faulty_client.h"
#include "faulty_driver.h"
#include "history.h"
#include "invariants.h"
#include "node/simulated_nodes.h"
#include "role_executor.h"
#include "scheduler/scheduler.h"

namespace drachma::simulation {

// The processes that may be killed. The API server stays: its store is in memory.
enum class Role : std::uint8_t { kScheduler, kControllers, kNodes };
inline constexpr std::size_t kRoles = 3;
[[nodiscard]] std::string_view NameOf(Role role);

struct ClusterOptions {
  std::uint64_t seed = 1;
  cluster::Fleet fleet;
  std::map<std::string, bool> feature_gates;
  Chaos::Echo echo = Chaos::Echo::kNo;
};

// A whole cluster in this thread, under virtual time, with a faulty network and faulty drivers.
class SimCluster {
 public:
  explicit SimCluster(ClusterOptions options);
  ~SimCluster();
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;

  // ERRORS: those of the API server.
  [[nodiscard]] Status Start();

  void StartRole(Role role);
  // Kills the process: nothing that it was about to do is done.
  void StopRole(Role role);
  [[nodiscard]] RoleExecutor* ExecutorOf(Role role);

  // Sends it as the administrator, without faults; the answer is noted.
  void Write(client::Request request, std::string note);
  void CutWatches(const Error& error) { CutAll(open_, error); }
  // Runs tasks until virtual time has gone on by `duration`, or something is violated.
  void RunFor(Duration duration);
  // Waits for an answer. ERRORS: those of the request.
  [[nodiscard]] Result<json::Value> Call(client::Request request);

  [[nodiscard]] Chaos& chaos() { return chaos_; }
  [[nodiscard]] const History& history() const { return *history_; }
  [[nodiscard]] const Invariants& invariants() const { return *invariants_; }
  [[nodiscard]] const PreparedClaims& prepared() const { return prepared_; }
  [[nodiscard]] client::Client& client() { return *client_; }
  [[nodiscard]] const Clock& clock() const { return executor_.clock(); }
  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t tasks() const { return tasks_; }

  void Violated(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Process {
    std::unique_ptr<RoleExecutor> executor;
    std::unique_ptr<scheduler::Scheduler> scheduler;
    std::unique_ptr<controllers::Controllers> controllers;
    std::unique_ptr<node::SimulatedNodes> nodes;
  };

  const ClusterOptions options_;
  VirtualExecutor executor_;
  Chaos chaos_;
  PreparedClaims prepared_;
  OpenWatches open_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<client::ClientFactory> factory_;  // the administrator's
  std::optional<cluster::RoleClients> clients_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Invariants> invariants_;
  std::vector<std::unique_ptr<FaultyFactory>> factories_;  // by role
  std::map<Role, Process> processes_;
  std::uint64_t tasks_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace drachma::simulation
