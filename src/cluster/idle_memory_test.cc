#include "cluster/idle_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace drachma::cluster {
namespace {

// Kilobytes of files that are mapped and resident.
long ResidentFileKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
  }
  return 0;
}

TEST(IdleMemory, PagesOfTheProgramAreGivenBackAndComeWhenTheyAreUsed) {
  const long before = ResidentFileKilobytes();
  ReleaseStartMemory();
  EXPECT_LT(ResidentFileKilobytes(), before);
}

}  // namespace
}  // namespace drachma::cluster
