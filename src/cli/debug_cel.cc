#include "cli/debug_cel.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cel/eval/plan.h"
#include "cel/ext/library.h"
#include "cel/ext/validators.h"
#include "cel/syntax/parser.h"
#include "cli/cel_value.h"
#include "json/json.h"
#include "selector/program.h"

namespace drachma::cli {
namespace {

json::Value ErrorAnswer(std::string_view phase, std::string_view text) {
  return json::Value::Object({{"error", text}, {"phase", phase}});
}

// --- eval

const cel::Environment& ConformanceEnvironment() {
  static const cel::Environment* const kEnvironment = [] {
    auto* env = new cel::Environment;
    env->check.cross_type_comparisons = false;
    cel::AddStandard(*env);
    cel::AddOptional(*env);
    cel::AddBindings(*env);
    cel::AddEncoders(*env);
    cel::AddLists(*env);
    cel::AddMath(*env);
    cel::AddNetwork(*env);
    cel::AddSets(*env);
    cel::AddStrings(*env, cel::StringsVersion::kNewest);
    cel::AddTwoVariableComprehensions(*env);
    cel::AddBlock(*env);
    return env;
  }();
  return *kEnvironment;
}

std::vector<std::string_view> Texts(const json::Value& list, cel::Arena& arena) {
  std::vector<std::string_view> texts;
  for (const json::Value& item : list.Items()) texts.push_back(arena.CopyString(item.AsString()));
  return texts;
}

void Declare(const json::Value& request, cel::CheckEnv& check) {
  cel::Arena& arena = check.arena();
  const auto read_type = [&](const json::Value& text, std::span<const std::string_view> params) {
    return cel::ParseType(arena, arena.CopyString(text.AsString()), params, check.opaque_names());
  };
  for (const json::Member& variable : request["types"].Members()) {
    check.AddVariable(arena.CopyString(variable.key()), read_type(variable.value, {}));
  }
  for (const json::Value& function : request["functions"].Items()) {
    for (const json::Value& item : function["overloads"].Items()) {
      cel::Overload overload;
      overload.id = arena.CopyString(item["id"].AsString());
      overload.member = item["member"].AsBool();
      overload.type_params = Texts(item["typeParams"], arena);
      for (const json::Value& param : item["params"].Items()) {
        overload.args.push_back(read_type(param, overload.type_params));
      }
      overload.result = read_type(item["result"], overload.type_params);
      check.AddOverload(arena.CopyString(function["name"].AsString()), std::move(overload));
    }
  }
  check.container = request["container"].AsString();
  if (request["disableMacros"].AsBool()) check.macros = {};
}

class Bindings final : public cel::Activation {
 public:
  Status Read(const json::Value& bindings) {
    for (const json::Member& binding : bindings.Members()) {
      DRA_ASSIGN(const cel::Value value, ReadCelValue(binding.value, arena_));
      values_.emplace(binding.key(), value);
    }
    return {};
  }
  [[nodiscard]] bool Find(std::string_view name, cel::Value* value) const override {
    const auto found = values_.find(name);
    if (found == values_.end()) return false;
    *value = found->second;
    return true;
  }

 private:
  cel::Arena arena_;
  std::map<std::string, cel::Value, std::less<>> values_;
};

json::Value Eval(const json::Value& request) {
  const cel::Environment& base = ConformanceEnvironment();
  cel::CheckEnv check(&base.check);
  Declare(request, check);
  const cel::FunctionTable functions(check, &base.functions);

  auto parsed = cel::Parse(request["expr"].AsString(), {.macros = &check.macros});
  if (!parsed) {
    return ErrorAnswer("parse",
                       cel::FormatIssues(parsed.error().ast->source, parsed.error().issues));
  }
  cel::CheckedAst checked;
  json::Value answer = json::Value::Object();
  if (request["disableCheck"].AsBool()) {
    checked.ast = std::move(*parsed);
  } else {
    cel::CheckResult result = cel::Check(std::move(*parsed), check);
    if (result.issues.empty()) result.issues = cel::ValidateLiterals(result.checked, base);
    if (!result.issues.empty()) {
      return ErrorAnswer("check", cel::FormatIssues(result.checked.ast->source, result.issues));
    }
    checked = std::move(result.checked);
    answer.Set("type", cel::FormatType(checked.output_type()));
  }
  if (request["checkOnly"].AsBool()) return answer;

  const auto plan = cel::MakePlan(checked, {.functions = &functions});
  if (!plan) return ErrorAnswer("eval", plan.error());
  Bindings bindings;
  if (const Status read = bindings.Read(request["bindings"]); !read) {
    return ErrorAnswer("request", read.error().message);
  }
  cel::Arena arena;
  cel::Frame frame{.arena = arena, .activation = &bindings};
  const auto value = WriteCelValue((*plan)->Eval(frame));
  if (!value) return ErrorAnswer("eval", value.error().message);
  answer.Set("value", *value);
  return answer;
}

// --- selector and bench

Result<selector::CompileOptions> OptionsOf(const json::Value& request) {
  selector::CompileOptions options;
  options.consumable_capacity = false;
  for (const json::Value& feature : request["features"].Items()) {
    if (feature.AsString() == "DRAConsumableCapacity") {
      options.consumable_capacity = true;
    } else if (feature.AsString() == "DRAListTypeAttributes") {
      options.list_type_attributes = true;
    } else {
      return Fail(Code::kBadRequest, "unknown feature " + std::string(feature.AsString()));
    }
  }
  const std::string_view env = request["env"].AsString("new");
  if (env == "new" || env.empty()) {
    options.environment = selector::Environment::kNew;
  } else if (env != "stored") {
    return Fail(Code::kBadRequest, "unknown env " + std::string(env));
  }
  return options;
}

// Costs do not fit a JSON value's integers; they are added to the text of the answer.
std::string WithNumber(std::string answer, std::string_view name, std::uint64_t number) {
  answer.pop_back();
  if (!answer.ends_with('{')) answer += ',';
  return answer + '"' + std::string(name) + "\":" + std::to_string(number) + "}";
}

std::string Match(const json::Value& request) {
  const auto fail = [](std::string_view phase, std::string_view text) {
    return json::Write(ErrorAnswer(phase, text));
  };
  const auto options = OptionsOf(request);
  if (!options) return fail("compile", options.error().message);
  const std::string_view expr = request["expr"].AsString();
  if (options->environment == selector::Environment::kNew &&
      expr.size() > selector::kExpressionBytesMax) {
    return fail("compile", "expression has " + std::to_string(expr.size()) + " bytes, limit is " +
                               std::to_string(selector::kExpressionBytesMax));
  }
  const auto program = selector::Compile(expr, *options);
  if (!program) return fail("compile", program.error().message);
  const json::Value& given = request["device"];
  const auto device = selector::Device::FromJson(given["driver"].AsString(), given);
  if (!device) return fail("request", device.error().message);

  const selector::Outcome outcome = program->Match(*device);
  std::string answer = outcome.verdict == selector::Verdict::kError
                           ? fail("eval", outcome.error)
                           : json::Write(json::Value::Object(
                                 {{"match", outcome.verdict == selector::Verdict::kMatch}}));
  if (outcome.has_cost) answer = WithNumber(std::move(answer), "cost", outcome.cost);
  return WithNumber(std::move(answer), "maxCost", program->max_cost());
}

// The mean time of `count` calls in nanoseconds.
template <typename Body>
double Time(std::int64_t count, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count; ++i) body();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(count);
}

json::Value Bench(const json::Value& request) {
  auto options = OptionsOf(request);
  if (!options) return json::Value::Object({{"error", options.error().message}});
  options->environment = selector::Environment::kStored;
  options->estimate_cost = false;
  const std::string_view expr = request["expr"].AsString();
  const auto program = selector::Compile(expr, *options);
  if (!program) return json::Value::Object({{"error", program.error().message}});
  const json::Value& given = request["device"];
  const auto device = selector::Device::FromJson(given["driver"].AsString(), given);
  if (!device) return json::Value::Object({{"error", device.error().message}});

  const std::int64_t iterations = std::max<std::int64_t>(1, request["iterations"].AsInt());
  const std::int64_t few = std::clamp<std::int64_t>(iterations / 20, 1, 200);
  const auto match = [&] { static_cast<void>(program->Match(*device)); };
  Time(iterations, match);
  return json::Value::Object(
      {{"nsPerEval", Time(iterations * 10, match)},
       {"nsPerCompile", Time(few, [&] { static_cast<void>(selector::Compile(expr, *options)); })},
       {"nsPerDevice", Time(few, [&] {
          static_cast<void>(selector::Device::FromJson(given["driver"].AsString(), given));
        })}});
}

std::string Answer(std::string_view line) {
  const auto request = json::Read(line);
  if (!request) return json::Write(ErrorAnswer("request", request.error().message));
  const std::string_view op = (*request)["op"].AsString();
  if (op == "eval") return json::Write(Eval(*request));
  if (op == "selector") return Match(*request);
  if (op == "bench") return json::Write(Bench(*request));
  return json::Write(ErrorAnswer("request", "unknown op " + std::string(op)));
}

}  // namespace

int RunDebugCel(std::istream& in, std::ostream& out) {
  // Standard input is read in blocks then: a line of 1 MB would take longer than its refusal.
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    out << Answer(line) << '\n' << std::flush;
  }
  return 0;
}

}  // namespace drachma::cli
