#include "cli/drain_target.h"

#include <gtest/gtest.h>

#include "json/yaml.h"

namespace drachma::cli {
namespace {

using json::Value;

std::vector<Value> Read(std::string_view yaml) {
  std::vector<Value> values;
  const std::vector<json::YamlDocument> documents = json::ReadYaml(yaml).value();
  for (const json::YamlDocument& document : documents) {
    values.push_back(document.value);
  }
  return values;
}

std::vector<Value> Slices() {
  return Read(R"(
spec: {driver: gpu.nvidia.com, nodeName: "n0", pool: {name: n0}, devices: [{name: gpu-0}, {name: gpu-1}]}
---
spec: {driver: gpu.nvidia.com, nodeName: n1, pool: {name: n1}, devices: [{name: gpu-0}]}
---
spec: {driver: net.example.com, nodeName: "n0", pool: {name: rack/a}, devices: [{name: nic-0}]}
---
spec: {driver: net.example.com, nodeName: n1, pool: {name: rack/a}, devices: [{name: nic-1}]}
---
spec:
  driver: net.example.com
  perDeviceNodeSelection: true
  pool: {name: fabric}
  devices: [{name: port-0, nodeName: "n0"}, {name: port-1, nodeName: n1}]
)");
}

std::string Found(std::string_view text) {
  const auto target = FindDrainTarget(text, Slices());
  return target ? target->driver + "|" + target->pool + "|" + target->device
                : target.error().message;
}

TEST(DrainTarget, NamesOfPoolsMayHaveSlashes) {
  EXPECT_EQ(Found("gpu.nvidia.com/n0/gpu-1"), "gpu.nvidia.com|n0|gpu-1");
  EXPECT_EQ(Found("gpu.nvidia.com/n0"), "gpu.nvidia.com|n0|");
  EXPECT_EQ(Found("net.example.com/rack/a"), "net.example.com|rack/a|");
  EXPECT_EQ(Found("net.example.com/rack/a/nic-0"), "net.example.com|rack/a|nic-0");
}

TEST(DrainTarget, UnknownOnesAreToldTheNearest) {
  EXPECT_EQ(Found("gpu.nvidia.com/n0/gpu-7"),
            "there is no device gpu.nvidia.com/n0/gpu-7; did you mean gpu.nvidia.com/n0/gpu-0?");
  EXPECT_EQ(Found("gpu.nvidia.com/n0/mig-of-another-sort"),
            "there is no device gpu.nvidia.com/n0/mig-of-another-sort; there are "
            "gpu.nvidia.com/n0/gpu-0, gpu.nvidia.com/n0/gpu-1, gpu.nvidia.com/n1/gpu-0, "
            "net.example.com/fabric/port-0, net.example.com/fabric/port-1, "
            "net.example.com/rack/a/nic-0, net.example.com/rack/a/nic-1");
  EXPECT_EQ(Found("gpu-0"),
            "\"gpu-0\" is no device: want DRIVER/POOL/DEVICE, or DRIVER/POOL for all devices of a "
            "pool");
}

TEST(DrainTarget, ANodeIsItsPoolsAndItsPartOfOthers) {
  std::vector<std::string> texts;
  const std::vector<DrainTarget> targets = DrainTargetsOfNode("n0", Slices()).value();
  for (const DrainTarget& target : targets) {
    texts.push_back(target.Text());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"gpu.nvidia.com/n0", "net.example.com/rack/a/nic-0",
                                             "net.example.com/fabric/port-0"}));
  EXPECT_EQ(DrainTargetsOfNode("n00", Slices()).error().message,
            "node n00 has no devices of its own; did you mean n0?");
}

TEST(DrainTarget, RulesHaveNamesThatNoOtherTargetHas) {
  const std::string pool = DrainRuleName({"d", "a/b", ""});
  EXPECT_EQ(pool, "drain-d-a-b-382caf86");
  EXPECT_NE(pool, DrainRuleName({"d", "a-b", ""}));
  EXPECT_LE(DrainRuleName({"d", std::string(250, 'p'), ""}).size(), 253U);
}

TEST(DrainTarget, AToleranceWithoutEndKeepsTheHolder) {
  const std::vector<Value> claims = Read(R"(
metadata: {namespace: b, name: stays}
status:
  allocation: {devices: {results: [{driver: d, pool: p, device: x, tolerations: [{operator: Exists, effect: NoExecute}]}]}}
---
metadata: {namespace: a, name: goes}
status:
  reservedFor: [{resource: pods, name: web, uid: u}, {resource: podgroups, apiGroup: scheduling.k8s.io, name: g, uid: v}]
  allocation:
    devices:
      results:
      - {driver: d, pool: p, device: z, tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 60}]}
      - {driver: d, pool: other, device: z}
---
metadata: {namespace: a, name: elsewhere}
status: {allocation: {devices: {results: [{driver: d, pool: other, device: x}]}}}
)");
  const std::vector<DrainTarget> pool = {{"d", "p", ""}};
  const auto holders = DrainHoldersOf(pool, claims, "NoExecute");
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].claim, "a/goes");
  EXPECT_EQ(holders[0].devices, std::vector<std::string>{"d/p/z"});
  EXPECT_EQ(holders[0].pods, (std::vector<std::string>{"web", "podgroups/g"}));
  EXPECT_FALSE(holders[0].tolerates);
  EXPECT_TRUE(holders[1].tolerates);
}

}  // namespace
}  // namespace drachma::cli
