// `drachma scheduler`, `drachma controllers` and `drachma node`: one role against an API server.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "cli/arguments.h"
#include "cli/signals.h"
#include "client/https_client.h"
#include "client/kubeconfig.h"
#include "cluster/actor.h"
#include "cluster/driver_rights.h"
#include "cluster/fleet.h"
#include "controllers/account_client.h"
#include "controllers/controllers.h"
#include "node/simulated_nodes.h"
#include "rpc/remote_plugin.h"
#include "scheduler/scheduler.h"

namespace drachma::cli {
namespace {

constexpr const char* kControllersAgent = "drachma-controllers";

struct Connection {
  client::KubeConfig config;
  std::unique_ptr<client::HttpsClientFactory> factory;
};

// `up` leaves a kubeconfig for each role beside the administrator's. A role that is not told
// which to use takes its own there, so that it has its own rights only.
client::KubeConfigSources SourcesOf(const RoleArguments& arguments, std::string_view role) {
  client::KubeConfigSources sources = client::SourcesFromEnvironment(arguments.kubeconfig);
  if (!sources.flag.empty()) return sources;
  std::filesystem::path admin = sources.environment.substr(0, sources.environment.find(':'));
  if (admin.empty()) admin = std::filesystem::path(sources.home) / ".kube" / "config";
  std::error_code error;
  if (!std::filesystem::exists(admin, error)) {
    admin = std::filesystem::path(DefaultDataDir()) / "kubeconfig";
  }
  const std::filesystem::path own = admin.parent_path() / fmt::format("{}.kubeconfig", role);
  if (std::filesystem::exists(own, error)) sources.flag = own.string();
  return sources;
}

Result<Connection> Connect(const RoleArguments& arguments, std::string_view role) {
  Connection connection;
  DRA_ASSIGN(connection.config, client::LoadKubeConfig(SourcesOf(arguments, role)));
  DRA_ASSIGN(connection.factory, client::HttpsClientFactory::Make(connection.config));
  return connection;
}

// The way of the controllers' service accounts to the server: by their tokens alone.
Result<std::unique_ptr<client::HttpsClientFactory>> WithoutCredentials(client::KubeConfig config) {
  config.certificate_pem.clear();
  config.key_pem.clear();
  config.token.clear();
  config.username.clear();
  config.password.clear();
  config.impersonate_user.clear();
  config.impersonate_groups.clear();
  return client::HttpsClientFactory::Make(std::move(config));
}

// A role that sees to what it needs on the server first, as the process's own user.
template <typename Inner>
class InstallingRole {
 public:
  template <typename Options>
  InstallingRole(std::vector<cluster::Shipped> shipped, Options options,
                 client::ClientFactory& factory, Executor& executor)
      : client_(factory.NewClient(executor, "drachma-installation")),
        installation_(std::move(shipped), *client_, executor),
        role_(std::move(options), factory, executor) {}
  void Start() {
    installation_.Start();
    role_.Start();
  }

 private:
  std::unique_ptr<client::Client> client_;
  cluster::Installation installation_;
  Inner role_;
};

using Plugins = std::vector<std::unique_ptr<node::DraPlugin>>;
using DriversOfNode = std::function<Result<Plugins>(const json::Value& node)>;

// The drivers of a node and those that are registered in the folder of a kubelet.
DriversOfNode WithRegistered(DriversOfNode drivers, std::string registry, Executor& executor) {
  return [drivers = std::move(drivers), registry = std::move(registry),
          &executor](const json::Value& node) -> Result<Plugins> {
    DRA_ASSIGN(Plugins plugins, drivers(node));
    DRA_ASSIGN(Plugins registered, rpc::RegisteredPlugins(registry, executor));
    std::ranges::move(registered, std::back_inserter(plugins));
    return plugins;
  };
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
  auto connection = Connect(arguments, "scheduler");
  if (!connection) return PrintError(connection.error());
  scheduler::Options options{.scheduler_name = arguments.scheduler_name,
                             .selector_errors = *errors,
                             .device_order = *order,
                             .feature_gates = *gates,
                             .leader_election = arguments.leader_elect,
                             .seed = arguments.plane.seed};
  return RunRole<scheduler::Scheduler>("scheduler", connection->config.server,
                                       [&](Executor& executor) {
                                         return std::make_unique<scheduler::Scheduler>(
                                             std::move(options), *connection->factory, executor);
                                       });
}

int RunControllers(const RoleArguments& arguments) {
  const auto gates = GatesOf(arguments.plane);
  if (!gates) return PrintError(gates.error(), kWrongUse);
  auto connection = Connect(arguments, "controllers");
  if (!connection) return PrintError(connection.error());
  controllers::Options options{.feature_gates = *gates,
                               .only = arguments.controllers,
                               .leader_election = arguments.leader_elect,
                               .root_ca = connection->config.ca_pem,
                               .seed = arguments.plane.seed};
  const auto anonymous = WithoutCredentials(connection->config);
  if (!anonymous) return PrintError(anonymous.error());
  if (arguments.account_credentials) {
    options.client_of = [&](Executor& executor, std::string_view account) {
      auto with_token = [&anonymous, &executor](std::string token) {
        return (*anonymous)->WithToken(std::move(token))->NewClient(executor, kControllersAgent);
      };
      return std::make_unique<controllers::AccountClient>(
          std::string(account), connection->factory->NewClient(executor, kControllersAgent),
          with_token);
    };
  }
  using ControllersRole = InstallingRole<controllers::Controllers>;
  return RunRole<ControllersRole>(
      "controllers", connection->config.server, [&](Executor& executor) {
        return std::make_unique<ControllersRole>(
            cluster::ShippedWithControllers(), std::move(options), *connection->factory, executor);
      });
}

int RunNode(const RoleArguments& arguments) {
  const auto gates = GatesOf(arguments.plane);
  if (!gates) return PrintError(gates.error(), kWrongUse);
  const auto fleet = arguments.fleet.empty() ? cluster::BuiltInFleets().front()
                                             : cluster::FindFleet(arguments.fleet);
  if (!fleet) return PrintError(fleet.error(), kWrongUse);
  auto connection = Connect(arguments, "node");
  if (!connection) return PrintError(connection.error());
  // Nodes that other processes simulate are left to them.
  node::SimulationOptions options{.nodes = cluster::NodesOf(*fleet),
                                  .adopt = false,
                                  .feature_gates = *gates,
                                  .seed = arguments.plane.seed};
  cluster::AddDrivers(options);
  using NodeRole = InstallingRole<node::SimulatedNodes>;
  return RunRole<NodeRole>("node", connection->config.server, [&](Executor& executor) {
    if (!arguments.plugins_registry.empty()) {
      options.drivers =
          WithRegistered(std::move(options.drivers), arguments.plugins_registry, executor);
    }
    return std::make_unique<NodeRole>(cluster::ShippedWithNodes(), std::move(options),
                                      *connection->factory, executor);
  });
}

}  // namespace drachma::cli
