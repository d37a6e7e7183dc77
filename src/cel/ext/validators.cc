#include "cel/ext/validators.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "cel/eval/regex.h"
#include "cel/ext/convert.h"
#include "cel/ext/network.h"
#include "cel/ext/string_format.h"
#include "cel/syntax/parser.h"

namespace drachma::cel {
namespace {

// Calls `visit` with each node, children first, and the names of the calls around it.
class Walker {
 public:
  using Visit = std::function<void(const Expr*, const std::vector<std::string_view>&)>;
  explicit Walker(Visit visit) : visit_(std::move(visit)) {}

  void Walk(const Expr* expr) {
    if (expr == nullptr) return;
    const bool call = expr->kind == ExprKind::kCall;
    if (call) calls_.push_back(expr->name);
    Walk(expr->target);
    for (const Expr* arg : expr->args) Walk(arg);
    for (const Entry& entry : expr->entries) {
      Walk(entry.key);
      Walk(entry.value);
    }
    if (const Comprehension* fold = expr->comprehension; fold != nullptr) {
      for (const Expr* part :
           {fold->range, fold->accu_init, fold->condition, fold->step, fold->result}) {
        Walk(part);
      }
    }
    if (call) calls_.pop_back();
    visit_(expr, calls_);
  }

 private:
  Visit visit_;
  std::vector<std::string_view> calls_;
};

bool IsString(const Expr* expr) {
  return expr->kind == ExprKind::kLiteral && expr->literal.kind == LiteralKind::kString;
}

Value LiteralToValue(const Literal& literal) {
  switch (literal.kind) {
    case LiteralKind::kInt:
      return Value::Int(literal.integer);
    case LiteralKind::kString:
      return Value::String(literal.text);
    default:
      return Value::Null();
  }
}

class Validator {
 public:
  Validator(const CheckedAst& checked, const Environment& env) : checked_(checked), env_(env) {}

  std::vector<Issue> Run() {
    if (env_.validate_literals) {
      CheckConversions("duration", ValueKind::kDuration);
      CheckConversions("timestamp", ValueKind::kTimestamp);
      CheckPatterns();
      CheckAggregates();
    }
    if (env_.format != Environment::FormatVersion::kNone) CheckFormats();
    if (env_.validate_network) CheckAddresses();
    return std::move(issues_);
  }

 private:
  void Report(const Expr* expr, std::string message) {
    issues_.push_back(
        {.location = checked_.ast->LocationOf(expr->id), .message = std::move(message)});
  }

  void ForCalls(std::string_view function, const std::function<void(const Expr*)>& visit) {
    Walker([&](const Expr* expr, const auto&) {
      if (expr->kind == ExprKind::kCall && expr->name == function) visit(expr);
    }).Walk(checked_.ast->root);
  }
  // The first argument of each call when it is a literal.
  void ForLiteralArgs(std::string_view function, const std::function<void(const Expr*)>& visit) {
    ForCalls(function, [&](const Expr* call) {
      if (!call->args.empty() && call->args[0]->kind == ExprKind::kLiteral) visit(call->args[0]);
    });
  }

  void CheckConversions(std::string_view function, ValueKind kind) {
    ForLiteralArgs(function, [&](const Expr* arg) {
      Arena arena;
      if (Convert(arena, LiteralToValue(arg->literal), kind).IsError()) {
        Report(arg, "invalid " + std::string(function) + " argument");
      }
    });
  }

  void CheckPatterns() {
    std::size_t weight = kPatternWeightMax;
    ForLiteralArgs("matches", [&](const Expr* arg) {
      std::string error;
      if (CompileRegex(arg->literal.text, &weight, &error) == nullptr) {
        Report(arg, "invalid matches argument");
      }
    });
  }

  void CheckAddresses() {
    ForLiteralArgs("ip", [&](const Expr* arg) {
      const auto address = ReadIpAddress(arg->literal.text);
      if (!address) Report(arg, "invalid ip argument: " + address.error());
    });
    ForLiteralArgs("cidr", [&](const Expr* arg) {
      const auto prefix = ReadIpPrefix(arg->literal.text);
      if (!prefix) Report(arg, "invalid cidr argument: " + prefix.error());
    });
  }

  // --- Lists and maps of one type

  [[nodiscard]] bool Exempt(const std::vector<std::string_view>& calls) const {
    return std::ranges::any_of(calls, [this](std::string_view call) {
      return (call == "format" && env_.format != Environment::FormatVersion::kNone) ||
             (call == "cel.@block" && env_.block);
    });
  }
  void Mismatch(const Expr* expr, const Type* expected, const Type* actual) {
    Report(expr,
           "expected type '" + FormatType(expected) + "' but found '" + FormatType(actual) + "'");
  }

  void CheckAggregates() {
    Walker([&](const Expr* expr, const auto& calls) {
      if (expr->kind == ExprKind::kList && !Exempt(calls)) CheckList(expr);
    }).Walk(checked_.ast->root);
    Walker([&](const Expr* expr, const auto& calls) {
      if (expr->kind == ExprKind::kMap && !Exempt(calls)) CheckMap(expr);
    }).Walk(checked_.ast->root);
  }

  static const Type* Unwrapped(const Type* type) {
    return type->parameters.empty() ? &types::kDyn : type->parameters[0];
  }

  void CheckList(const Expr* expr) {
    const Type* first = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      const Type* type = checked_.TypeOf(expr->args[i]);
      const auto index = static_cast<std::int32_t>(i);
      if (std::ranges::find(expr->optional_indices, index) != expr->optional_indices.end()) {
        type = Unwrapped(type);
      }
      if (first == nullptr) {
        first = type;
      } else if (!IsEquivalentType(first, type)) {
        return Mismatch(expr->args[i], first, type);
      }
    }
  }

  void CheckMap(const Expr* expr) {
    const Type* key_type = nullptr;
    const Type* value_type = nullptr;
    for (const Entry& entry : expr->entries) {
      const Type* key = checked_.TypeOf(entry.key);
      const Type* value = checked_.TypeOf(entry.value);
      if (entry.optional) value = Unwrapped(value);
      if (key_type == nullptr) {
        key_type = key;
        value_type = value;
        continue;
      }
      if (!IsEquivalentType(key_type, key)) Mismatch(entry.key, key_type, key);
      if (!IsEquivalentType(value_type, value)) Mismatch(entry.value, value_type, value);
    }
  }

  // --- Format strings

  struct FormatArgs;

  void CheckFormats() {
    ForCalls("format", [&](const Expr* call) {
      const bool literal = call->member && IsString(call->target) && call->args.size() == 1 &&
                           call->args[0]->kind == ExprKind::kList;
      if (literal) CheckFormat(call);
    });
  }

  [[nodiscard]] FormatStyle style() const {
    return env_.format == Environment::FormatVersion::kLocale ? FormatStyle::kLocale
                                                              : FormatStyle::kPlain;
  }

  void CheckFormat(const Expr* call);

  const CheckedAst& checked_;
  const Environment& env_;
  std::vector<Issue> issues_;
};

constexpr auto kStringKinds = std::to_array<TypeKind>(
    {TypeKind::kList, TypeKind::kMap, TypeKind::kInt, TypeKind::kUint, TypeKind::kDouble,
     TypeKind::kBool, TypeKind::kString, TypeKind::kTimestamp, TypeKind::kBytes,
     TypeKind::kDuration, TypeKind::kType, TypeKind::kNull});

// The types of arguments that a clause takes.
std::span<const TypeKind> KindsFor(char verb, FormatStyle style) {
  static constexpr std::array kIntegers = {TypeKind::kInt, TypeKind::kUint};
  static constexpr std::array kNumbers = {TypeKind::kInt, TypeKind::kUint, TypeKind::kDouble};
  static constexpr std::array kDoubleOrText = {TypeKind::kDouble, TypeKind::kString};
  static constexpr std::array kBinary = {TypeKind::kInt, TypeKind::kUint, TypeKind::kBool};
  static constexpr std::array kHex = {TypeKind::kInt, TypeKind::kUint, TypeKind::kString,
                                      TypeKind::kBytes};
  const bool plain = style == FormatStyle::kPlain;
  switch (verb) {
    case 'd':
      return plain ? std::span<const TypeKind>(kNumbers) : kIntegers;
    case 'f':
    case 'e':
      return plain ? std::span<const TypeKind>(kNumbers) : kDoubleOrText;
    case 'b':
      return kBinary;
    case 'x':
    case 'X':
      return kHex;
    case 'o':
      return kIntegers;
    default:
      return kStringKinds;
  }
}

// Takes the arguments of a format call by their types.
struct Validator::FormatArgs final : FormatVisitor {
  FormatArgs(const CheckedAst& checked_ast, FormatStyle format_style, std::span<Expr* const> list)
      : checked(checked_ast), style(format_style), args(list) {}

  const CheckedAst& checked;
  FormatStyle style;
  std::span<Expr* const> args;
  std::int64_t asked = 0;
  const Expr* wrong = nullptr;  // the argument that does not fit

  void OnText(char) override {}
  std::expected<void, std::string> OnArgument(std::int64_t) override {
    ++asked;
    return {};
  }

  [[nodiscard]] bool Fits(const Expr* expr, char verb) const {
    const Type* type = checked.TypeOf(expr);
    return type->kind == TypeKind::kDyn ||
           std::ranges::find(KindsFor(verb, style), type->kind) != KindsFor(verb, style).end();
  }

  // The first part of a nested literal that %s does not take.
  [[nodiscard]] const Expr* FindWrong(const Expr* expr, char verb) const {
    if (!Fits(expr, verb)) return expr;
    if (verb != 's') return nullptr;
    if (expr->kind == ExprKind::kList) {
      for (const Expr* element : expr->args) {
        if (const Expr* found = FindWrong(element, verb)) return found;
      }
    }
    if (expr->kind == ExprKind::kMap) {
      for (const Entry& entry : expr->entries) {
        if (const Expr* found = FindWrong(entry.key, verb)) return found;
        if (const Expr* found = FindWrong(entry.value, verb)) return found;
      }
    }
    return nullptr;
  }

  std::expected<void, std::string> OnClause(std::int64_t index,
                                            const FormatClause& clause) override {
    wrong = FindWrong(args[index], clause.verb);
    if (wrong == nullptr) return {};
    return std::unexpected(WrongKindFor(clause.verb, style, checked.TypeOf(wrong)->name));
  }
};

void Validator::CheckFormat(const Expr* call) {
  FormatArgs args(checked_, style(), call->args[0]->args);
  const auto count = static_cast<std::int64_t>(args.args.size());
  const auto done = WalkFormat(call->target->literal.text, count, style(), args);
  if (!done) {
    Report(args.wrong != nullptr ? args.wrong : call, done.error());
  } else if (count > args.asked) {
    Report(call, "too many arguments supplied to string.format (expected " +
                     std::to_string(args.asked) + ", got " + std::to_string(count) + ")");
  }
}

}  // namespace

std::vector<Issue> ValidateLiterals(const CheckedAst& checked, const Environment& env) {
  return Validator(checked, env).Run();
}

std::expected<CheckedAst, CompileIssues> CompileExpression(std::string_view text,
                                                           const Environment& env) {
  using Phase = CompileIssues::Phase;
  auto parsed = Parse(text, {.macros = &env.check.macros});
  if (!parsed) {
    return std::unexpected(CompileIssues{std::move(parsed.error().ast),
                                         std::move(parsed.error().issues), Phase::kParse});
  }
  CheckResult result = Check(std::move(*parsed), env.check);
  if (result.issues.empty()) result.issues = ValidateLiterals(result.checked, env);
  if (!result.issues.empty()) {
    return std::unexpected(
        CompileIssues{std::move(result.checked.ast), std::move(result.issues), Phase::kCheck});
  }
  return std::move(result.checked);
}

}  // namespace drachma::cel
