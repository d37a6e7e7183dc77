#include "gpu/compute_domain_agent.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "client/fake_client.h"
#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "controllers/controller_set.h"

namespace drachma::gpu {
namespace {

using namespace controllers::compute_domain;  // NOLINT: the names of the agent's subject
using json::Value;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace resources = client::resources;

constexpr std::string_view kWorld = R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: mnnvl, namespace: team, uid: uid-1}
---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: other, namespace: team, uid: uid-2}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
)";

class ComputeDomainAgentTest : public testing::Test {
 protected:
  ComputeDomainAgentTest() : client_(api_.factory().NewClient(executor_, "test")) {
    for (Value definition : Definitions()) {
      definition.Edit("status").Set(
          "conditions",
          Value::Array({Value::Object({{"type", "Established"}, {"status", "True"}})}));
      api_.Put(std::move(definition));
    }
    api_.Apply(kWorld);
    Start();
  }

  void Start() {
    set_.reset();
    host_ = std::make_unique<controllers::Host>(executor_.clock(), 1);
    host_->feature_gates = gates_;
    const std::vector<controllers::ControllerEntry> entries = {
        {.name = "compute-domains",
         .component = "compute-domain-daemon",
         .make = [this](controllers::Host& host) {
           return std::make_unique<ComputeDomainAgent>(host, nullptr, link_);
         }}};
    set_ = std::make_unique<controllers::ControllerSet>(entries, *host_, *client_);
    set_->Start();
    for (const char* node : {"n1", "n2"}) link_->membership->AddNode(node, "rack-1.0");
    Run();
  }
  void Run(Duration time = std::chrono::seconds(2)) {
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});
    while (executor_.RunOne(end)) {
    }
  }
  // A claim of namespace `ns` joins; where the answer will be.
  std::shared_ptr<std::optional<Status>> Join(std::string_view node, std::string_view claim,
                                              std::string_view domain = "uid-1",
                                              std::string_view ns = "team") {
    auto answer = std::make_shared<std::optional<Status>>();
    link_->membership->Join({.node = std::string(node),
                             .claim_uid = std::string(claim),
                             .claim_ns = std::string(ns),
                             .domain = std::string(domain)},
                            [answer](Status joined) { *answer = std::move(joined); });
    Run();
    return answer;
  }
  void Leave(const std::string& node, std::string_view claim) {
    link_->membership->Leave(node, claim);
    Run();
  }
  // The daemon that the DaemonSet brings to a labelled node.
  void StartDaemon(std::string_view node, std::string_view ready = "True", int most = 18) {
    api_.Apply(fmt::format(
        R"(
apiVersion: v1
kind: Pod
metadata: {{name: daemon-{0}, namespace: dra-driver-nvidia-gpu, labels: {{resource.nvidia.com/computeDomain: uid-1}}}}
spec: {{nodeName: {0}, containers: [{{name: c, env: [{{name: MAX_NODES_PER_IMEX_DOMAIN, value: "{2}"}}]}}]}}
status: {{phase: Running, podIP: 10.0.0.{3}, conditions: [{{type: Ready, status: "{1}"}}]}}
)",
        node, ready, most, node.substr(1)));
    Run();
  }
  void StopDaemon(std::string_view node) {
    api_.Remove(resources::kPods, kNamespace, fmt::format("daemon-{}", node));
    Run();
  }
  [[nodiscard]] std::string LabelOf(std::string_view node) const {
    return std::string(client::LabelOf(api_.Get(resources::kNodes, "", node), kLabel));
  }
  // "n1=0 Ready n2=1 NotReady".
  [[nodiscard]] std::string Daemons() const {
    std::string text;
    const Value clique = api_.Get(kCliques, kNamespace, "uid-1.rack-1.0");
    for (const Value& daemon : clique["daemons"].Items()) {
      text += fmt::format("{}{}={} {}", text.empty() ? "" : " ", daemon["nodeName"].AsString(),
                          daemon["index"].AsInt(), daemon["status"].AsString());
    }
    return text;
  }

  std::map<std::string, bool> gates_;
  client::FakeApi api_;
  VirtualExecutor executor_{ParseTime("2026-11-30T10:00:00Z").value()};
  std::unique_ptr<client::Client> client_;
  std::shared_ptr<DomainLink> link_ = std::make_shared<DomainLink>();
  std::unique_ptr<controllers::Host> host_;
  std::unique_ptr<controllers::ControllerSet> set_;
};

TEST_F(ComputeDomainAgentTest, AClaimLabelsItsNodeAndWaitsForTheDaemon) {
  const auto joined = Join("n1", "claim");
  EXPECT_EQ(LabelOf("n1"), "uid-1");
  EXPECT_FALSE(*joined);
  StartDaemon("n1", "False");
  EXPECT_EQ(Daemons(), "n1=0 NotReady");
  EXPECT_FALSE(*joined);
  StartDaemon("n1");
  EXPECT_EQ(Daemons(), "n1=0 Ready");
  ASSERT_TRUE(*joined);
  EXPECT_TRUE(**joined);
  const Value clique = api_.Get(kCliques, kNamespace, "uid-1.rack-1.0");
  EXPECT_EQ(clique["metadata"]["labels"],
            Value::Object({{kLabel, "uid-1"}, {kCliqueLabel, "rack-1.0"}}));
  EXPECT_THAT(clique["metadata"]["ownerReferences"].Items(), SizeIs(1));
}

TEST_F(ComputeDomainAgentTest, ADaemonThatDoesNotComeIsToldInTheEnd) {
  const auto joined = Join("n1", "claim");
  Run(ComputeDomainAgent::kJoinTimeout);
  ASSERT_TRUE(*joined);
  EXPECT_EQ((*joined)->error().message,
            "error asserting ComputeDomain Ready: current node not ready in ComputeDomain");
  EXPECT_EQ(LabelOf("n1"), "uid-1") << "the next try finds the daemon on its way";
}

TEST_F(ComputeDomainAgentTest, AClaimOfAnotherNamespaceIsRefusedAtOnce) {
  const auto joined = Join("n1", "claim", "uid-1", "default");
  ASSERT_TRUE(*joined);
  EXPECT_THAT((*joined)->error().message,
              HasSubstr("the ResourceClaim's namespace is different than the ComputeDomain's"));
  EXPECT_EQ(LabelOf("n1"), "");
}

TEST_F(ComputeDomainAgentTest, ADomainThatIsNotThereIsToldSoon) {
  const auto joined = Join("n1", "claim", "uid-9");
  Run(ComputeDomainAgent::kFindTimeout);
  ASSERT_TRUE(*joined);
  EXPECT_THAT((*joined)->error().message, HasSubstr("ComputeDomain not found: uid-9"));
}

TEST_F(ComputeDomainAgentTest, ANodeIsOfOneDomainAtATime) {
  Join("n1", "first");
  StartDaemon("n1");
  const auto late = Join("n1", "second", "uid-2");
  Run(ComputeDomainAgent::kJoinTimeout);
  ASSERT_TRUE(*late);
  EXPECT_THAT((*late)->error().message, HasSubstr("label already exists for a different"));
  const auto again = Join("n1", "second", "uid-2");
  EXPECT_EQ(LabelOf("n1"), "uid-1");
  Leave("n1", "first");
  EXPECT_EQ(LabelOf("n1"), "uid-2") << "the next one's turn";
}

TEST_F(ComputeDomainAgentTest, TheLabelGoesWithTheLastClaim) {
  Join("n1", "first");
  Join("n1", "second");
  Leave("n1", "first");
  EXPECT_EQ(LabelOf("n1"), "uid-1");
  Leave("n1", "second");
  EXPECT_EQ(LabelOf("n1"), "");
}

TEST_F(ComputeDomainAgentTest, AfterARestartALabelWaitsForItsClaim) {
  Join("n1", "claim");
  Join("n2", "gone");
  StartDaemon("n1");
  Start();
  EXPECT_TRUE(**Join("n1", "claim"));
  Run(ComputeDomainAgent::kOrphanDelay);
  EXPECT_EQ(LabelOf("n1"), "uid-1");
  EXPECT_EQ(LabelOf("n2"), "") << "nobody claims it any more";
}

TEST_F(ComputeDomainAgentTest, WithDaemonsOfTheHostNothingIsWaitedFor) {
  gates_ = {{kHostManagedGate, true}};
  Start();
  const auto joined = Join("n1", "claim");
  ASSERT_TRUE(*joined);
  EXPECT_TRUE(**joined);
  EXPECT_EQ(LabelOf("n1"), "");
  EXPECT_FALSE(**Join("n1", "other", "uid-1", "default")) << "namespaces count all the same";
}

TEST_F(ComputeDomainAgentTest, IndexesFillGapsAndStayWithTheirNode) {
  Join("n1", "a");
  Join("n2", "b");
  StartDaemon("n1");
  StartDaemon("n2");
  EXPECT_EQ(Daemons(), "n1=0 Ready n2=1 Ready");
  StopDaemon("n1");
  EXPECT_EQ(Daemons(), "n1=0 NotReady n2=1 Ready") << "it is on its way back";
  StartDaemon("n1");
  EXPECT_EQ(Daemons(), "n1=0 Ready n2=1 Ready");
  Leave("n1", "a");
  StopDaemon("n1");
  EXPECT_EQ(Daemons(), "n2=1 Ready");
  Join("n1", "c");
  StartDaemon("n1");
  EXPECT_EQ(Daemons(), "n2=1 Ready n1=0 Ready");
}

TEST_F(ComputeDomainAgentTest, AFullCliqueTakesNoMore) {
  Join("n1", "a");
  const auto joined = Join("n2", "b");
  StartDaemon("n1", "True", 1);
  StartDaemon("n2", "True", 1);
  EXPECT_EQ(Daemons(), "n1=0 Ready");
  EXPECT_FALSE(*joined);
  std::vector<std::string> events;
  for (const Value& event : api_.List({"", "v1", "events"})) {
    events.emplace_back(event["message"].AsString());
  }
  EXPECT_THAT(events, Contains("no available indices within maxNodesPerIMEXDomain (1)"));
}

TEST_F(ComputeDomainAgentTest, DaemonsOfOtherProcessesStayInTheClique) {
  Join("n1", "a");
  api_.Apply(R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomainClique
metadata: {name: uid-1.rack-1.0, namespace: dra-driver-nvidia-gpu}
daemons: [{nodeName: far, ipAddress: 10.9.9.9, cliqueID: rack-1.0, index: 0, status: Ready}]
)");
  // Another daemon registers in the moment of our write.
  bool raced = false;
  api_.OnRequest([&](const client::Request& request) {
    if (raced || request.verb != client::Verb::kUpdate || request.resource != kCliques) return;
    raced = true;
    api_.Change(kCliques, kNamespace, "uid-1.rack-1.0", [](Value& clique) {
      clique.Edit("daemons").Append(Value::Object({{"nodeName", "near"},
                                                   {"ipAddress", "10.9.9.8"},
                                                   {"cliqueID", "rack-1.0"},
                                                   {"index", 1},
                                                   {"status", "Ready"}}));
    });
  });
  StartDaemon("n1");
  EXPECT_EQ(Daemons(), "far=0 Ready near=1 Ready n1=2 Ready");
}

TEST_F(ComputeDomainAgentTest, WithoutAFabricTheStatusOfTheDomainCounts) {
  link_->membership->RemoveNode("n1");
  link_->membership->AddNode("n1", "");
  const auto joined = Join("n1", "claim");
  StartDaemon("n1");
  const Value pod = api_.Get(resources::kPods, kNamespace, "daemon-n1");
  ASSERT_NE(pod["metadata"]["labels"].Find(kCliqueLabel), nullptr);
  EXPECT_EQ(client::LabelOf(pod, kCliqueLabel), "");
  EXPECT_THAT(api_.List(kCliques), IsEmpty());
  EXPECT_FALSE(*joined);
  api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
    domain.Edit("status").Set("nodes",
                              Value::Array({Value::Object({{"name", "n1"}, {"status", "Ready"}})}));
  });
  Run();
  ASSERT_TRUE(*joined);
  EXPECT_TRUE(**joined);
}

}  // namespace
}  // namespace drachma::gpu
