#include "gpu/compute_domain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "json/yaml.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Knows the domain "d"; the test says when nodes have joined.
class FakeMembership final : public DomainMembership {
 public:
  void AddNode(const std::string& node, const std::string& clique) override {
    nodes.push_back(fmt::format("{} {}", node, clique));
  }
  void RemoveNode(const std::string& /*node*/) override { nodes.clear(); }
  void Join(DomainMember member, Joined joined) override {
    members.push_back(std::move(member));
    waiting = std::move(joined);
  }
  void Leave(const std::string& /*node*/, std::string_view claim_uid) override {
    std::erase_if(members, [&](const DomainMember& m) { return m.claim_uid == claim_uid; });
  }
  [[nodiscard]] const Value* FindDomain(std::string_view uid) const override {
    return uid == "d" ? &domain : nullptr;
  }

  [[nodiscard]] bool host_managed() const override { return of_host; }

  bool of_host = false;
  std::vector<std::string> nodes;
  std::vector<DomainMember> members;
  Joined waiting;
  Value domain = json::ReadYamlValue("metadata: {name: mnnvl, namespace: team, uid: d}").value();
};

// A claim `uid` for `device`, with the config of `kind` and `fields`, if any.
Value Claim(std::string_view uid, std::string_view device, std::string_view kind = "",
            std::string_view fields = "") {
  std::string config;
  if (!kind.empty()) {
    config = fmt::format(
        "{{source: FromClaim, opaque: {{driver: compute-domain.nvidia.com, parameters: "
        "{{apiVersion: resource.nvidia.com/v1beta1, kind: {}, {}}}}}}}",
        kind, fields);
  }
  return json::ReadYamlValue(
             fmt::format("metadata: {{uid: {}, namespace: team}}\n"
                         "status: {{allocation: {{devices: {{config: [{}], results: [{{request: r, "
                         "driver: compute-domain.nvidia.com, pool: node-1, device: {}}}]}}}}}}\n",
                         uid, config, device))
      .value();
}
Value Channel(std::string_view uid, std::string_view fields = "domainID: d") {
  return Claim(uid, "channel-0", "ComputeDomainChannelConfig", fields);
}

class ComputeDomainDriverTest : public testing::Test {
 protected:
  ComputeDomainDriverTest() : link_(std::make_shared<DomainLink>()) {
    link_->membership = &membership_;
    driver_.emplace("node-1", "rack-1.0", link_);
  }
  // The answer, once there is one.
  std::shared_ptr<std::optional<node::PrepareResult>> Prepare(const Value& claim) {
    auto answer = std::make_shared<std::optional<node::PrepareResult>>();
    driver_->Prepare({&claim, 1}, [answer](node::PrepareAnswer all) {
      *answer = std::move(all.begin()->second);
    });
    return answer;
  }
  // Prepares a channel whose domain is ready at once.
  node::PrepareResult PrepareReady(const Value& claim) {
    const auto answer = Prepare(claim);
    if (!*answer) membership_.waiting(Status());
    return **answer;
  }
  void Unprepare(std::string_view uid) {
    const node::ClaimRef ref{.uid = std::string(uid)};
    driver_->Unprepare({&ref, 1}, [](const node::UnprepareAnswer&) {});
  }

  FakeMembership membership_;
  std::shared_ptr<DomainLink> link_;
  std::optional<ComputeDomainDriver> driver_;
};

TEST_F(ComputeDomainDriverTest, ANodeHasOneChannelAndOneDaemon) {
  const std::vector<node::Pool> pools = ComputeDomainDriver("node-1", "rack-1.0").Pools();
  ASSERT_THAT(pools, SizeIs(1));
  ASSERT_THAT(pools[0].slices, SizeIs(1));
  const std::vector<Value>& devices = pools[0].slices[0].devices;
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0]["name"].AsString(), "channel-0");
  EXPECT_EQ(devices[0].At({"attributes", "type", "string"}).AsString(), "channel");
  EXPECT_EQ(devices[1].At({"attributes", "type", "string"}).AsString(), "daemon");
  EXPECT_EQ(devices[1].At({"attributes", "id", "int"}).AsInt(-1), 0);
}

TEST_F(ComputeDomainDriverTest, ADriverTellsOfItsNodeAsLongAsItLives) {
  EXPECT_THAT(membership_.nodes, ElementsAre("node-1 rack-1.0"));
  driver_.reset();
  EXPECT_THAT(membership_.nodes, IsEmpty());
}

TEST_F(ComputeDomainDriverTest, AChannelIsReadyWhenItsNodeHasJoined) {
  const auto answer = Prepare(Channel("a", "domainID: d, allocationMode: All"));
  EXPECT_FALSE(*answer);
  ASSERT_THAT(membership_.members, SizeIs(1));
  EXPECT_EQ(membership_.members[0].domain, "d");
  EXPECT_EQ(membership_.members[0].claim_ns, "team");
  membership_.waiting(Status());
  ASSERT_TRUE(*answer);
  ASSERT_TRUE(**answer) << (**answer).error().message;
  const node::PreparedDevice& device = (***answer)[0];
  EXPECT_EQ(device.cdi_device_ids[0], "k8s.compute-domain.nvidia.com/claim=a-channel-0");
  EXPECT_EQ(device.report["domainID"].AsString(), "d");
  EXPECT_EQ(device.report["cliqueID"].AsString(), "rack-1.0");
  EXPECT_EQ(device.report["channels"].AsInt(), 2048);
}

TEST_F(ComputeDomainDriverTest, WhatTheDomainRefusesIsTheAnswer) {
  const auto answer = Prepare(Channel("a"));
  membership_.waiting(Fail(Code::kForbidden, "another namespace"));
  ASSERT_TRUE(*answer);
  EXPECT_EQ((**answer).error().message, "another namespace");
  EXPECT_TRUE(PrepareReady(Channel("a"))) << "the next try is a new one";
}

TEST_F(ComputeDomainDriverTest, AClaimThatGoesWhileItWaitsLeavesTheDomain) {
  const auto answer = Prepare(Channel("a"));
  Unprepare("a");
  ASSERT_TRUE(*answer);
  EXPECT_FALSE(**answer);
  EXPECT_THAT(membership_.members, IsEmpty());
  membership_.waiting(Status());  // too late: it takes nothing
  EXPECT_TRUE(PrepareReady(Channel("b")));
}

TEST_F(ComputeDomainDriverTest, PodsThatShareAClaimWaitTogether) {
  const auto first = Prepare(Channel("a"));
  const auto second = Prepare(Channel("a"));
  EXPECT_THAT(membership_.members, SizeIs(1));
  membership_.waiting(Status());
  ASSERT_TRUE(*first && *second);
  EXPECT_TRUE(**first && **second);
}

TEST_F(ComputeDomainDriverTest, WithoutNvlinkNothingIsInjected) {
  driver_.emplace("node-1", "", link_);
  const auto devices = PrepareReady(Channel("a"));
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ((*devices)[0].report, Value::Object({{"domainID", "d"}}));
}

TEST_F(ComputeDomainDriverTest, ADaemonLearnsItsDomainFromItsEnvironment) {
  const auto answer = Prepare(Claim("a", "daemon-0", "ComputeDomainDaemonConfig", "domainID: d"));
  ASSERT_TRUE(*answer && **answer);
  EXPECT_EQ((***answer)[0].report["env"], Value::Object({{"CLIQUE_ID", "rack-1.0"},
                                                         {"COMPUTE_DOMAIN_UUID", "d"},
                                                         {"COMPUTE_DOMAIN_NAME", "mnnvl"},
                                                         {"COMPUTE_DOMAIN_NAMESPACE", "team"}}));
  const auto other = Prepare(Claim("b", "daemon-0", "ComputeDomainDaemonConfig", "domainID: e"));
  ASSERT_TRUE(*other);
  EXPECT_FALSE(**other);
}

TEST_F(ComputeDomainDriverTest, WithDaemonsOfTheHostANodeHasAChannelAlone) {
  membership_.of_host = true;
  ASSERT_THAT(driver_->Pools()[0].slices[0].devices, SizeIs(1));
  const auto answer = Prepare(Claim("a", "daemon-0", "ComputeDomainDaemonConfig", "domainID: d"));
  EXPECT_EQ((**answer).error().message,
            "ComputeDomain daemon claims are not supported when imex.mode=hostManaged");
  EXPECT_TRUE(PrepareReady(Channel("b")));
}

TEST_F(ComputeDomainDriverTest, AChannelHasOneHolder) {
  ASSERT_TRUE(PrepareReady(Channel("a")));
  ASSERT_TRUE(PrepareReady(Channel("a"))) << "again is no conflict";
  EXPECT_EQ(PrepareReady(Channel("b")).error().message,
            "allocation failed: channel 0 already allocated by claim a");
  Unprepare("a");
  EXPECT_TRUE(PrepareReady(Channel("b")));
}

TEST_F(ComputeDomainDriverTest, OfTwoThatWaitForAChannelTheFasterGetsIt) {
  const auto slow = Prepare(Channel("a"));
  DomainMembership::Joined slow_joins = std::move(membership_.waiting);
  ASSERT_TRUE(PrepareReady(Channel("b")));
  slow_joins(Status());
  ASSERT_TRUE(*slow);
  EXPECT_EQ((**slow).error().message, "allocation failed: channel 0 already allocated by claim b");
}

TEST_F(ComputeDomainDriverTest, ABadConfigKeepsTheDeviceFree) {
  EXPECT_FALSE(**Prepare(Claim("a", "daemon-0", "ComputeDomainDaemonConfig", "domainID: ''")));
  EXPECT_FALSE(**Prepare(Claim("a", "channel-0"))) << "a channel of no domain";
  EXPECT_FALSE(**Prepare(Claim("a", "channel-1")));
  EXPECT_TRUE(**Prepare(Claim("b", "daemon-0", "ComputeDomainDaemonConfig", "domainID: d")));
}

TEST_F(ComputeDomainDriverTest, WithoutAnApiServerNothingIsPrepared) {
  driver_.emplace("node-1", "rack-1.0");
  const auto answer = Prepare(Channel("a"));
  ASSERT_TRUE(*answer);
  EXPECT_FALSE(**answer);
}

}  // namespace
}  // namespace drachma::gpu
