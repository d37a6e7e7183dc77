#include "sim_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "client/objects.h"
#include "cluster/gpu_admission.h"
#include "gpu/driver.h"

namespace drachma::simulation {
namespace {

namespace resources = client::resources;

constexpr std::array<std::string_view, kRoles> kRoleNames = {"scheduler", "controllers", "nodes"};

const Time kStart{std::chrono::hours(24 * 365 * 56)};
constexpr std::size_t kViolationsMax = 10;

std::vector<client::Resource> Followed() {
  return {resources::kPods,
          resources::kNodes,
          resources::kResourceQuotas,
          resources::kResourceClaims,
          resources::kResourceClaimTemplates,
          resources::kResourceSlices,
          resources::kDeviceTaintRules,
          resources::kDeployments,
          resources::kReplicaSets,
          {"batch", "v1", "jobs"}};
}

// One line for those who look for the cause of a violation.
std::string Describe(const Write& write) {
  const json::Value& object = write.object;
  std::string text = fmt::format("{} {} {}", write.revision, write.plural, write.key);
  if (object.IsNull()) return text + ": gone";
  const json::Value& status = object["status"];
  text += client::IsBeingDeleted(object) ? ": leaves" : ":";
  for (const json::Value* word : {&object["spec"]["nodeName"], &status["phase"]}) {
    if (!word->AsString().empty()) text += fmt::format(" {}", word->AsString());
  }
  for (const json::Value& result : status.At({"allocation", "devices", "results"}).Items()) {
    text += fmt::format(" {}/{}", result["pool"].AsString(), result["device"].AsString());
  }
  for (const json::Value& consumer : status["reservedFor"].Items()) {
    text += fmt::format(" for {}", consumer["name"].AsString());
  }
  for (const std::string_view part : {"hard", "used"}) {
    for (const json::Member& member : status[part].Members()) {
      text += fmt::format(" {} {}={}", part, member.key().substr(0, 12), member.value.AsString());
    }
  }
  return text;
}

}  // namespace

std::string_view NameOf(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

SimCluster::SimCluster(ClusterOptions options)
    : options_(std::move(options)),
      executor_(kStart),
      chaos_(options_.seed, executor_.clock(), options_.echo) {}

SimCluster::~SimCluster() {
  for (std::size_t role = 0; role < kRoles; ++role) StopRole(static_cast<Role>(role));
}

Status SimCluster::Start() {
  apiserver::Options server{.listen = "",
                            .executor = &executor_,
                            .seed = options_.seed,
                            .feature_gates = options_.feature_gates};
  server.admission.push_back(std::make_shared<cluster::GpuConfigAdmission>());
  DRA_ASSIGN(server_, apiserver::Server::Create(std::move(server)));
  factory_ = server_->NewClientFactory(apiserver::AdminUser());
  clients_.emplace(*server_);
  client_ = factory_->NewClient(executor_, "simulation");
  std::vector<client::Resource> followed = Followed();
  if (options_.feature_gates.contains("GenericWorkload")) {
    followed.push_back({"scheduling.k8s.io", "v1beta1", "podgroups"});
  }
  history_ = std::make_unique<History>(*client_, std::move(followed), [this](const auto& write) {
    if (options_.echo == Chaos::Echo::kYes) fmt::print("            {}\n", Describe(write));
    invariants_->OnWrite(write);
  });
  invariants_ = std::make_unique<Invariants>(*history_, prepared_,
                                             [this](const std::string& what) { Violated(what); });
  history_->Start();
  for (client::ClientFactory* inner :
       {&clients_->scheduler(), &clients_->controllers(), &clients_->nodes()}) {
    factories_.push_back(std::make_unique<FaultyFactory>(*inner, chaos_, *invariants_, open_));
  }
  for (const json::Value& device_class : gpu::DeviceClasses()) {
    DRA_TRY(Call(client::CreateRequest(resources::kDeviceClasses, "", device_class)));
  }
  for (std::size_t role = 0; role < kRoles; ++role) StartRole(static_cast<Role>(role));
  return {};
}

void SimCluster::StartRole(Role role) {
  Process& process = processes_[role];
  if (process.executor != nullptr) return;
  process.executor = std::make_unique<RoleExecutor>(executor_);
  FaultyFactory& factory = *factories_[static_cast<std::size_t>(role)];
  const std::uint64_t seed = chaos_.random().Next();
  switch (role) {
    case Role::kScheduler:
      process.scheduler = std::make_unique<scheduler::Scheduler>(
          scheduler::Options{.feature_gates = options_.feature_gates, .seed = seed}, factory,
          *process.executor);
      process.scheduler->Start();
      break;
    case Role::kControllers:
      process.controllers = std::make_unique<controllers::Controllers>(
          controllers::Options{.feature_gates = options_.feature_gates,
                               .client_of =
                                   [this](Executor& executor, std::string_view account) {
                                     return std::make_unique<FaultyClient>(
                                         clients_->OfAccount(executor, account), chaos_,
                                         *invariants_, open_);
                                   },
                               .seed = seed},
          factory, *process.executor);
      process.controllers->Start();
      break;
    case Role::kNodes: {
      node::SimulationOptions simulation{.nodes = cluster::NodesOf(options_.fleet),
                                         .feature_gates = options_.feature_gates,
                                         .seed = seed};
      simulation.drivers =
          [this, executor = process.executor.get()](
              const json::Value& node) -> Result<std::vector<std::unique_ptr<node::DraPlugin>>> {
        DRA_ASSIGN(auto drivers, cluster::DriversOf(node));
        for (auto& driver : drivers) {
          driver = std::make_unique<FaultyDriver>(std::string(client::NameOf(node)),
                                                  std::move(driver), *executor, chaos_, prepared_);
        }
        return drivers;
      };
      process.nodes =
          std::make_unique<node::SimulatedNodes>(std::move(simulation), factory, *process.executor);
      process.nodes->Start();
      break;
    }
  }
}

void SimCluster::StopRole(Role role) { processes_.erase(role); }

RoleExecutor* SimCluster::ExecutorOf(Role role) {
  const auto found = processes_.find(role);
  return found == processes_.end() ? nullptr : found->second.executor.get();
}

void SimCluster::Write(client::Request request, std::string note) {
  client_->Call(std::move(request),
                [this, note = std::move(note)](const Result<json::Value>& answer) {
                  chaos_.Note(answer ? note : fmt::format("{}: {}", note, answer.error().message));
                });
}

void SimCluster::RunFor(Duration duration) {
  const Time end = executor_.clock().Now() + duration;
  executor_.PostAfter(duration, [] {});
  while (violations_.empty() && executor_.RunOne(end)) ++tasks_;
}

Result<json::Value> SimCluster::Call(client::Request request) {
  std::optional<Result<json::Value>> answer;
  client_->Call(std::move(request),
                [&](Result<json::Value> result) { answer = std::move(result); });
  while (!answer && executor_.RunOne(executor_.clock().Now() + std::chrono::minutes(1))) ++tasks_;
  if (!answer) return Fail(Code::kInternal, "the API server did not answer");
  return *std::move(answer);
}

void SimCluster::Violated(const std::string& what) {
  if (violations_.size() >= kViolationsMax) return;
  violations_.push_back(what);
  chaos_.Note("VIOLATED: " + what);
}

}  // namespace drachma::simulation
