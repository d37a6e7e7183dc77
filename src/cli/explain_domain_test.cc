#include "cli/explain_domain.h"

#include <gtest/gtest.h>

#include "json/yaml.h"

namespace drachma::cli {
namespace {

using json::Value;

Value Read(std::string_view yaml) { return json::ReadYamlValue(yaml).value(); }

class ExplainDomainTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Why() const { return WhyChannelWaits(pod_, around_); }

  Value pod_ = Read("{metadata: {name: p, namespace: team}, spec: {nodeName: n1}}");
  DomainSurroundings around_{
      .claims = {Read("status: {allocation: {devices: {config: [{opaque: {driver: "
                      "compute-domain.nvidia.com, parameters: {kind: ComputeDomainChannelConfig, "
                      "domainID: uid-1}}}]}}}")},
      .domains = {Read("metadata: {name: mnnvl, namespace: team, uid: uid-1}"),
                  Read("metadata: {name: other, namespace: team, uid: uid-2}")},
      .cliques = {},
      .daemons = {},
      .node = Read("metadata: {name: n1, labels: {resource.nvidia.com/computeDomain: uid-1}}")};
};

TEST_F(ExplainDomainTest, APodWithoutAChannelWaitsForNoDomain) {
  around_.claims = {Read("status: {allocation: {devices: {}}}")};
  EXPECT_EQ(Why(), "");
}

TEST_F(ExplainDomainTest, ADaemonThatIsNotThereYet) {
  EXPECT_EQ(Why(), "waits for ComputeDomain team/mnnvl: no daemon of it runs on node n1 yet");
}

TEST_F(ExplainDomainTest, ADaemonThatIsNotReady) {
  around_.daemons = {
      Read("{metadata: {name: d, namespace: driver, labels: {resource.nvidia.com/computeDomain: "
           "uid-1}}, spec: {nodeName: n1}, status: {phase: Pending}}")};
  EXPECT_EQ(Why(),
            "waits for ComputeDomain team/mnnvl: its daemon on node n1, pod driver/d, is "
            "Pending and not ready");
}

TEST_F(ExplainDomainTest, ADaemonThatFoundNoPlaceInItsClique) {
  around_.daemons = {
      Read("{metadata: {name: d, namespace: driver, labels: {resource.nvidia.com/computeDomain: "
           "uid-1}}, spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, "
           "status: 'True'}]}}")};
  EXPECT_EQ(Why(),
            "waits for ComputeDomain team/mnnvl: its daemon on node n1, pod driver/d, has "
            "not registered");
}

TEST_F(ExplainDomainTest, ANodeOfAnotherDomain) {
  around_.node = Read("metadata: {labels: {resource.nvidia.com/computeDomain: uid-2}}");
  EXPECT_EQ(Why(),
            "waits for ComputeDomain team/mnnvl: node n1 is one of ComputeDomain team/other");
}

TEST_F(ExplainDomainTest, ADomainOfAnotherNamespaceOrOfNone) {
  pod_ = Read("{metadata: {name: p, namespace: default}, spec: {nodeName: n1}}");
  EXPECT_EQ(Why(), "waits for ComputeDomain team/mnnvl, which is of another namespace");
  around_.domains.clear();
  EXPECT_EQ(Why(), "waits for ComputeDomain uid-1, which does not exist");
}

TEST_F(ExplainDomainTest, ARegisteredDaemonHoldsNoPodUp) {
  around_.cliques = {
      Read("{metadata: {labels: {resource.nvidia.com/computeDomain: uid-1}}, daemons: [{nodeName: "
           "n1, status: Ready}]}")};
  EXPECT_EQ(Why(), "");
}

}  // namespace
}  // namespace drachma::cli
