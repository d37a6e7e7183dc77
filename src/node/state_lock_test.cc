#include "node/state_lock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace drachma::node {
namespace {

TEST(StateLockTest, AFolderHasOneDriverAtATime) {
  char name[] = "/tmp/state-lock-test-XXXXXX";
  const std::string dir = std::string(mkdtemp(name)) + "/made";
  std::optional<Result<StateLock>> first = StateLock::Take(dir);
  ASSERT_TRUE(*first);
  EXPECT_EQ(StateLock::Take(dir).error().code, Code::kConflict);
  first.reset();
  EXPECT_TRUE(StateLock::Take(dir));
  std::filesystem::remove_all(std::filesystem::path(dir).parent_path());
}

}  // namespace
}  // namespace drachma::node
