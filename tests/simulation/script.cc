#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "client/objects.h"
#include "gpu/catalogue.h"
#include "objects.h"

namespace drachma::simulation {
namespace {

using json::Value;
namespace resources = client::resources;

const client::Resource kJobs = {"batch", "v1", "jobs"};
const client::Resource kPodGroups = {"scheduling.k8s.io", "v1beta1", "podgroups"};
const client::Resource kPriorityClasses = {"scheduling.k8s.io", "v1", "priorityclasses"};
constexpr std::array<std::string_view, 2> kNamespaces = {"default", "team-a"};

// A device for many claims, and one class for it.
constexpr std::string_view kAdapter = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nic-0}
spec:
  driver: nic.example.com
  allNodes: true
  pool: {name: adapters, generation: 1, resourceSliceCount: 1}
  devices:
  - name: nic-0
    allowMultipleAllocations: true
    capacity:
      bandwidth:
        value: 100G
        requestPolicy:
          default: 10G
          validRange: {min: 5G, step: 5G, max: 100G}
)";
constexpr std::string_view kAdapterClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic.example.com}
spec: {selectors: [{cel: {expression: device.driver == 'nic.example.com'}}]}
)";

struct TemplateEntry {
  std::string_view name;
  std::string_view device_class;
  int count;
  std::string_view exactly;
};
constexpr std::array<TemplateEntry, 5> kTemplates = {{
    {"one-gpu", "gpu.nvidia.com", 1, ""},
    {"two-gpus", "gpu.nvidia.com", 2, ""},
    {"small-part", "mig.nvidia.com", 1,
     "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].profile == "
     "'1g.10gb'\"}}]"},
    {"large-part", "mig.nvidia.com", 1,
     "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].profile == "
     "'3g.40gb'\"}}]"},
    {"bandwidth", "nic.example.com", 1, "capacity: {requests: {bandwidth: 30G}}"},
}};

}  // namespace

ClusterOptions OptionsOf(std::uint64_t seed) {
  Random random(seed);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random.Below(static_cast<std::uint64_t>(high - low + 1)));
  };
  ClusterOptions options{.seed = random.Next()};
  const gpu::Model* model = gpu::FindModel("H100-80GB");
  options.fleet.groups = {
      {.name = "big",
       .count = between(1, 2),
       .cpu = "8",
       .gpu = cluster::GroupGpu{model, between(1, 4)}},
      {.name = "parts",
       .count = 1,
       .cpu = "4",
       .gpu = cluster::GroupGpu{model, between(1, 2), gpu::MigMode::kDynamic}},
      {.name = "plain", .count = 1, .cpu = "2"},
  };
  if (random.Below(2) == 0) {
    options.feature_gates = {{"GenericWorkload", true}, {"DRAWorkloadResourceClaims", true}};
  }
  return options;
}

Status Script::Prepare() {
  DRA_TRY(
      cluster_.Call(client::CreateRequest(resources::kDeviceClasses, "", FromYaml(kAdapterClass))));
  DRA_TRY(cluster_.Call(client::CreateRequest(resources::kResourceSlices, "", FromYaml(kAdapter))));
  DRA_TRY(cluster_.Call(client::CreateRequest(
      resources::kNamespaces, "",
      FromYaml("{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}"))));
  DRA_TRY(cluster_.Call(client::CreateRequest(
      kPriorityClasses, "",
      FromYaml("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, "
               "value: 1000}"))));
  DRA_TRY(cluster_.Call(
      client::CreateRequest(resources::kResourceQuotas, "team-a", Quota("team-a", 6, 3, 8))));
  for (const std::string_view ns : kNamespaces) {
    for (const TemplateEntry& entry : kTemplates) {
      DRA_TRY(cluster_.Call(client::CreateRequest(
          resources::kResourceClaimTemplates, ns,
          ClaimTemplate(ns, entry.name,
                        ClaimSpec(entry.device_class, entry.count, entry.exactly)))));
    }
  }
  return {};
}

struct Script::Action {
  int weight;
  void (Script::*run)();
  enum class Grows : std::uint8_t { kNo, kYes } grows = Grows::kNo;
};

const std::vector<Script::Action>& Script::Actions() {
  static const std::vector<Action> actions = {
      {8, &Script::CreateDeployment, Action::Grows::kYes},
      {6, &Script::ScaleDeployment},
      {3, &Script::RollDeployment},
      {5, &Script::DeleteDeployment},
      {6, &Script::CreateJob, Action::Grows::kYes},
      {3, &Script::DeleteJob},
      {10, &Script::CreatePod, Action::Grows::kYes},
      {4, &Script::CreateSharers, Action::Grows::kYes},
      {4, &Script::CreateGang, Action::Grows::kYes},
      {14, &Script::DeletePod},
      {5, &Script::DeleteClaim},
      {2, &Script::TaintDevices},
      {3, &Script::UntaintDevices},
      {1, &Script::CordonNode},
      {1, &Script::TaintNode},
      {4, &Script::HealNode},
      {1, &Script::DeleteNode},
      {2, &Script::ChangeQuota},
      {3, &Script::RestartRole},
      {1, &Script::StopRole},
      {2, &Script::StallRole},
      {1, &Script::JumpClock},
      {1, &Script::LoseApi},
      {2, &Script::CutWatches},
      {3, &Script::ChangeRates},
  };
  return actions;
}

void Script::Step() {
  const bool full = cluster_.history().Of("pods").size() >= kPodsMax;
  int sum = 0;
  for (const Action& action : Actions()) {
    if (!full || action.grows == Action::Grows::kNo) sum += action.weight;
  }
  int chosen = chaos_.Between(0, sum - 1);
  for (const Action& action : Actions()) {
    if (full && action.grows == Action::Grows::kYes) continue;
    chosen -= action.weight;
    if (chosen >= 0) continue;
    (this->*action.run)();
    break;
  }
  // Most things happen on top of each other.
  constexpr int kPauseMs = 300;
  constexpr int kLongPauseMs = 8000;
  cluster_.RunFor(chaos_.Milliseconds(0, chaos_.Between(0, 4) == 0 ? kLongPauseMs : kPauseMs));
}

std::string Script::NewName(std::string_view prefix) {
  return fmt::format("{}-{}", prefix, names_++);
}

std::string_view Script::AnyNamespace() {
  return kNamespaces[static_cast<std::size_t>(chaos_.Between(0, 3) == 0)];
}

Role Script::AnyRole() {
  return static_cast<Role>(chaos_.Between(0, static_cast<int>(kRoles) - 1));
}

PodNeeds Script::AnyNeeds() {
  PodNeeds needs;
  switch (chaos_.Between(0, 9)) {
    case 0:
      break;
    case 1:
      needs.extended_gpus = chaos_.Between(1, 2);
      break;
    default:
      needs.template_name = kTemplates[chaos_.random().Below(kTemplates.size())].name;
  }
  if (chaos_.Between(0, 5) == 0) needs.priority_class = "urgent";
  return needs;
}

std::string Script::AnyOf(std::string_view plural) {
  const History::Objects& objects = cluster_.history().Of(plural);
  if (objects.empty()) return {};
  return std::next(objects.begin(), chaos_.Between(0, static_cast<int>(objects.size()) - 1))->first;
}

void Script::Create(const client::Resource& resource, Value object) {
  const std::string ns(client::NamespaceOf(object));
  std::string note = fmt::format("create {} {}/{}", resource.plural, ns, client::NameOf(object));
  cluster_.Write(client::CreateRequest(resource, ns, std::move(object)), std::move(note));
}

void Script::Delete(const client::Resource& resource, std::string_view key) {
  if (key.empty()) return;
  const std::size_t slash = key.find('/');
  client::Request request{.verb = client::Verb::kDelete, .resource = resource};
  request.name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (slash != std::string_view::npos) request.ns = key.substr(0, slash);
  cluster_.Write(std::move(request), fmt::format("delete {} {}", resource.plural, key));
}

void Script::CreateDeployment() {
  const std::string_view ns = AnyNamespace();
  Create(resources::kDeployments,
         Deployment(ns, NewName("deploy"), chaos_.Between(1, 3), AnyNeeds()));
}

void Script::ScaleDeployment() {
  const std::string key = AnyOf("deployments");
  if (key.empty()) return;
  const int replicas = chaos_.Between(0, 4);
  cluster_.Write(client::PatchRequest(resources::kDeployments, key.substr(0, key.find('/')),
                                      key.substr(key.find('/') + 1), client::PatchType::kMerge,
                                      FromYaml(fmt::format("spec: {{replicas: {}}}", replicas))),
                 fmt::format("scale {} to {}", key, replicas));
}

void Script::RollDeployment() {
  const std::string key = AnyOf("deployments");
  if (key.empty()) return;
  cluster_.Write(
      client::PatchRequest(
          resources::kDeployments, key.substr(0, key.find('/')), key.substr(key.find('/') + 1),
          client::PatchType::kMerge,
          FromYaml(fmt::format(
              "spec: {{template: {{metadata: {{annotations: {{version: v{}}}}}}}}}", names_++))),
      fmt::format("roll {}", key));
}

void Script::DeleteDeployment() { Delete(resources::kDeployments, AnyOf("deployments")); }

void Script::CreateJob() {
  PodNeeds needs = AnyNeeds();
  needs.run_seconds = chaos_.Between(1, 20);
  Create(kJobs, Job(AnyNamespace(), NewName("job"), chaos_.Between(1, 3), needs));
}

void Script::DeleteJob() { Delete(kJobs, AnyOf("jobs")); }

void Script::CreatePod() {
  PodNeeds needs = AnyNeeds();
  if (chaos_.Between(0, 2) == 0) needs.run_seconds = chaos_.Between(1, 20);
  Create(resources::kPods, Pod(AnyNamespace(), NewName("pod"), needs));
}

void Script::CreateSharers() {
  const std::string_view ns = AnyNamespace();
  const TemplateEntry& entry = kTemplates[chaos_.random().Below(kTemplates.size())];
  const std::string claim = NewName("shared");
  const auto create_claim = [&] {
    Create(resources::kResourceClaims,
           Claim(ns, claim, ClaimSpec(entry.device_class, entry.count, entry.exactly)));
  };
  const bool claim_first = chaos_.Between(0, 1) == 0;
  if (claim_first) create_claim();
  for (int i = chaos_.Between(1, 3); i > 0; --i) {
    Create(resources::kPods, Pod(ns, NewName("sharer"), {.claim_name = claim}));
  }
  if (!claim_first) create_claim();
}

void Script::CreateGang() {
  if (cluster_.options().feature_gates.empty()) return CreatePod();
  const std::string_view ns = AnyNamespace();
  const std::string group = NewName("gang");
  const int size = chaos_.Between(2, 3);
  PodNeeds needs = AnyNeeds();
  needs.group = group;
  needs.priority_class.clear();
  if (chaos_.Between(0, 1) == 0) Create(kPodGroups, PodGroup(ns, group, size));
  for (int i = 0; i < size; ++i) Create(resources::kPods, Pod(ns, NewName("member"), needs));
  if (cluster_.history().Get("podgroups", fmt::format("{}/{}", ns, group)).IsNull()) {
    Create(kPodGroups, PodGroup(ns, group, size));
  }
}

void Script::DeletePod() { Delete(resources::kPods, AnyOf("pods")); }
void Script::DeleteClaim() { Delete(resources::kResourceClaims, AnyOf("resourceclaims")); }

void Script::TaintDevices() {
  const std::string node = AnyOf("nodes");
  if (node.empty()) return;
  Create(resources::kDeviceTaintRules,
         FromYaml(fmt::format("{{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: "
                              "{{name: {}}}, spec: {{deviceSelector: {{driver: gpu.nvidia.com, "
                              "pool: {}}}, taint: {{key: test/broken, effect: {}}}}}}}",
                              NewName("rule"), node,
                              chaos_.Between(0, 1) == 0 ? "NoSchedule" : "NoExecute")));
}

void Script::UntaintDevices() { Delete(resources::kDeviceTaintRules, AnyOf("devicetaintrules")); }

void Script::PatchNode(std::string_view name, std::string_view yaml) {
  if (name.empty()) return;
  cluster_.Write(
      client::PatchRequest(resources::kNodes, "", name, client::PatchType::kMerge, FromYaml(yaml)),
      fmt::format("node {}: {}", name, yaml));
}

void Script::CordonNode() { PatchNode(AnyOf("nodes"), "spec: {unschedulable: true}"); }
void Script::TaintNode() {
  PatchNode(AnyOf("nodes"), fmt::format("spec: {{taints: [{{key: test/away, effect: {}}}]}}",
                                        chaos_.Between(0, 1) == 0 ? "NoSchedule" : "NoExecute"));
}
void Script::HealNode() { PatchNode(AnyOf("nodes"), "spec: {unschedulable: false, taints: null}"); }
void Script::DeleteNode() { Delete(resources::kNodes, AnyOf("nodes")); }

void Script::ChangeQuota() {
  const Value quota =
      Quota("team-a", chaos_.Between(2, 8), chaos_.Between(1, 5), chaos_.Between(2, 10));
  cluster_.Write(
      client::PatchRequest(resources::kResourceQuotas, "team-a", "limit", client::PatchType::kMerge,
                           Value::Object({{"spec", quota["spec"]}})),
      "change the quota");
}

void Script::RestartRole() {
  const Role role = AnyRole();
  chaos_.Note(fmt::format("restart {}", NameOf(role)));
  cluster_.StopRole(role);
  cluster_.StartRole(role);
}

void Script::StopRole() {
  const Role role = AnyRole();
  chaos_.Note(fmt::format("stop {}", NameOf(role)));
  cluster_.StopRole(role);
  cluster_.RunFor(chaos_.Milliseconds(1, 60'000));
  chaos_.Note(fmt::format("start {}", NameOf(role)));
  cluster_.StartRole(role);
}

void Script::StallRole() {
  const Role role = AnyRole();
  const Duration duration = chaos_.Milliseconds(1, 20'000);
  chaos_.Note(fmt::format("{} stands still for {} ms", NameOf(role),
                          std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()));
  cluster_.ExecutorOf(role)->StandStill(duration);
}

void Script::JumpClock() {
  const Role role = AnyRole();
  const int seconds = chaos_.Between(-600, 600);
  chaos_.Note(fmt::format("the clock of {} is off by {} s", NameOf(role), seconds));
  cluster_.ExecutorOf(role)->SetSkew(std::chrono::seconds(seconds));
  farthest_skew_ = std::max<Duration>(farthest_skew_, std::chrono::seconds(seconds));
}

void Script::LoseApi() {
  const Duration duration = chaos_.Milliseconds(100, 15'000);
  chaos_.Note(fmt::format("the API server is away for {} ms",
                          std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()));
  chaos_.TakeApiDown(duration);
  cluster_.CutWatches({.code = Code::kUnavailable, .message = "connection refused"});
}

void Script::CutWatches() {
  const bool expired = chaos_.Between(0, 1) == 0;
  chaos_.Note(expired ? "all watches end: 410" : "all watches end");
  cluster_.CutWatches(
      {.code = expired ? Code::kExpired : Code::kUnavailable, .message = "the connection is gone"});
}

void Script::ChangeRates() {
  const int storm = chaos_.Between(0, 3);  // 0: calm
  chaos_.Note(fmt::format("faults at level {}", storm));
  chaos_.SetRates({.refuse = 30 * storm,
                   .lose = 20 * storm,
                   .delay = 40 * storm,
                   .cut = 5 * storm,
                   .expire = 300,
                   .lag = 50 * storm,
                   .duplicate = 20 * storm,
                   .prepare = 60 * storm});
}

void Script::EndFaults() {
  chaos_.Note("no more faults");
  chaos_.Calm();
  for (std::size_t i = 0; i < kRoles; ++i) {
    const Role role = static_cast<Role>(i);
    cluster_.StartRole(role);
    cluster_.ExecutorOf(role)->SetSkew({});
  }
  // Nodes that were deleted come back with their kubelets.
  cluster_.StopRole(Role::kNodes);
  cluster_.StartRole(Role::kNodes);
  // What was to happen at some time by a clock that was fast.
  cluster_.RunFor(std::exchange(farthest_skew_, {}));
}

void Script::DeleteEvery(const client::Resource& resource) {
  std::vector<std::string> keys;
  for (const auto& [key, object] : cluster_.history().Of(resource.plural)) keys.push_back(key);
  for (const std::string& key : keys) Delete(resource, key);
}

void Script::DeleteAll() {
  chaos_.Note("delete everything");
  for (const auto& [name, node] : cluster_.history().Of("nodes")) {
    PatchNode(name, "spec: {unschedulable: false, taints: null}");
  }
  for (const client::Resource& resource :
       {resources::kDeviceTaintRules, resources::kDeployments, kJobs, kPodGroups, resources::kPods,
        resources::kResourceClaims}) {
    DeleteEvery(resource);
  }
}

}  // namespace drachma::simulation
