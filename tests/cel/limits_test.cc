// No expression makes its reader work or recurse without a limit, through any of the doors: the
// library, `debug cel` and `cel`. How long the refusals take is measured by bench/cel.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/cel_command.h"
#include "cli/debug_cel.h"
#include "json/json.h"
#include "monsters.h"
#include "selector/program.h"

namespace drachma::cli {
namespace {

using selector::Environment;
using selector::Verdict;

TEST(CelLimitsTest, TheLibraryRefusesMonsters) {
  const auto device = selector::Device::FromJson("gpu.example.com", *json::Read("{}"));
  for (const cel::Monster& monster : cel::Monsters()) {
    const auto program = selector::Compile(monster.text, {.environment = Environment::kStored});
    if (!program) {
      EXPECT_FALSE(program.error().message.empty()) << monster.name;
    } else {
      EXPECT_EQ(program->Match(*device).verdict, Verdict::kError) << monster.name;
    }
  }
}

TEST(CelLimitsTest, DebugCelRefusesMonsters) {
  for (const std::string_view op : {"selector", "eval"}) {
    for (const cel::Monster& monster : cel::PlainMonsters()) {
      const json::Value request = json::Value::Object(
          {{"op", op}, {"expr", monster.text}, {"device", json::Value::Object({{"driver", "a"}})}});
      std::istringstream in(json::Write(request));
      std::ostringstream out;
      RunDebugCel(in, out);
      const auto answer = json::Read(out.str());
      ASSERT_TRUE(answer) << monster.name;
      EXPECT_FALSE((*answer)["error"].AsString().empty()) << op << " " << monster.name;
    }
  }
}

TEST(CelLimitsTest, TheCommandRefusesMonsters) {
  for (const cel::Monster& monster : cel::PlainMonsters()) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunCel({.expression = monster.text, .compile = {}}, {}, out, err), 1) << monster.name;
    EXPECT_FALSE(err.str().empty()) << monster.name;
  }
}

}  // namespace
}  // namespace drachma::cli
