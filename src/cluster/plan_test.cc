#include "cluster/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "json/json.h"

namespace drachma::cluster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string CasesFolder() { return std::string(DRACHMA_SOURCE_DIR) + "/tests/plan"; }

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(CasesFolder())) {
    cases.push_back(entry.path().filename());
  }
  std::ranges::sort(cases);
  return cases;
}

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

PlanOutcome PlanOf(std::vector<Manifest> manifests, WhatIf what_if = {}) {
  PlanOptions options{.manifests = std::move(manifests),
                      .start = Time(std::chrono::hours(500'000))};
  options.what_if = std::move(what_if);
  return MakePlan(std::move(options)).value();
}

// "p=RUN:n1:gpu=gpu-0+gpu-1,nic=nic-0", "p=WAIT".
std::string LineOf(const PlannedPod& pod) {
  if (pod.phase == "Pending") return pod.name + "=WAIT";
  std::vector<std::pair<std::string, std::string>> requests;
  for (const PlannedClaim& claim : pod.claims) {
    for (const PlannedDevice& device : claim.devices) {
      if (!requests.empty() && requests.back().first == device.request) {
        requests.back().second += "+" + device.device;
      } else {
        requests.emplace_back(device.request, device.device);
      }
    }
  }
  std::string line =
      fmt::format("{}={}:{}", pod.name, pod.phase == "Evicted" ? "EVICTED" : "RUN", pod.node);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    line += fmt::format("{}{}={}", i == 0 ? ":" : ",", requests[i].first, requests[i].second);
  }
  return line;
}

// A line "warning OBJECT WORD…" asks for a warning event on the object that holds all words.
bool HasWarning(const Plan& plan, const std::string& line) {
  std::istringstream words(line);
  std::string word;
  std::string object;
  words >> word >> object;
  std::vector<std::string> wanted;
  while (words >> word) wanted.push_back(word);
  return std::ranges::any_of(plan.events, [&](const PlannedEvent& event) {
    return event.type == "Warning" && event.object == object &&
           std::ranges::all_of(wanted, [&](const std::string& w) {
             return event.message.find(w) != std::string::npos;
           });
  });
}

class PlanGolden : public testing::TestWithParam<std::string> {};

TEST_P(PlanGolden, EveryPodGoesWhereTheCaseSays) {
  const std::string folder = CasesFolder() + "/" + GetParam();
  const Plan plan = PlanOf(LoadManifests({folder + "/input.yaml"}).value()).plan;
  std::string lines;
  for (const PlannedPod& pod : plan.pods) lines += LineOf(pod) + "\n";
  std::istringstream expected(ReadFile(folder + "/expected.txt"));
  std::string wanted;
  for (std::string line; std::getline(expected, line);) {
    if (!line.starts_with("warning ")) {
      wanted += line + "\n";
    } else {
      EXPECT_TRUE(HasWarning(plan, line)) << line;
    }
  }
  EXPECT_EQ(lines, wanted);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Cases, PlanGolden, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

constexpr std::string_view kOneGpu = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
      resourceClaims: [{name: g, resourceClaimTemplateName: one}]
)";

TEST(Plan, WithoutNodesTheDefaultFleetServes) {
  const Plan plan = PlanOf(ParseManifests(kOneGpu, "f").value()).plan;
  ASSERT_THAT(plan.pods, SizeIs(2));
  std::set<std::string> devices;
  for (const PlannedPod& pod : plan.pods) {
    EXPECT_EQ(pod.phase, "Scheduled") << pod.reason;
    ASSERT_THAT(pod.claims, SizeIs(1));
    devices.insert(pod.claims[0].devices[0].pool + "/" + pod.claims[0].devices[0].device);
  }
  EXPECT_THAT(devices, SizeIs(2));
}

constexpr std::string_view kRacks = R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: ring}
spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: ring}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ring}
spec:
  replicas: 2
  selector: {matchLabels: {app: ring}}
  template:
    metadata: {labels: {app: ring}}
    spec:
      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: nvidia.com/gpu.clique, labelSelector: {matchLabels: {app: ring}}}]}}
      containers: [{name: c, image: i, resources: {claims: [{name: channel}]}}]
      resourceClaims: [{name: channel, resourceClaimTemplateName: ring}]
)";

// A node with GPUs of the fabric "<rack>.0".
std::string NodeOfRack(std::string_view name, std::string_view rack) {
  return fmt::format(R"(
---
apiVersion: v1
kind: Node
metadata: {{name: {}, labels: {{nvidia.com/gpu.clique: {}.0}}, annotations: {{drachma.dev/simulated-gpu: GB200-186GB x4}}}}
status: {{allocatable: {{cpu: "8", memory: 8Gi, pods: "10"}}}}
)",
                     name, rack);
}

TEST(Plan, WorkersOfAComputeDomainStartBesideTheirDaemons) {
  std::string text(kRacks);
  for (const char* node : {"a1", "a2", "b1", "b2"}) text += NodeOfRack(node, {node, 1});
  const Plan plan = PlanOf(ParseManifests(text, "f").value()).plan;
  EXPECT_THAT(plan.warnings, IsEmpty());
  std::set<std::string> workers;
  std::set<std::string> daemons;
  for (const PlannedPod& pod : plan.pods) {
    EXPECT_EQ(pod.phase, "Scheduled") << pod.name << ": " << pod.reason;
    (pod.ns == "default" ? workers : daemons).insert(pod.node);
  }
  ASSERT_THAT(workers, SizeIs(2));
  EXPECT_EQ(workers.begin()->front(), workers.rbegin()->front()) << "one rack";
  EXPECT_EQ(daemons, workers);
}

TEST(Plan, APodWhoseDriverRefusesItsConfigSaysSo) {
  PlanOptions options{
      .manifests = LoadManifests({DRACHMA_SOURCE_DIR "/examples/mps.yaml"}).value(),
      .fleet = FindFleet("mig-h100").value(),
      .start = Time(std::chrono::hours(500'000))};
  const Plan plan = MakePlan(std::move(options)).value().plan;
  ASSERT_THAT(plan.pods, SizeIs(3));
  for (const PlannedPod& pod : plan.pods) {
    EXPECT_EQ(pod.phase, "Scheduled");
    EXPECT_THAT(pod.reason, testing::StartsWith("does not start: Failed to prepare"));
  }
}

TEST(Plan, WithDaemonsOfTheHostThereAreWorkersAlone) {
  const std::string text = std::string(kRacks) + NodeOfRack("a1", "a") + NodeOfRack("a2", "a");
  PlanOptions options{.manifests = ParseManifests(text, "f").value(),
                      .feature_gates = {{"HostManagedIMEXDaemon", true}},
                      .start = Time(std::chrono::hours(500'000))};
  const Plan plan = MakePlan(std::move(options)).value().plan;
  EXPECT_THAT(plan.pods, SizeIs(2));
  for (const PlannedPod& pod : plan.pods) EXPECT_EQ(pod.phase, "Scheduled") << pod.reason;
}

TEST(Plan, ADumpedComputeDomainGoesOnUnderItsNewUid) {
  std::string text(kRacks);
  text.insert(text.find("name: ring}") + 10, ", uid: 11111111-2222-3333-4444-555555555555");
  text += NodeOfRack("a1", "a") + NodeOfRack("a2", "a") + R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: ring, labels: {resource.nvidia.com/computeDomain: 11111111-2222-3333-4444-555555555555, resource.nvidia.com/computeDomainTarget: Workload}}
spec:
  spec:
    devices:
      requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]
      config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: 11111111-2222-3333-4444-555555555555}}}]
)";
  const Plan plan = PlanOf(ParseManifests(text, "f").value()).plan;
  EXPECT_THAT(plan.pods, SizeIs(4)) << "two workers and their daemons";
  for (const PlannedEvent& event : plan.events) EXPECT_EQ(event.type, "Normal") << event.message;
}

constexpr std::string_view kOnItsNode = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeName: NODE
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: TEMPLATE}]
)";

// One pod that names its node itself and wants a claim of `claim_template`.
Plan PlanOnItsNode(std::string_view claim_template) {
  std::string text(kOnItsNode);
  text.replace(text.find("TEMPLATE"), std::string_view("TEMPLATE").size(), claim_template);
  const std::string node = NodesOf(BuiltInFleets().front()).front().name;
  text.replace(text.find("NODE"), std::string_view("NODE").size(), node);
  return PlanOf(ParseManifests(std::string(kOneGpu) + "---" + text, "f").value()).plan;
}

TEST(Plan, APodOnItsNodeWaitsForAClaimThatNobodyAllocates) {
  const Plan plan = PlanOnItsNode("one");
  const auto pod = std::ranges::find(plan.pods, "p", &PlannedPod::name);
  ASSERT_NE(pod, plan.pods.end());
  EXPECT_EQ(pod->phase, "Pending");
  EXPECT_THAT(pod->reason, HasSubstr("which is not allocated"));
  EXPECT_TRUE(HasWarning(plan, "warning Pod/default/p is not allowed to use ResourceClaim"));
}

TEST(Plan, APodOnItsNodeWaitsForATemplateThatDoesNotExist) {
  const Plan plan = PlanOnItsNode("missing");
  const auto pod = std::ranges::find(plan.pods, "p", &PlannedPod::name);
  ASSERT_NE(pod, plan.pods.end());
  EXPECT_EQ(pod->phase, "Pending");
  EXPECT_EQ(pod->reason, "waits for its ResourceClaim from template missing");
  EXPECT_TRUE(HasWarning(plan, "warning Pod/default/p ResourceClaim not created yet"));
}

TEST(Plan, TheSameInputGivesTheSamePlan) {
  const auto once = [] {
    return json::Write(ToJson(PlanOf(ParseManifests(kOneGpu, "f").value()).plan));
  };
  EXPECT_EQ(once(), once());
}

TEST(Plan, AnObjectThatIsRefusedIsNamedWithItsPlace) {
  PlanOptions options{.manifests =
                          ParseManifests("---\napiVersion: v1\nkind: Pod\nmetadata: {name: "
                                         "p}\nspec: {containers: []}\n",
                                         "f.yaml")
                              .value()};
  const auto outcome = MakePlan(std::move(options));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("f.yaml:2: Pod/p: "));
}

TEST(Plan, WhatIfTellsWhatRemovingAPodFrees) {
  const std::string folder = CasesFolder() + "/03-same-pool-name-two-drivers/input.yaml";
  WhatIf what_if;
  what_if.remove = {"pod/old"};
  const PlanOutcome outcome = PlanOf(LoadManifests({folder}).value(), std::move(what_if));
  ASSERT_TRUE(outcome.what_if);
  const auto scheduled = [](const Plan& plan) {
    return std::ranges::count(plan.pods, "Scheduled", &PlannedPod::phase);
  };
  EXPECT_EQ(scheduled(outcome.plan), 2);      // old, p-b
  EXPECT_EQ(scheduled(*outcome.what_if), 2);  // p-b, and one of p-ba and p-ab
}

}  // namespace
}  // namespace drachma::cluster
