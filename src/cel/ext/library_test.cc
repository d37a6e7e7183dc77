#include "cel/ext/library.h"

#include <gtest/gtest.h>

#include "cel/eval/plan.h"
#include "cel/ext/validators.h"

namespace drachma::cel {
namespace {

const Environment& AllLibraries() {
  static const Environment* const kEnvironment = [] {
    auto* env = new Environment;
    for (const auto add :
         {AddStandard, AddOptional, AddBindings, AddLists, AddSets, AddMath, AddEncoders,
          AddTwoVariableComprehensions, AddKubernetesLists, AddKubernetesUrls, AddKubernetesRegex,
          AddKubernetesQuantity, AddKubernetesIp, AddKubernetesCidr, AddKubernetesFormat,
          AddKubernetesSemver}) {
      add(*env);
    }
    AddStrings(*env, StringsVersion::kNewest);
    return env;
  }();
  return *kEnvironment;
}

// The value as text, or the error.
std::string Evaluate(std::string_view text) {
  const Environment& env = AllLibraries();
  const auto checked = CompileExpression(text, env);
  if (!checked) return checked.error().ToString();
  const auto plan = MakePlan(*checked, {.functions = &env.functions});
  if (!plan) return plan.error();
  Arena arena;
  Frame frame{.arena = arena};
  const Value value = (*plan)->Eval(frame);
  return value.IsError() ? "error: " + std::string(value.AsText()) : DebugString(value);
}

TEST(LibraryTest, Evaluates) {
  for (const std::string_view text :
       {"1 + 2 * 3 == 7 && -7 / 2 == -3 && -7 % 2 == -1",
        "'a'.matches('^[a-z]$') && 'hello'.startsWith('he') && size('ünï') == 3",
        "[1, 2, 3].map(x, x * 2).filter(x, x > 2) == [4, 6]",
        "{'a': 1}.exists(k, k == 'a') && has({'a': 1}.a) && !('b' in {'a': 1})",
        "timestamp('2024-02-29T23:00:00Z').getDate('Europe/Berlin') == 1",
        "duration('1h') + duration('30m') == duration('90m')",
        "optional.of(1).orValue(2) == 1 && {'a': 1}[?'b'].orValue(2) == 2",
        "cel.bind(x, 2, x * x) == 4",
        "math.greatest(1, 3, 2) == 3",
        "sets.contains([1, 2, 3], [2])",
        "base64.encode(b'ab') == 'YWI='",
        "'%d %s'.format([1, 'a']) == '1 a'",
        "'a,b'.split(',') == ['a', 'b']",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].sum() == 3",
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
        "semver('1.2.3').major() == 1",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "url('https://a.b:80/c').getHost() == 'a.b:80'",
        "format.dns1123Label().validate('A').hasValue()",
        "[1, 2].transformList(i, v, i + v) == [1, 3]",
        "true || 1 / 0 > 0"}) {
    EXPECT_EQ(Evaluate(text), "true") << text;
  }
}

TEST(LibraryTest, ReportsErrorsAsValues) {
  EXPECT_EQ(Evaluate("1 / 0"), "error: division by zero");
  EXPECT_EQ(Evaluate("9223372036854775807 + 1"), "error: integer overflow");
  EXPECT_EQ(Evaluate("[1][5]"), "error: index out of bounds: 5");
  EXPECT_EQ(Evaluate("{'a': 1}['b']"), "error: no such key: b");
  EXPECT_EQ(Evaluate("dyn(1) + 'a'"), "error: no such overload");
}

TEST(LibraryTest, ChecksTypes) {
  EXPECT_EQ(Evaluate("1 + 'a'"),
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
            " | 1 + 'a'\n | ..^");
  EXPECT_EQ(Evaluate("nope(1)"),
            "ERROR: <input>:1:5: undeclared reference to 'nope' (in container '')\n"
            " | nope(1)\n | ....^");
}

}  // namespace
}  // namespace drachma::cel
