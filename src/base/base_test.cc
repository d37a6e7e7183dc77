#include <gtest/gtest.h>

#include <future>

#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"

namespace drachma {
namespace {

TEST(Time, KeepsOffsetsAndFractions) {
  EXPECT_EQ(FormatTime(ParseTime("2026-11-30T05:44:00.75+02:00").value()), "2026-11-30T03:44:00Z");
  EXPECT_EQ(FormatMicroTime(ParseTime("2026-11-30T03:44:00.0000019Z").value()),
            "2026-11-30T03:44:00.000001Z");
}

TEST(Time, RefusesWhatIsNoDate) {
  for (const char* text : {"", "2026-02-30T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30",
                           "2026-11-30T03:44:00", "2026-11-30T03:44:00.Z", "2026-11-30T03:44:00Zx"}) {
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
  }
}

TEST(Random, ASeedRepeatsTheRun) {
  Random a(7);
  Random b(7);
  EXPECT_EQ(a.Uuid(), b.Uuid());
  EXPECT_EQ(a.NameSuffix().size(), 5U);
}

TEST(Random, AUuidSaysItsVersion) {
  const std::string uuid = Random(1).Uuid();
  ASSERT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
}

TEST(VirtualExecutor, TimeJumpsToTheNextTimer) {
  VirtualExecutor executor{Time{}};
  std::vector<int> order;
  executor.PostAfter(std::chrono::hours(2), [&] { order.push_back(2); });
  const TimerId dropped = executor.PostAfter(std::chrono::hours(1), [&] { order.push_back(1); });
  executor.Post([&] { order.push_back(0); });
  executor.Cancel(dropped);
  while (executor.RunOne(Time::max())) {
  }
  EXPECT_EQ(order, (std::vector{0, 2}));
  EXPECT_EQ(executor.clock().Now(), Time{} + std::chrono::hours(2));
}

TEST(ThreadExecutor, RunsTasksInOrderAndTimersLater) {
  ThreadExecutor executor("test");
  std::promise<std::vector<int>> done;
  std::vector<int> order;
  executor.PostAfter(std::chrono::milliseconds(5), [&] {
    order.push_back(2);
    done.set_value(order);
  });
  executor.Post([&] { order.push_back(0); });
  executor.Post([&] { order.push_back(1); });
  EXPECT_EQ(done.get_future().get(), (std::vector{0, 1, 2}));
}

TEST(Code, ReasonsGoBothWays) {
  EXPECT_EQ(CodeFromReason("Conflict", 409), Code::kConflict);
  EXPECT_EQ(CodeFromReason("SomethingNew", 404), Code::kNotFound);
  EXPECT_EQ(HttpStatus(Code::kInvalid), 422);
}

}  // namespace
}  // namespace drachma
