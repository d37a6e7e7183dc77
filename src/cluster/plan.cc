#include "cluster/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "api/features.h"
#include "apiserver/server.h"
#include "base/executor.h"
#include "client/objects.h"
#include "cluster/driver_gates.h"
#include "cluster/gpu_admission.h"
#include "cluster/plan_log.h"
#include "cluster/role_clients.h"
#include "controllers/controllers.h"
#include "json/json.h"
#include "node/simulated_nodes.h"

namespace drachma::cluster {
namespace {

using json::Value;
namespace resources = client::resources;

// Virtual time after which a plan that still moves is told as it is.
constexpr Duration kRestWithin = std::chrono::hours(1);
// Tasks after which the same holds, should something turn in circles without time going on.
constexpr std::uint64_t kTasksMax = 500'000'000;

bool HoldsNode(const std::vector<Manifest>& manifests) {
  return std::ranges::any_of(manifests, [](const Manifest& m) { return m.Is("", "Node"); });
}

// Of a kind that is not served: the gate that it wants.
std::string GateHint(const Manifest& manifest, const Error& error) {
  if (error.code != Code::kNotFound) return {};
  for (const api::GateInfo& gate : api::AllGates()) {
    if (gate.gate != manifest.kind->gate) continue;
    return fmt::format(" (it needs --feature-gates {}=true)", gate.name);
  }
  return {};
}

// The whole cluster on one executor.
class PlanRun {
 public:
  explicit PlanRun(PlanOptions options) : options_(std::move(options)), executor_(options_.start) {
    BeginAnew(options_.manifests);
    for (const std::vector<Manifest>* read : {&options_.manifests, &options_.what_if.apply}) {
      for (const Manifest& manifest : *read) {
        warnings_.insert(manifest.warnings.begin(), manifest.warnings.end());
      }
    }
  }

  Result<PlanOutcome> Run() {
    DRA_TRY(Assemble());
    DRA_TRY(WriteGiven(options_.manifests));
    StartRoles();
    ComeToRest(Duration(0));
    DRA_TRY(WriteWork(options_.manifests));
    ComeToRest(options_.horizon);
    PlanOutcome outcome{.plan = Tell()};
    if (!options_.what_if.empty()) {
      DRA_TRY(Change(options_.what_if));
      ComeToRest(options_.horizon);
      outcome.what_if = Tell();
    }
    return outcome;
  }

 private:
  Status Assemble() {
    apiserver::Options server_options{.listen = "",
                                      .executor = &executor_,
                                      .seed = options_.seed,
                                      .feature_gates = WithoutDriverGates(options_.feature_gates)};
    server_options.admission.push_back(std::make_shared<GpuConfigAdmission>());
    DRA_ASSIGN(server_, apiserver::Server::Create(std::move(server_options)));
    factory_ = server_->NewClientFactory(apiserver::AdminUser());
    clients_.emplace(*server_);
    client_ = factory_->NewClient(executor_, "drachma-plan");
    log_ = std::make_unique<PlanLog>(*client_, options_.manifests);
    log_->Start();
    writer_ = std::make_unique<ManifestWriter>(
        *client_, [this](const Manifest& manifest, const Result<std::string>& outcome) {
          if (!outcome && refusal_.empty()) {
            refusal_ = fmt::format("{}: {}{}", manifest.Place(), outcome.error().message,
                                   GateHint(manifest, outcome.error()));
          }
        });
    DRA_ASSIGN(std::vector<Manifest> shipped, DriverManifests());
    return WriteAll(std::move(shipped));
  }

  void StartRoles() {
    const Fleet fleet =
        options_.fleet.value_or(HoldsNode(options_.manifests) ? Fleet{} : BuiltInFleets().front());
    node::SimulationOptions simulation{.nodes = NodesOf(fleet),
                                       .heartbeats = false,
                                       .finish_pods = false,
                                       .feature_gates = options_.feature_gates,
                                       .seed = options_.seed};
    AddDrivers(simulation);
    nodes_ =
        std::make_unique<node::SimulatedNodes>(std::move(simulation), clients_->nodes(), executor_);
    nodes_->Start();
    controllers::Options control{.feature_gates = options_.feature_gates,
                                 .watch_heartbeats = false,
                                 .client_of =
                                     [this](Executor& executor, std::string_view account) {
                                       return clients_->OfAccount(executor, account);
                                     },
                                 .seed = options_.seed};
    controllers_ = std::make_unique<controllers::Controllers>(std::move(control),
                                                              clients_->controllers(), executor_);
    controllers_->Start();
    scheduler::Options scheduling{.selector_errors = options_.selector_errors,
                                  .device_order = options_.device_order,
                                  .feature_gates = options_.feature_gates,
                                  .seed = options_.seed};
    scheduler_ = std::make_unique<scheduler::Scheduler>(std::move(scheduling),
                                                        clients_->scheduler(), executor_);
    scheduler_->Start();
  }

  // Nodes of files get simulated kubelets.
  static std::vector<Manifest> WithKubelets(std::vector<Manifest> manifests) {
    for (Manifest& manifest : manifests) {
      if (!manifest.Is("", "Node")) continue;
      manifest.object.Edit("metadata").Edit("annotations").Set(node::kSimulated, "manifest");
    }
    return manifests;
  }

  // A claim that is not allocated yet: given, but only when quotas count already.
  static bool IsDemand(const Manifest& manifest) {
    return manifest.Is("resource.k8s.io", "ResourceClaim") &&
           client::UidOf(manifest.object).empty() &&
           manifest.object.At({"status", "allocation"}).IsNull();
  }

  static std::vector<Manifest> Select(const std::vector<Manifest>& manifests,
                                      const std::function<bool(const Manifest&)>& wanted) {
    std::vector<Manifest> selected;
    std::ranges::copy_if(manifests, std::back_inserter(selected), wanted);
    return selected;
  }

  Status WriteGiven(const std::vector<Manifest>& manifests) {
    return WriteAll(WithKubelets(
        Select(manifests, [](const Manifest& m) { return IsGiven(m) && !IsDemand(m); })));
  }

  Status WriteAll(std::vector<Manifest> manifests) {
    return Await([&](std::function<void(Status)> done) {
      writer_->Write(std::move(manifests), std::move(done));
    });
  }

  Status WriteWork(const std::vector<Manifest>& manifests) {
    DRA_TRY(WriteAll(Select(manifests, IsDemand)));
    return Await([&](std::function<void(Status)> done) {
      writer_->WriteTogether(Select(manifests, [](const Manifest& m) { return !IsGiven(m); }),
                             std::move(done));
    });
  }

  // Runs until what `start` began is done.
  Status Await(const std::function<void(std::function<void(Status)>)>& start) {
    bool finished = false;
    Status status;
    start([&](Status result) {
      finished = true;
      status = std::move(result);
    });
    while (!finished && executor_.RunOne(executor_.clock().Now() + kRestWithin)) {
    }
    if (!finished) return Fail(Code::kInternal, "the API server did not answer");
    if (!status) {
      // What a quota or a right refuses may be written well.
      const bool forbidden = status.error().code == Code::kForbidden;
      return Fail(forbidden ? Code::kForbidden : Code::kInvalid, refusal_);
    }
    return {};
  }

  [[nodiscard]] bool AtRest() const {
    return log_->synced() && nodes_->AtRest() && nodes_->registered() && controllers_->AtRest() &&
           scheduler_->synced() && scheduler_->AtRest();
  }

  // Runs until nothing is left to do, and then on for `horizon`.
  void ComeToRest(Duration horizon) {
    const Time latest = executor_.clock().Now() + kRestWithin;
    for (std::uint64_t tasks = 0; tasks < kTasksMax; ++tasks) {
      const Time now = executor_.clock().Now();
      if (executor_.NextDue() > now && AtRest()) break;
      if (!executor_.RunOne(latest)) break;
    }
    const Time end = executor_.clock().Now() + horizon;
    executor_.PostAfter(horizon, [] {});
    while (executor_.RunOne(end)) {
    }
    if (!AtRest()) warnings_.insert("the cluster had not come to rest when the plan ended");
  }

  Status Change(const WhatIf& what_if) {
    for (const std::string& name : what_if.remove) DRA_TRY(Remove(name));
    std::vector<Manifest> apply = what_if.apply;
    for (const auto& [name, priority] : what_if.priorities) {
      DRA_TRY(GivePriority(name, priority, apply));
    }
    for (const Manifest& manifest : apply) log_->Append(manifest);
    DRA_TRY(WriteGiven(apply));
    return WriteWork(apply);
  }

  Result<Value> Call(client::Request request) {
    std::optional<Result<Value>> answer;
    client_->Call(std::move(request), [&](Result<Value> result) { answer = std::move(result); });
    while (!answer && executor_.RunOne(executor_.clock().Now() + kRestWithin)) {
    }
    if (!answer) return Fail(Code::kInternal, "the API server did not answer");
    return std::move(*answer);
  }

  // "KIND/NAME" or "KIND/NAMESPACE/NAME".
  Status Remove(const std::string& name) {
    const std::size_t first = name.find('/');
    const std::size_t last = name.rfind('/');
    if (first == std::string::npos) return BadInput("--remove wants KIND/NAME, not " + name);
    const std::string wanted = name.substr(0, first);
    for (const api::KindInfo& info : api::AllKinds()) {
      const bool named = wanted == info.kind || wanted == info.plural || wanted == info.singular ||
                         std::ranges::find(info.short_names, wanted) != info.short_names.end();
      if (!named) continue;
      const std::string ns = !info.namespaced() ? ""
                             : first == last    ? "default"
                                                : name.substr(first + 1, last - first - 1);
      client::Request request{
          .verb = client::Verb::kDelete,
          .resource = {std::string(info.group), std::string(info.versions.front().version),
                       std::string(info.plural)},
          .ns = ns,
          .name = name.substr(last + 1)};
      DRA_ASSIGN(const Value gone, Call(std::move(request)));
      ComeToRest(Duration(0));
      return {};
    }
    return BadInput(fmt::format("--remove {}: unknown kind {}", name, wanted));
  }

  // A pod's priority cannot be changed: a copy with the new one takes its place.
  Status GivePriority(const std::string& name, std::int64_t priority,
                      std::vector<Manifest>& apply) {
    const std::size_t slash = name.find('/');
    const std::string ns = slash == std::string::npos ? "default" : name.substr(0, slash);
    const std::string pod_name = slash == std::string::npos ? name : name.substr(slash + 1);
    DRA_ASSIGN(const Value pod, Call(client::GetRequest(resources::kPods, ns, pod_name)));
    DRA_TRY(Remove(fmt::format("pods/{}/{}", ns, pod_name)));
    const std::string class_name = fmt::format("what-if-{}", priority);
    const Value priority_class = Value::Object({{"apiVersion", "scheduling.k8s.io/v1"},
                                                {"kind", "PriorityClass"},
                                                {"metadata", Value::Object({{"name", class_name}})},
                                                {"value", priority}});
    Value metadata = Value::Object({{"name", pod_name}, {"namespace", ns}});
    for (const std::string_view field : {"labels", "annotations"}) {
      if (const Value* value = pod["metadata"].Find(field)) metadata.Set(field, *value);
    }
    Value spec = pod["spec"];
    for (const std::string_view field : {"nodeName", "priority", "preemptionPolicy"}) {
      spec.Erase(field);
    }
    spec.Set("priorityClassName", class_name);
    const Value copy = Value::Object({{"apiVersion", "v1"},
                                      {"kind", "Pod"},
                                      {"metadata", std::move(metadata)},
                                      {"spec", std::move(spec)}});
    for (const Value& object : {priority_class, copy}) {
      DRA_ASSIGN(std::vector<Manifest> one, ParseManifests(json::Write(object), "--set-priority"));
      apply.push_back(std::move(one.front()));
    }
    return {};
  }

  // Pods that have their devices and do not start, since the driver refuses what their claims ask
  // of it.
  static void TellRefusals(Plan& plan) {
    for (PlannedPod& pod : plan.pods) {
      if (pod.phase != "Scheduled" || pod.started) continue;
      const std::string object = fmt::format("Pod/{}/{}", pod.ns, pod.name);
      for (const PlannedEvent& event : plan.events) {
        const bool refused =
            event.reason == "FailedPrepareDynamicResources" && event.object == object;
        if (refused) pod.reason = "does not start: " + event.message;
      }
    }
  }

  Plan Tell() {
    Plan plan{.pods = log_->Pods()};
    Result<Value> events = Call({.verb = client::Verb::kList, .resource = {"", "v1", "events"}});
    std::vector<std::pair<std::int64_t, PlannedEvent>> sorted;
    if (events) {
      for (const Value& event : (*events)["items"].Items()) {
        const Value& about = event["involvedObject"];
        const std::string_view ns = about["namespace"].AsString();
        std::int64_t revision = 0;
        const std::string_view text = client::ResourceVersionOf(event);
        std::from_chars(text.data(), text.data() + text.size(), revision);
        sorted.emplace_back(
            revision,
            PlannedEvent{.type = std::string(event["type"].AsString()),
                         .reason = std::string(event["reason"].AsString()),
                         .object = fmt::format("{}/{}{}{}", about["kind"].AsString(), ns,
                                               ns.empty() ? "" : "/", about["name"].AsString()),
                         .message = std::string(event["message"].AsString())});
      }
    }
    std::ranges::stable_sort(sorted, {}, [](const auto& entry) { return entry.first; });
    for (auto& [revision, event] : sorted) plan.events.push_back(std::move(event));
    TellRefusals(plan);
    plan.warnings.assign(warnings_.begin(), warnings_.end());
    return plan;
  }

  PlanOptions options_;
  VirtualExecutor executor_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<client::ClientFactory> factory_;
  std::optional<RoleClients> clients_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<PlanLog> log_;
  std::unique_ptr<ManifestWriter> writer_;
  std::unique_ptr<node::SimulatedNodes> nodes_;
  std::unique_ptr<controllers::Controllers> controllers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::string refusal_;
  std::set<std::string> warnings_;
};

}  // namespace

Result<PlanOutcome> MakePlan(PlanOptions options) {
  const auto run = std::make_unique<PlanRun>(std::move(options));
  return run->Run();
}

namespace {

Value ToJson(const PlannedClaim& claim) {
  Value devices = Value::Array();
  for (const PlannedDevice& device : claim.devices) {
    devices.Append(
        Value::Object({{"request", device.request},
                       {"driver", device.driver},
                       {"pool", device.pool},
                       {"device", device.device},
                       {"shareID", device.share_id.empty() ? Value() : Value(device.share_id)},
                       {"consumedCapacity", device.consumed_capacity},
                       {"tolerations", device.tolerations}}));
  }
  return Value::Object(
      {{"name", claim.name}, {"podClaim", claim.pod_claim}, {"devices", std::move(devices)}});
}

}  // namespace

Value ToJson(const Plan& plan) {
  Value pods = Value::Array();
  for (const PlannedPod& pod : plan.pods) {
    Value claims = Value::Array();
    for (const PlannedClaim& claim : pod.claims) claims.Append(ToJson(claim));
    pods.Append(Value::Object({{"namespace", pod.ns},
                               {"name", pod.name},
                               {"phase", pod.phase},
                               {"node", pod.node},
                               {"claims", std::move(claims)},
                               {"reason", pod.reason}}));
  }
  Value events = Value::Array();
  for (const PlannedEvent& event : plan.events) {
    events.Append(Value::Object({{"type", event.type},
                                 {"reason", event.reason},
                                 {"object", event.object},
                                 {"message", event.message}}));
  }
  Value warnings = Value::Array();
  for (const std::string& warning : plan.warnings) warnings.Append(warning);
  return Value::Object({{"pods", std::move(pods)},
                        {"events", std::move(events)},
                        {"warnings", std::move(warnings)}});
}

}  // namespace drachma::cluster
