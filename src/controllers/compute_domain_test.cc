#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/executor.h"
#include "client/fake_client.h"
#include "client/objects.h"
#include "controllers/compute_domain_controller.h"
#include "controllers/compute_domain_kinds.h"
#include "controllers/compute_domain_objects.h"
#include "controllers/controllers.h"
#include "json/yaml.h"

namespace drachma::controllers {
namespace {

using namespace compute_domain;  // NOLINT: the names of this controller's subject
using json::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace resources = client::resources;

const client::Resource kSets = {"apps", "v1", "daemonsets"};

constexpr std::string_view kDomain = R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: mnnvl, namespace: team, uid: uid-1}
spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: channel}}}
)";

// A node of the domain, with its daemon.
std::string NodeYaml(std::string_view name, std::string_view label = "uid-1") {
  return fmt::format(R"(
apiVersion: v1
kind: Node
metadata: {{name: {0}, labels: {{resource.nvidia.com/computeDomain: {1}}}}}
status: {{conditions: [{{type: Ready, status: "True"}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: daemon-{0}, namespace: dra-driver-nvidia-gpu, labels: {{resource.nvidia.com/computeDomain: {1}}}}}
spec: {{nodeName: {0}, containers: [{{name: c}}]}}
status: {{phase: Running, podIP: 10.0.0.1, conditions: [{{type: Ready, status: "True"}}]}}
)",
                     name, label);
}

constexpr std::string_view kClique = R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomainClique
metadata: {name: uid-1.rack-1.0, namespace: dra-driver-nvidia-gpu, labels: {resource.nvidia.com/computeDomain: uid-1}}
daemons:
- {nodeName: n2, ipAddress: 10.0.0.2, cliqueID: rack-1.0, index: 1, status: Ready}
- {nodeName: n1, ipAddress: 10.0.0.1, cliqueID: rack-1.0, index: 0, status: Ready}
)";

class ComputeDomainTest : public testing::Test {
 protected:
  ComputeDomainTest() {
    for (Value definition : Definitions()) {
      definition.Edit("status").Set(
          "conditions",
          Value::Array({Value::Object({{"type", "Established"}, {"status", "True"}})}));
      api_.Put(std::move(definition));
    }
  }

  // The controller from its start on, until nothing more is due within `time`, or for `steps`.
  void Run(Duration time = std::chrono::seconds(20), int steps = 1'000'000) {
    Controllers controllers(
        {.feature_gates = gates_, .only = {"compute-domain-controller"}, .seed = 1}, api_.factory(),
        executor_);
    controllers.Start();
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});
    for (int step = 0; step < steps && executor_.RunOne(end); ++step) {
    }
  }
  [[nodiscard]] Value Domain() const { return api_.Get(kDomains, "team", "mnnvl"); }
  [[nodiscard]] std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const Value& event : api_.List({"", "v1", "events"})) {
      events.push_back(
          fmt::format("{} {}", event["reason"].AsString(), event["message"].AsString()));
    }
    return events;
  }
  // Writes of the controller, "delete resourceclaimtemplates" and so on, events left out.
  [[nodiscard]] std::vector<std::string> Writes() const {
    std::vector<std::string> writes;
    for (const client::Request& request : api_.requests()) {
      const char* verb = request.verb == client::Verb::kCreate   ? "create"
                         : request.verb == client::Verb::kUpdate ? "update"
                         : request.verb == client::Verb::kPatch  ? "patch"
                         : request.verb == client::Verb::kDelete ? "delete"
                                                                 : nullptr;
      if (verb == nullptr || request.resource.plural == "events") continue;
      writes.push_back(fmt::format("{} {}", verb, request.resource.plural));
    }
    return writes;
  }

  std::map<std::string, bool> gates_;
  client::FakeApi api_;
  VirtualExecutor executor_{ParseTime("2026-11-30T10:00:00Z").value()};
};

TEST_F(ComputeDomainTest, WhatIsMadeOfADomain) {
  const Value domain = json::ReadYamlValue(kDomain).value();
  std::string text;
  for (const Value& made :
       {WorkloadTemplate(domain), DaemonTemplate(domain), DaemonSetOf(domain)}) {
    text += json::WriteYaml(made) + "---\n";
  }
  const std::string golden = DRACHMA_SOURCE_DIR "/tests/compute_domain/objects.yaml";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << text;
  std::ifstream file(golden);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

TEST_F(ComputeDomainTest, TheDefinitionsStandInDeploy) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/deploy/compute-domains.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = json::ReadYaml(text.str()).value();
  ASSERT_GE(documents.size(), Definitions().size());
  for (std::size_t i = 0; i < Definitions().size(); ++i) {
    EXPECT_EQ(documents[i].value, Definitions()[i]);
  }
}

TEST_F(ComputeDomainTest, ADomainGetsItsTemplatesAndItsDaemons) {
  api_.Apply(kDomain);
  Run();
  EXPECT_EQ(Domain()["metadata"]["finalizers"], Value::Array({kLabel}));
  EXPECT_EQ(api_.Get(resources::kResourceClaimTemplates, "team", "channel")["spec"],
            WorkloadTemplate(Domain())["spec"]);
  EXPECT_FALSE(
      api_.Get(resources::kResourceClaimTemplates, kNamespace, DaemonName("uid-1")).IsNull());
  EXPECT_FALSE(api_.Get(kSets, kNamespace, DaemonName("uid-1")).IsNull());
  EXPECT_FALSE(api_.Get(resources::kNamespaces, "", kNamespace).IsNull());
  EXPECT_FALSE(api_.Get(resources::kServiceAccounts, kNamespace, kDaemonAccount).IsNull());
  EXPECT_EQ(Domain()["status"]["status"].AsString(), "NotReady");
}

TEST_F(ComputeDomainTest, ADomainOfNoNodesIsReady) {
  api_.Apply(R"(
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: mnnvl, namespace: team, uid: uid-1}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: channel}}}
)");
  Run();
  EXPECT_EQ(Domain()["status"], Value::Object({{"status", "Ready"}}));
}

TEST_F(ComputeDomainTest, ATemplateOfSomebodyElseIsLeftAndTold) {
  api_.Apply(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: channel, namespace: team, labels: {mine: "yes"}}
)");
  api_.Apply(kDomain);
  Run();
  const Value found = api_.Get(resources::kResourceClaimTemplates, "team", "channel");
  EXPECT_EQ(client::LabelOf(found, "mine"), "yes");
  EXPECT_TRUE(client::LabelOf(found, kLabel).empty());
  EXPECT_THAT(Events(), Contains(HasSubstr("ResourceClaimTemplateExists ResourceClaimTemplate "
                                           "channel is not of this ComputeDomain")));
  EXPECT_EQ(Domain()["status"]["status"].AsString(), "NotReady");
  // It goes, and the domain gets its own.
  api_.Remove(resources::kResourceClaimTemplates, "team", "channel");
  Run();
  EXPECT_EQ(
      client::LabelOf(api_.Get(resources::kResourceClaimTemplates, "team", "channel"), kLabel),
      "uid-1");
}

TEST_F(ComputeDomainTest, TheStatusNamesTheNodesByCliqueAndIndex) {
  api_.Apply(kDomain);
  api_.Apply(NodeYaml("n1"));
  api_.Apply(NodeYaml("n2"));
  api_.Apply(kClique);
  Run();
  const Value expected = json::ReadYamlValue(R"(
status: Ready
nodes:
- {name: n1, ipAddress: 10.0.0.1, cliqueID: rack-1.0, index: 0, status: Ready}
- {name: n2, ipAddress: 10.0.0.2, cliqueID: rack-1.0, index: 1, status: Ready}
)")
                             .value();
  EXPECT_EQ(Domain()["status"], expected) << json::WriteYaml(Domain()["status"]);
}

TEST_F(ComputeDomainTest, ANodeWithoutAFabricIsKnownByItsPod) {
  api_.Apply(kDomain);
  api_.Apply(NodeYaml("n1"));
  api_.Change(resources::kPods, kNamespace, "daemon-n1",
              [](Value& pod) { pod.Edit("metadata").Edit("labels").Set(kCliqueLabel, ""); });
  Run();
  const Value& nodes = Domain()["status"]["nodes"];
  ASSERT_THAT(nodes.Items(), SizeIs(1));
  EXPECT_EQ(nodes.Items()[0]["index"].AsInt(), -1);
  EXPECT_EQ(nodes.Items()[0]["cliqueID"].AsString("x"), "");
  EXPECT_EQ(Domain()["status"]["status"].AsString(), "NotReady") << "one of two";
}

TEST_F(ComputeDomainTest, ANodeThatGoesMakesTheDomainNotReadyAndLeavesTheClique) {
  api_.Apply(kDomain);
  api_.Apply(NodeYaml("n1"));
  api_.Apply(NodeYaml("n2"));
  api_.Apply(kClique);
  Run();
  ASSERT_EQ(Domain()["status"]["status"].AsString(), "Ready");
  api_.Remove(resources::kNodes, "", "n2");
  Run();
  EXPECT_EQ(Domain()["status"]["status"].AsString(), "NotReady");
  EXPECT_THAT(Domain()["status"]["nodes"].Items(), SizeIs(1));
  EXPECT_THAT(api_.Get(kCliques, kNamespace, "uid-1.rack-1.0")["daemons"].Items(), SizeIs(1));
  EXPECT_THAT(Events(), Contains(HasSubstr("NotReady ")));
  // Another one comes in its place.
  api_.Apply(NodeYaml("n3"));
  api_.Change(kCliques, kNamespace, "uid-1.rack-1.0", [](Value& clique) {
    clique.Edit("daemons").Append(Value::Object({{"nodeName", "n3"},
                                                 {"ipAddress", "10.0.0.3"},
                                                 {"cliqueID", "rack-1.0"},
                                                 {"index", 1},
                                                 {"status", "Ready"}}));
  });
  Run();
  EXPECT_EQ(Domain()["status"]["status"].AsString(), "Ready");
}

TEST_F(ComputeDomainTest, DeletionTakesEverythingAwayInOrder) {
  api_.Apply(kDomain);
  Run();
  api_.Apply(NodeYaml("n1"));
  api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
    domain.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
  });
  api_.ForgetRequests();
  Run();
  EXPECT_THAT(Writes(), ElementsAre("delete resourceclaimtemplates", "delete daemonsets",
                                    "delete resourceclaimtemplates", "patch nodes",
                                    "update resourceclaimtemplates", "update daemonsets",
                                    "update resourceclaimtemplates", "update computedomains"));
  EXPECT_THAT(api_.List(resources::kResourceClaimTemplates), IsEmpty());
  EXPECT_THAT(api_.List(kSets), IsEmpty());
  EXPECT_THAT(api_.List(kDomains), IsEmpty());
  EXPECT_TRUE(client::LabelOf(api_.Get(resources::kNodes, "", "n1"), kLabel).empty());
}

TEST_F(ComputeDomainTest, AFinalizerOfSomebodyElseHoldsTheStepsBehindIt) {
  api_.Apply(kDomain);
  Run();
  api_.Change(resources::kResourceClaimTemplates, "team", "channel", [](Value& made) {
    made.Edit("metadata").Edit("finalizers").Append("example.com/mine");
  });
  api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
    domain.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
  });
  Run();
  EXPECT_TRUE(client::HasFinalizer(api_.Get(kSets, kNamespace, DaemonName("uid-1")), kLabel));
  EXPECT_FALSE(Domain().IsNull());
  api_.Remove(resources::kResourceClaimTemplates, "team", "channel");
  Run();
  EXPECT_TRUE(Domain().IsNull());
}

TEST_F(ComputeDomainTest, WhatADomainThatIsGoneLeftIsTakenAway) {
  api_.Apply(kDomain);
  Run();
  api_.Apply(NodeYaml("n1"));
  api_.Remove(kDomains, "team", "mnnvl");
  Run(std::chrono::minutes(1));
  EXPECT_TRUE(client::LabelOf(api_.Get(resources::kNodes, "", "n1"), kLabel).empty());
  EXPECT_THAT(api_.List(kSets), IsEmpty());
  EXPECT_THAT(api_.List(resources::kResourceClaimTemplates), IsEmpty());
}

TEST_F(ComputeDomainTest, WhatSomebodyDeletesComesBack) {
  api_.Apply(kDomain);
  Run();
  const std::string before(client::UidOf(api_.Get(kSets, kNamespace, DaemonName("uid-1"))));
  api_.Change(kSets, kNamespace, DaemonName("uid-1"), [](Value& set) {
    set.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
  });
  Run();
  const Value after = api_.Get(kSets, kNamespace, DaemonName("uid-1"));
  EXPECT_FALSE(after.IsNull());
  EXPECT_NE(client::UidOf(after), before);
}

TEST_F(ComputeDomainTest, WhatCannotBeMadeIsTold) {
  api_.FailNext(
      [](const client::Request& request) {
        return request.verb == client::Verb::kCreate &&
               request.resource == resources::kResourceClaimTemplates && request.ns == "team";
      },
      {.code = Code::kInvalid, .message = "a lowercase RFC 1123 subdomain"}, 1000);
  api_.Apply(kDomain);
  Run();
  EXPECT_THAT(Events(), Contains(HasSubstr("FailedCreate ResourceClaimTemplate team/channel: a "
                                           "lowercase RFC 1123 subdomain")));
}

TEST_F(ComputeDomainTest, WithDaemonsOfTheHostThereIsATemplateAlone) {
  gates_ = {{kHostManagedGate, true}};
  api_.Apply(kDomain);
  api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
    domain.Edit("spec").Edit("channel").Set("allocationMode", "All");
  });
  Run();
  EXPECT_THAT(api_.List(kSets), IsEmpty());
  ASSERT_THAT(api_.List(resources::kResourceClaimTemplates), SizeIs(1));
  EXPECT_EQ(api_.List(resources::kResourceClaimTemplates)[0]["spec"],
            SingleChannelTemplate(Domain())["spec"]);
  EXPECT_EQ(Domain()["status"], Value::Object({{"status", "Ready"}}));
  api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
    domain.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
  });
  Run();
  EXPECT_THAT(api_.List(resources::kResourceClaimTemplates), IsEmpty());
  EXPECT_THAT(api_.List(kDomains), IsEmpty());
}

TEST_F(ComputeDomainTest, ItGoesOnAfterARestartAtAnyPoint) {
  constexpr int kStepsMax = 120;
  for (int steps = 0; steps < kStepsMax; ++steps) {
    api_.Apply(kDomain);
    Run(std::chrono::seconds(20), steps);
    Run();
    ASSERT_THAT(api_.List(resources::kResourceClaimTemplates), SizeIs(2)) << steps;
    ASSERT_THAT(api_.List(kSets), SizeIs(1)) << steps;
    ASSERT_EQ(Domain()["status"]["status"].AsString(), "NotReady") << steps;
    api_.Change(kDomains, "team", "mnnvl", [](Value& domain) {
      domain.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
    });
    Run(std::chrono::seconds(20), steps);
    Run();
    ASSERT_THAT(api_.List(kDomains), IsEmpty()) << steps;
    ASSERT_THAT(api_.List(resources::kResourceClaimTemplates), IsEmpty()) << steps;
    ASSERT_THAT(api_.List(kSets), IsEmpty()) << steps;
    ASSERT_THAT(Events(), IsEmpty()) << steps;
  }
}

}  // namespace
}  // namespace drachma::controllers
