#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "json/json.h"
#include "selector/explain.h"
#include "selector/program.h"

namespace drachma::selector {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device SampleDevice() {
  const auto json = json::Read(R"({"attributes":{"model":{"string":"a100"},"index":{"int":3},
    "version":{"version":"1.2.3"},"other.com/x":{"bool":true},"sizes":{"ints":[1,2]}},
    "capacity":{"memory":{"value":"40Gi"}},"allowMultipleAllocations":true})");
  return *Device::FromJson("gpu.example.com", *json);
}

Program MustCompile(std::string_view expression, const CompileOptions& options = {}) {
  auto program = Compile(expression, options);
  EXPECT_TRUE(program) << program.error().message;
  return *std::move(program);
}

Outcome Match(std::string_view expression) { return MustCompile(expression).Match(SampleDevice()); }

TEST(SelectorTest, Matches) {
  for (const std::string_view expression :
       {R"(device.driver == "gpu.example.com")",
        R"(device.attributes["gpu.example.com"].model.startsWith("a"))",
        R"(device.attributes["gpu.example.com"].version.isLessThan(semver("2.0.0")))",
        R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("32Gi")) > 0)",
        R"(device.attributes["other.com"].x && device.allowMultipleAllocations)",
        R"("gpu.example.com" in device.attributes && !("nope" in device.attributes))",
        R"(device.attributes["gpu.example.com"].sizes.exists(s, s == 2))",
        R"(!device.attributes["nope"].?model.hasValue())"}) {
    EXPECT_EQ(Match(expression).verdict, Verdict::kMatch) << expression;
  }
}

TEST(SelectorTest, ReportsErrorsAndCosts) {
  const Outcome outcome = Match(R"(device.attributes["gpu.example.com"].nope == 1)");
  EXPECT_EQ(outcome.verdict, Verdict::kError);
  EXPECT_EQ(outcome.error, "no such key: nope");
  EXPECT_TRUE(outcome.has_cost);
  EXPECT_THAT(EnhanceRuntimeError(std::string(outcome.error)), HasSubstr("optional chaining"));
  EXPECT_EQ(Match("device.attributes['a'].x").error, "no such key: x");
}

TEST(SelectorTest, RefusesWhatIsNoSelector) {
  const auto wrong = Compile("device.driver", {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "must evaluate to bool or the unknown type, not string");
  const auto undeclared = Compile("devize.driver == 'a'", {});
  ASSERT_FALSE(undeclared);
  EXPECT_EQ(undeclared.error().message,
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'devize' (in "
            "container '')\n | devize.driver == 'a'\n | ^");
  ASSERT_EQ(undeclared.error().issues.size(), 1u);
  EXPECT_EQ(undeclared.error().issues[0].column, 0);
}

TEST(SelectorTest, GatesAndVersionsBoundNewExpressions) {
  CompileOptions options{.consumable_capacity = false, .environment = Environment::kNew};
  EXPECT_FALSE(Compile("device.allowMultipleAllocations", options));
  EXPECT_FALSE(Compile("[1].includes(1)", options));
  options.list_type_attributes = true;
  EXPECT_TRUE(Compile("[1].includes(1)", options));
  options.environment = Environment::kStored;
  EXPECT_TRUE(Compile("device.allowMultipleAllocations", options));
}

TEST(SelectorTest, StopsAtTheCostLimit) {
  CompileOptions options;
  options.cost_limit = 50;
  const Program program = MustCompile("[1,2,3,4,5,6,7].all(x, [1,2,3].all(y, x + y > 0))", options);
  EXPECT_EQ(program.Match(SampleDevice()).error, "operation cancelled: actual cost limit exceeded");
  EXPECT_GT(program.max_cost(), 50u);
}

TEST(SelectorTest, CanBeInterrupted) {
  const Program program =
      MustCompile("lists.range(1000).all(x, lists.range(100).all(y, x + y >= 0))");
  const std::atomic<bool> interrupt = true;
  EXPECT_EQ(program.Match(SampleDevice(), &interrupt).error, "operation interrupted");
}

TEST(SelectorTest, BadVersionsFailEveryEvaluation) {
  Device device("a.com");
  device.AddAttribute("v", Version{"1.x"});
  const Outcome outcome = MustCompile("true").Match(device);
  EXPECT_EQ(outcome.verdict, Verdict::kError);
  EXPECT_FALSE(outcome.has_cost);
  EXPECT_THAT(std::string(outcome.error), HasSubstr("parse semantic version"));
}

TEST(SelectorTest, DerivesAttributes) {
  const CompileOptions options{.list_type_attributes = true, .purpose = Purpose::kDerivedAttribute};
  const auto evaluate = [&](std::string_view expression) {
    return MustCompile(expression, options).EvaluateDerived(SampleDevice()).value;
  };
  EXPECT_EQ(*evaluate("device.attributes['gpu.example.com'].index + 1"), AttributeValue(4L));
  EXPECT_EQ(*evaluate("semver('1.2.3')"), AttributeValue(Version{"1.2.3"}));
  EXPECT_EQ(*evaluate("['a', 'b']"), AttributeValue(std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(evaluate("device.attributes['gpu.example.com'].nope"));
  EXPECT_FALSE(Compile("{'a': 1}", options));
}

TEST(SelectorTest, SelectorsOfPublicDriversCompile) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/cel/selectors.txt");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    EXPECT_TRUE(Compile(line, {})) << line;
  }
  EXPECT_EQ(count, 108);
}

TEST(SelectorTest, EvaluatesInManyThreads) {
  const Program program = MustCompile(
      R"(device.attributes.exists(d, d == "other.com") && device.driver.matches("^gpu"))");
  const Device device = SampleDevice();
  std::vector<std::thread> threads;
  std::atomic<int> matches = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) matches += program.Match(device).verdict == Verdict::kMatch;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(matches, 800);
}

Explanation ExplainOne(std::string_view expression) {
  return Explain(MustCompile(expression), SampleDevice());
}

TEST(ExplainTest, NamesTheFalseParts) {
  const Explanation why = ExplainOne(
      R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].index > 5)");
  EXPECT_EQ(why.verdict, Verdict::kNoMatch);
  ASSERT_EQ(why.reasons.size(), 1u);
  EXPECT_EQ(why.reasons[0].text, R"(device.attributes["gpu.example.com"].index > 5 is false )"
                                 R"((device.attributes["gpu.example.com"].index is 3))");
  EXPECT_TRUE(why.hints.empty());
  EXPECT_TRUE(ExplainOne("true").reasons.empty());
}

TEST(ExplainTest, ShowsQuantities) {
  EXPECT_THAT(
      ExplainOne(R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("80Gi")))")
          .ToString(),
      HasSubstr("memory is 40Gi)"));
}

TEST(ExplainTest, HintsAtNearNames) {
  EXPECT_THAT(ExplainOne(R"(device.attributes["gpu.exmaple.com"].?model.orValue("") == "b")").hints,
              ElementsAre(R"(the device has no attribute under domain "gpu.exmaple.com", )"
                          R"(did you mean "gpu.example.com"?)"));
  EXPECT_THAT(ExplainOne(R"(device.attributes["gpu.example.com"].modle == "b")").hints,
              ElementsAre(R"(the device has no attribute "gpu.example.com/modle", )"
                          R"(did you mean "model"?)"));
  EXPECT_THAT(ExplainOne(R"(device.attributes["gpu.example.com"].memory == "b")").hints,
              ElementsAre(R"(the device has no attribute "gpu.example.com/memory", )"
                          R"(it is a capacity)"));
  EXPECT_THAT(ExplainOne(R"(device.driver == "gpu.example.org")").hints,
              ElementsAre(R"(the device's driver is "gpu.example.com", not "gpu.example.org")"));
}

}  // namespace
}  // namespace drachma::selector
