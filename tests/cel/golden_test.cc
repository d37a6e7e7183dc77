// Replays upstream's recorded answers: selectors of all kinds with their devices, and what k8s.io's
// package for them said (compile messages, matches, run-time errors and both costs).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cli/debug_cel.h"
#include "json/json.h"

namespace drachma::cli {
namespace {

TEST(CelGoldenTest, AnswersAsUpstreamDid) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/cel/golden.jsonl");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto recorded = json::Read(line);
    ASSERT_TRUE(recorded) << line;
    std::istringstream in(json::Write((*recorded)["request"]));
    std::ostringstream out;
    RunDebugCel(in, out);
    // Costs may be larger than JSON values hold: both sides are read in the same way.
    const auto answer = json::Read(out.str());
    ASSERT_TRUE(answer) << out.str();
    EXPECT_EQ(*answer, (*recorded)["answer"]) << line << "\n" << out.str();
  }
  EXPECT_GT(count, 900);
}

}  // namespace
}  // namespace drachma::cli
