#include "webhook/ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "json/yaml.h"

namespace drachma::webhook {
namespace {

using json::Value;

Value Read(std::string_view yaml) { return json::ReadYamlValue(yaml).value(); }

// A claim of namespace ns whose allocation has `results` (flow style); none when empty.
Value Claim(std::string_view name, int revision, std::string_view results = "",
            std::string_view uid = "") {
  Value claim =
      Read(fmt::format("metadata: {{namespace: ns, name: {}, uid: {}, resourceVersion: "
                       "'{}'}}",
                       name, uid.empty() ? name : uid, revision));
  if (!results.empty()) {
    claim.Set("status", Read(fmt::format("allocation: {{devices: {{results: [{}]}}}}", results)));
  }
  return claim;
}

std::string Device(std::string_view device, std::string_view more = "") {
  return fmt::format("{{request: r, driver: d, pool: p, device: {}{}}}", device, more);
}

class LedgerTest : public testing::Test {
 protected:
  // The claim, unallocated at revision 1, gets `results`. Empty when that is admitted.
  std::string Allocate(std::string_view name, std::string_view results,
                       Ledger::DryRun dry_run = Ledger::DryRun::kNo, int replaces = 1) {
    const Status status =
        ledger_.Admit(Claim(name, replaces), Claim(name, replaces, results), dry_run);
    return status ? "" : status.error().message;
  }
  void Pass(Duration time) {
    executor_.PostAfter(time, [] {});
    executor_.RunOne(Time::max());
  }

  VirtualExecutor executor_{ParseTime("2026-11-30T10:00:00Z").value()};
  Ledger ledger_{executor_.clock()};
};

TEST_F(LedgerTest, ADeviceThatTheServerShowsAsHeldIsDeniedWithItsHolder) {
  ledger_.PutClaim(Claim("a", 5, Device("x")));
  EXPECT_EQ(Allocate("b", Device("x")),
            "device d/p/x cannot be allocated to claim ns/b: it is allocated to claim ns/a");
  EXPECT_EQ(Allocate("b", Device("z")), "");
}

TEST_F(LedgerTest, AnAdmittedWriteCountsBeforeItIsSeen) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  EXPECT_NE(Allocate("b", Device("x")), "");
  EXPECT_EQ(Allocate("a", Device("x")), "");
  EXPECT_EQ(ledger_.pending(), 1U);
}

TEST_F(LedgerTest, TheRevisionThatIsReplacedDoesNotDecideItAndANewerOneDoes) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  ledger_.PutClaim(Claim("a", 1));  // seen late
  EXPECT_NE(Allocate("b", Device("x")), "");
  ledger_.PutClaim(Claim("a", 2));  // somebody else wrote first: the write had a conflict
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, AWriteOverAnOldRevisionTakesNothing) {
  ledger_.PutClaim(Claim("a", 2));
  EXPECT_EQ(Allocate("a", Device("x"), Ledger::DryRun::kNo, 1), "");
  EXPECT_EQ(ledger_.pending(), 0U);
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, AWriteThatIsSeenHoldsUntilTheDeviceIsGivenBack) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  ledger_.PutClaim(Claim("a", 2, Device("x")));
  EXPECT_EQ(ledger_.pending(), 0U);
  EXPECT_NE(Allocate("b", Device("x")), "");
  ledger_.PutClaim(Claim("a", 3));
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, ADeletedClaimHoldsNothing) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  ledger_.RemoveClaim(Claim("a", 2));
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, AClaimOfTheSameNameIsAnother) {
  ledger_.PutClaim(Claim("a", 2, Device("x")));
  ledger_.PutClaim(Claim("a", 7, "", "other"));
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, AWriteThatIsNeverSeenIsForgottenInTime) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  Pass(Ledger::kAdmittedMax - std::chrono::seconds(1));
  EXPECT_NE(Allocate("b", Device("x")), "");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Allocate("b", Device("x")), "");
}

TEST_F(LedgerTest, ADryRunLeavesNoTrace) {
  EXPECT_EQ(Allocate("a", Device("x"), Ledger::DryRun::kYes), "");
  EXPECT_EQ(Allocate("b", Device("x")), "");
  EXPECT_NE(Allocate("a", Device("x"), Ledger::DryRun::kYes), "");
}

TEST_F(LedgerTest, AdminAccessIsFreeAndHoldsNothing) {
  ledger_.PutClaim(Claim("a", 5, Device("x")));
  EXPECT_EQ(Allocate("admin", Device("x", ", adminAccess: true")), "");
  EXPECT_EQ(Allocate("other", Device("z", ", adminAccess: true")), "");
  EXPECT_EQ(Allocate("b", Device("z")), "");
}

TEST_F(LedgerTest, WritesThatAllocateNothingNewPass) {
  ledger_.PutClaim(Claim("a", 5, Device("x")));
  ledger_.PutClaim(Claim("b", 5, Device("x")));  // from before the ledger
  const Value held = Claim("b", 5, Device("x"));
  EXPECT_TRUE(ledger_.Admit(held, held, Ledger::DryRun::kNo));
  EXPECT_TRUE(ledger_.Admit(held, Claim("b", 5), Ledger::DryRun::kNo));
  EXPECT_EQ(ledger_.pending(), 0U);
}

TEST_F(LedgerTest, AnAllocationMayNotNameADeviceTwice) {
  EXPECT_EQ(Allocate("a", Device("x") + ", " + Device("x")),
            "device d/p/x cannot be allocated to claim ns/a: the allocation names it twice");
}

TEST_F(LedgerTest, ATryThatFailedLeavesTheClaimFreeToTakeOthers) {
  EXPECT_EQ(Allocate("a", Device("x")), "");
  EXPECT_EQ(Allocate("a", Device("z")), "");
  EXPECT_NE(Allocate("b", Device("x")), "");
  EXPECT_NE(Allocate("b", Device("z")), "");
}

constexpr std::string_view kShare = ", shareID: {}, consumedCapacity: {{memory: {}}}";

TEST_F(LedgerTest, SharesAddUpToTheCapacity) {
  ledger_.PutSlice(Read(R"(
metadata: {name: s}
spec:
  driver: d
  nodeName: node
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: x, allowMultipleAllocations: true, capacity: {memory: {value: 80Gi}}}]
)"));
  const auto share = [](int id, std::string_view memory) {
    return Device("x",
                  fmt::format(kShare, fmt::format("00000000-0000-4000-8000-{:012}", id), memory));
  };
  EXPECT_EQ(Allocate("a", share(1, "40Gi")), "");
  EXPECT_EQ(Allocate("b", share(2, "20Gi")), "");
  EXPECT_EQ(Allocate("c", share(3, "30Gi")),
            "device d/p/x cannot be allocated to claim ns/c: 90Gi of its 80Gi memory would be in "
            "use; it is shared with ns/a, ns/b");
  EXPECT_EQ(Allocate("c", share(3, "20Gi")), "");
  EXPECT_EQ(Allocate("d", Device("x")),
            "device d/p/x cannot be allocated to claim ns/d: it is allocated to claim ns/a");
}

TEST_F(LedgerTest, PartsOfADeviceShareItsCounters) {
  ledger_.PutSlice(Read(R"(
metadata: {name: counters}
spec:
  driver: d
  nodeName: node
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: gpu-0, counters: {memory: {value: 80Gi}}}]
)"));
  ledger_.PutSlice(Read(R"(
metadata: {name: devices}
spec:
  driver: d
  nodeName: node
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: whole, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 80Gi}}}]}
  - {name: half-a, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]}
  - {name: half-b, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]}
)"));
  EXPECT_EQ(Allocate("both", Device("whole") + ", " + Device("half-b")),
            "device d/p/half-b cannot be allocated to claim ns/both: it needs 40Gi of counter "
            "memory of set gpu-0, of which 0 is left; this claim takes the rest");
  EXPECT_EQ(Allocate("a", Device("half-a")), "");
  EXPECT_EQ(Allocate("b", Device("whole")),
            "device d/p/whole cannot be allocated to claim ns/b: it needs 80Gi of counter memory "
            "of set gpu-0, of which 40Gi is left; half-a is allocated to claim ns/a");
  EXPECT_EQ(Allocate("b", Device("half-b")), "");
}

TEST_F(LedgerTest, AnAllocationThatCannotBeReadIsAnError) {
  Value broken = Claim("a", 1);
  broken.Set("status", Read("allocation: {devices: {results: [{driver: 7}]}}"));
  EXPECT_EQ(ledger_.Admit(Claim("a", 1), broken, Ledger::DryRun::kNo).error().code,
            Code::kBadRequest);
}

}  // namespace
}  // namespace drachma::webhook
