// Which functions, macros and fields an expression may use, by version and feature gates, as
// upstream's compiler had it (celgates of tests/upstream/cel).
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "json/json.h"
#include "selector/program.h"

namespace drachma::selector {
namespace {

// The settings of the gates DRAConsumableCapacity and DRAListTypeAttributes, in the file's order.
struct Gates {
  bool consumable_capacity;
  bool list_type_attributes;
};
constexpr std::array<Gates, 4> kSettings = {
    {{false, false}, {true, false}, {false, true}, {true, true}}};

constexpr int kMinorFirst = 31;
constexpr int kMinorLast = 37;

std::string Taken(std::string_view expression, Environment environment, int minor) {
  std::string letters;
  for (const Gates& gates : kSettings) {
    const CompileOptions options{.consumable_capacity = gates.consumable_capacity,
                                 .list_type_attributes = gates.list_type_attributes,
                                 .environment = environment,
                                 .compatibility_minor = minor};
    letters += Compile(expression, options) ? 'y' : 'n';
  }
  return letters;
}

TEST(CelGatesTest, TakesWhatUpstreamTakesInEachVersion) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/cel/gates.jsonl");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto row = json::Read(line);
    ASSERT_TRUE(row) << line;
    const std::string_view expression = (*row)["expr"].AsString();
    EXPECT_EQ(Taken(expression, Environment::kStored, 0), (*row)["stored"].AsString())
        << expression;
    for (int minor = kMinorFirst; minor <= kMinorLast; ++minor) {
      EXPECT_EQ(Taken(expression, Environment::kNew, minor),
                (*row)["new"][std::to_string(minor)].AsString())
          << expression << " in 1." << minor;
    }
  }
  EXPECT_GT(count, 90);
}

}  // namespace
}  // namespace drachma::selector
