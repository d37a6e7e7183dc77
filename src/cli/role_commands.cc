// `drachma scheduler`, `drachma controllers` and `drachma node`: one role against an API server.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/arguments.h"
#include "cli/signals.h"
#include "client/https_client.h"
#include "client/kubeconfig.h"
#include "cluster/actor.h"
#include "cluster/fleet.h"
#include "controllers/controllers.h"
#include "node/simulated_nodes.h"
#include "scheduler/scheduler.h"

namespace drachma::cli {
namespace {

struct Connection {
  std::unique_ptr<client::HttpsClientFactory> factory;
  std::string server;
  std::string ca_pem;
};

Result<Connection> Connect(const std::string& kubeconfig) {
  DRA_ASSIGN(client::KubeConfig config,
             client::LoadKubeConfig(client::SourcesFromEnvironment(kubeconfig)));
  Connection connection{.server = config.server, .ca_pem = config.ca_pem};
  DRA_ASSIGN(connection.factory, client::HttpsClientFactory::Make(std::move(config)));
  return connection;
}

// Runs a role, made by `make`, until the process is told to end.
template <typename Role, typename Make>
int RunRole(std::string_view name, const std::string& server, Make make) {
  HoldSignals();
  cluster::Actor<Role> role(std::string(name), [&](Executor& executor) {
    auto made = make(executor);
    made->Start();
    return made;
  });
  Print(fmt::format("drachma {} works on {}. Stop it with Ctrl-C.\n", name, server));
  std::fflush(stdout);
  AwaitSignal();
  return kFine;
}

}  // namespace

int RunScheduler(const RoleArguments& arguments) {
  const auto gates = GatesOf(arguments.plane);
  if (!gates) return PrintError(gates.error(), kWrongUse);
  // Against a foreign API server all schedulers should agree: upstream's ways are the default.
  const auto errors = SelectorErrorsOf(arguments.plane, scheduler::SelectorErrors::kFail);
  if (!errors) return PrintError(errors.error(), kWrongUse);
  const auto order = DeviceOrderOf(arguments.plane, scheduler::DeviceOrder::kFirstFit);
  if (!order) return PrintError(order.error(), kWrongUse);
  auto connection = Connect(arguments.kubeconfig);
  if (!connection) return PrintError(connection.error());
  scheduler::Options options{.scheduler_name = arguments.scheduler_name,
                             .selector_errors = *errors,
                             .device_order = *order,
                             .feature_gates = *gates,
                             .leader_election = arguments.leader_elect,
                             .seed = arguments.plane.seed};
  return RunRole<scheduler::Scheduler>("scheduler", connection->server, [&](Executor& executor) {
    return std::make_unique<scheduler::Scheduler>(std::move(options), *connection->factory,
                                                  executor);
  });
}

int RunControllers(const RoleArguments& arguments) {
  const auto gates = GatesOf(arguments.plane);
  if (!gates) return PrintError(gates.error(), kWrongUse);
  auto connection = Connect(arguments.kubeconfig);
  if (!connection) return PrintError(connection.error());
  controllers::Options options{.feature_gates = *gates,
                               .only = arguments.controllers,
                               .leader_election = arguments.leader_elect,
                               .root_ca = connection->ca_pem,
                               .seed = arguments.plane.seed};
  return RunRole<controllers::Controllers>(
      "controllers", connection->server, [&](Executor& executor) {
        return std::make_unique<controllers::Controllers>(std::move(options), *connection->factory,
                                                          executor);
      });
}

int RunNode(const RoleArguments& arguments) {
  const auto gates = GatesOf(arguments.plane);
  if (!gates) return PrintError(gates.error(), kWrongUse);
  const auto fleet = arguments.fleet.empty() ? cluster::BuiltInFleets().front()
                                             : cluster::FindFleet(arguments.fleet);
  if (!fleet) return PrintError(fleet.error(), kWrongUse);
  auto connection = Connect(arguments.kubeconfig);
  if (!connection) return PrintError(connection.error());
  // Nodes that other processes simulate are left to them.
  node::SimulationOptions options{.nodes = cluster::NodesOf(*fleet),
                                  .adopt = false,
                                  .drivers = cluster::DriversOf,
                                  .feature_gates = *gates,
                                  .seed = arguments.plane.seed};
  return RunRole<node::SimulatedNodes>("node", connection->server, [&](Executor& executor) {
    return std::make_unique<node::SimulatedNodes>(std::move(options), *connection->factory,
                                                  executor);
  });
}

}  // namespace drachma::cli
