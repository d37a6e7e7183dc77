#include "net/event_loop.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

namespace drachma::net {
namespace {

TEST(EventLoop, BulkTasksLetTheOthersGoBetween) {
  EventLoop loop("test");
  std::promise<void> go_on;
  std::vector<int> ran;  // numbers of bulk tasks, -1 for the other one
  std::promise<void> done;
  loop.Post([&] { go_on.get_future().wait(); });
  constexpr int kTasks = 3 * static_cast<int>(EventLoop::kBulkTasksPerTurn);
  for (int i = 0; i < kTasks; ++i) {
    loop.PostBulk(
        [&, i] {
          ran.push_back(i);
          if (i == 0) loop.Post([&] { ran.push_back(-1); });
          if (i + 1 == kTasks) done.set_value();
        },
        Duration());
  }
  go_on.set_value();
  done.get_future().wait();
  std::vector<int> wanted;
  for (int i = 0; i < kTasks; ++i) {
    if (i == static_cast<int>(EventLoop::kBulkTasksPerTurn)) wanted.push_back(-1);
    wanted.push_back(i);
  }
  EXPECT_EQ(ran, wanted);
}

TEST(EventLoop, BulkThatHasJustRunLetsOtherBulkGoFirst) {
  EventLoop loop("test");
  std::promise<void> go_on;
  std::vector<std::string> ran;
  std::promise<void> done;
  loop.Post([&] { go_on.get_future().wait(); });
  for (std::size_t i = 0; i < EventLoop::kBulkManyMin; ++i) loop.PostBulk([] {}, Duration());
  loop.PostBulk(
      [&] {
        ran.emplace_back("just ran");
        done.set_value();
      },
      RealClock().Monotonic());
  loop.PostBulk([&] { ran.emplace_back("did not"); }, Duration());
  go_on.set_value();
  done.get_future().wait();
  EXPECT_EQ(ran, (std::vector<std::string>{"did not", "just ran"}));
}

}  // namespace
}  // namespace drachma::net
