#include "cluster/up.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "apiserver/server.h"
#include "client/kubeconfig.h"
#include "client/objects.h"
#include "cluster/actor.h"
#include "cluster/driver_gates.h"
#include "cluster/gpu_admission.h"
#include "cluster/role_clients.h"
#include "controllers/controllers.h"
#include "node/simulated_nodes.h"

namespace drachma::cluster {
namespace {

using json::Value;
namespace resources = client::resources;

struct RoleName {
  Role role;
  std::string_view name;
};
constexpr RoleName kRoleNames[] = {{Role::kApiServer, "apiserver"},
                                   {Role::kControllers, "controllers"},
                                   {Role::kScheduler, "scheduler"},
                                   {Role::kNodes, "nodes"}};

// How often the start is looked at; the wait itself is other threads'.
constexpr auto kLook = std::chrono::milliseconds(5);
// Nodes that have not been registered after this time are not waited for any longer.
constexpr auto kRegisterWithin = std::chrono::minutes(10);

// The actor that writes what the cluster begins with.
class Director {
 public:
  Director(client::ClientFactory& factory, Executor& executor)
      : client_(factory.NewClient(executor, "drachma-up")),
        writer_(*client_, [this](const Manifest& manifest, const Result<std::string>& outcome) {
          if (!outcome && refusal_.empty()) {
            refusal_ = fmt::format("{}: {}", manifest.Place(), outcome.error().message);
          }
        }) {}

  void Write(std::vector<Manifest> manifests, std::promise<Status>& done) {
    writer_.Write(std::move(manifests), [this, &done](const Status& status) {
      done.set_value(status ? Status() : Status(Fail(Code::kInvalid, refusal_)));
    });
  }

  // Whether Nodes of an earlier run are there.
  void FindSimulated(std::promise<bool>& found) {
    client_->Call(
        {.verb = client::Verb::kList, .resource = resources::kNodes},
        [&found](const Result<Value>& list) {
          found.set_value(list &&
                          std::ranges::any_of((*list)["items"].Items(), [](const Value& node) {
                            return !client::AnnotationOf(node, node::kSimulated).empty();
                          }));
        });
  }

 private:
  std::unique_ptr<client::Client> client_;
  std::string refusal_;
  ManifestWriter writer_;
};

}  // namespace

Result<std::set<Role>> ParseRoles(const std::string& list) {
  std::set<Role> roles;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const auto found = std::ranges::find(kRoleNames, name, &RoleName::name);
    if (found == std::end(kRoleNames)) {
      return BadInput(fmt::format(
          "--roles: unknown role \"{}\"; there are apiserver, controllers, scheduler, nodes",
          name));
    }
    roles.insert(found->role);
    begin = end + 1;
  }
  if (!roles.contains(Role::kApiServer)) {
    return BadInput(
        "--roles: `up` holds the apiserver; run the other roles by `drachma scheduler`, "
        "`drachma controllers` and `drachma node`");
  }
  return roles;
}

class Cluster::Impl {
 public:
  explicit Impl(UpOptions options) : options_(std::move(options)) {}

  // Load balancers look elsewhere while the roles end.
  ~Impl() {
    if (server_ != nullptr) server_->SetReady(false);
  }

  Status Start() {
    apiserver::Options server{.data_dir = options_.data_dir,
                              .listen = options_.listen,
                              .kubeconfig = options_.kubeconfig,
                              .seed = options_.seed,
                              .feature_gates = WithoutDriverGates(options_.feature_gates),
                              .runtime_config = options_.runtime_config,
                              .enable_admission = options_.enable_admission,
                              .disable_admission = options_.disable_admission,
                              .token_auth_file = options_.token_auth_file,
                              .audit_log_path = options_.audit_log_path,
                              .audit_policy_file = options_.audit_policy_file,
                              .limits = options_.limits,
                              .emulated_minor = options_.emulated_minor};
    if (Has(Role::kNodes)) server.admission.push_back(std::make_shared<GpuConfigAdmission>());
    DRA_ASSIGN(server_, apiserver::Server::Create(std::move(server)));
    server_->SetReady(false);
    factory_ = server_->NewClientFactory(apiserver::AdminUser());
    clients_.emplace(*server_);
    DRA_TRY(WriteKubeconfigs());
    director_ = std::make_unique<Actor<Director>>("director", [this](Executor& executor) {
      return std::make_unique<Director>(*factory_, executor);
    });
    DRA_TRY(WriteGiven());
    DRA_TRY(StartRoles());
    DRA_TRY(Write(Select([](const Manifest& manifest) { return !IsGiven(manifest); })));
    AwaitNodes();
    server_->SetReady(true);
    return {};
  }

  [[nodiscard]] const apiserver::Server& server() const { return *server_; }
  [[nodiscard]] std::size_t node_count() const {
    return nodes_ ? nodes_->Ask([](node::SimulatedNodes& nodes) { return nodes.size(); }) : 0;
  }

 private:
  [[nodiscard]] bool Has(Role role) const { return options_.roles.contains(role); }

  template <typename Wanted>
  std::vector<Manifest> Select(Wanted wanted) const {
    std::vector<Manifest> selected;
    std::ranges::copy_if(options_.manifests, std::back_inserter(selected), wanted);
    return selected;
  }

  Status Write(std::vector<Manifest> manifests) {
    std::promise<Status> done;
    director_->Ask([&](Director& director) { director.Write(std::move(manifests), done); });
    return done.get_future().get();
  }

  // Beside the administrator's, for roles that run apart.
  Status WriteKubeconfigs() const {
    const std::filesystem::path admin = server_->kubeconfig_path();
    if (admin.empty()) return {};
    const std::string beside = admin.has_parent_path() ? admin.parent_path().string() : ".";
    return WriteRoleKubeconfigs(*server_, options_.data_dir.empty() ? beside : options_.data_dir);
  }

  Status WriteGiven() {
    std::vector<Manifest> given;
    if (Has(Role::kNodes)) {
      DRA_ASSIGN(given, DriverManifests());
    }
    for (Manifest& manifest : Select(IsGiven)) {
      if (manifest.Is("", "Node") && Has(Role::kNodes)) {
        manifest.object.Edit("metadata").Edit("annotations").Set(node::kSimulated, "manifest");
      }
      given.push_back(std::move(manifest));
    }
    return Write(std::move(given));
  }

  Fleet ChooseFleet() {
    if (options_.fleet) return *options_.fleet;
    std::promise<bool> found;
    director_->Ask([&](Director& director) { director.FindSimulated(found); });
    return found.get_future().get() ? Fleet{} : BuiltInFleets().front();
  }

  Status StartRoles() {
    if (Has(Role::kNodes)) {
      node::SimulationOptions simulation{.nodes = NodesOf(ChooseFleet()),
                                         .feature_gates = options_.feature_gates,
                                         .seed = options_.seed};
      AddDrivers(simulation);
      to_register_ = simulation.nodes.size();
      nodes_ = std::make_unique<Actor<node::SimulatedNodes>>("nodes", [&](Executor& executor) {
        auto nodes = std::make_unique<node::SimulatedNodes>(std::move(simulation),
                                                            clients_->nodes(), executor);
        nodes->Start();
        return nodes;
      });
    }
    if (Has(Role::kControllers)) {
      controllers::Options control{.feature_gates = options_.feature_gates, .seed = options_.seed};
      control.client_of = [this](Executor& executor, std::string_view account) {
        return clients_->OfAccount(executor, account);
      };
      if (!server_->kubeconfig().empty()) {
        DRA_ASSIGN(const client::KubeConfig config,
                   client::ParseKubeConfig({{"kubeconfig", server_->kubeconfig()}}, ""));
        control.root_ca = config.ca_pem;
      }
      controllers_ =
          std::make_unique<Actor<controllers::Controllers>>("controllers", [&](Executor& executor) {
            auto controllers = std::make_unique<controllers::Controllers>(
                std::move(control), clients_->controllers(), executor);
            controllers->Start();
            return controllers;
          });
    }
    if (Has(Role::kScheduler)) {
      scheduler::Options scheduling{.selector_errors = options_.selector_errors,
                                    .device_order = options_.device_order,
                                    .feature_gates = options_.feature_gates,
                                    .seed = options_.seed};
      scheduler_ =
          std::make_unique<Actor<scheduler::Scheduler>>("scheduler", [&](Executor& executor) {
            auto scheduler = std::make_unique<scheduler::Scheduler>(
                std::move(scheduling), clients_->scheduler(), executor);
            scheduler->Start();
            return scheduler;
          });
    }
    return {};
  }

  void AwaitNodes() {
    if (!nodes_) return;
    const auto late = std::chrono::steady_clock::now() + kRegisterWithin;
    while (!nodes_->Ask([](node::SimulatedNodes& nodes) { return nodes.registered(); })) {
      if (std::chrono::steady_clock::now() > late) return;
      if (options_.progress) options_.progress(fmt::format("registering {} nodes", to_register_));
      std::this_thread::sleep_for(kLook);
    }
  }

  const UpOptions options_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<client::ClientFactory> factory_;  // the administrator's
  std::optional<RoleClients> clients_;
  std::unique_ptr<Actor<Director>> director_;
  std::size_t to_register_ = 0;
  std::unique_ptr<Actor<node::SimulatedNodes>> nodes_;
  std::unique_ptr<Actor<controllers::Controllers>> controllers_;
  std::unique_ptr<Actor<scheduler::Scheduler>> scheduler_;
};

Result<std::unique_ptr<Cluster>> Cluster::Start(UpOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  DRA_TRY(impl->Start());
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

const std::string& Cluster::url() const { return impl_->server().url(); }
const std::string& Cluster::kubeconfig_path() const { return impl_->server().kubeconfig_path(); }
std::size_t Cluster::node_count() const { return impl_->node_count(); }

}  // namespace drachma::cluster
