#include "selector/program.h"

#include <array>
#include <utility>

#include "cel/eval/format.h"
#include "cel/ext/quantity.h"
#include "cel/ext/validators.h"
#include "selector/device_impl.h"
#include "selector/environment.h"
#include "selector/program_impl.h"

namespace drachma::selector {
namespace {

using cel::Value;
using cel::ValueKind;

// Memory on the stack for the values of one evaluation: enough for the usual selectors.
constexpr std::size_t kEvaluationBytes = 1024;

CompileError Invalid(std::string message) {
  return {.type = CompileError::Type::kInvalid, .message = std::move(message), .issues = {}};
}
CompileError Internal(std::string message) {
  return {.type = CompileError::Type::kInternal, .message = std::move(message), .issues = {}};
}

bool IsDerivedScalar(const cel::Type* type) {
  switch (type->kind) {
    case cel::TypeKind::kBool:
    case cel::TypeKind::kInt:
    case cel::TypeKind::kString:
      return !type->nullable;
    case cel::TypeKind::kAny:
    case cel::TypeKind::kDyn:
      return true;
    default:
      return type->kind == cel::TypeKind::kStruct && type->name == "kubernetes.Semver";
  }
}

// What is wrong with the type of the whole expression; empty when nothing is.
std::string CheckOutputType(const cel::Type* type, const DeviceEnvironment& env,
                            const CompileOptions& options) {
  if (options.purpose == Purpose::kSelector) {
    if (cel::IsExactType(type, &cel::types::kBool) || cel::IsExactType(type, env.attribute_type)) {
      return {};
    }
    return "must evaluate to bool or the unknown type, not " + cel::TypeToString(type);
  }
  const bool lists = options.list_type_attributes || options.environment == Environment::kStored;
  if (IsDerivedScalar(type)) return {};
  if (lists && type->kind == cel::TypeKind::kList && IsDerivedScalar(type->parameters[0])) {
    return {};
  }
  const std::string what = lists ? " or a list of these scalars" : "";
  return "must evaluate to a primitive scalar (string, integer, boolean, semver)" + what +
         ", not " + cel::TypeToString(type);
}

CompileError FromIssues(const cel::CompileIssues& issues) {
  CompileError error = Invalid("compilation failed: " + issues.ToString());
  for (const cel::Issue& issue : issues.issues) {
    error.issues.push_back(
        {.line = issue.location.line, .column = issue.location.column, .message = issue.message});
  }
  return error;
}

// What Go's types call themselves where they do not convert.
std::string_view NameInConversions(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kDouble:
      return "Double";
    case ValueKind::kBytes:
      return "Bytes";
    case ValueKind::kTimestamp:
      return "'Timestamp'";
    case ValueKind::kDuration:
      return "'Duration'";
    case ValueKind::kNull:
      return "'null_type'";
    case ValueKind::kList:
      return "list";
    case ValueKind::kMap:
      return "map";
    default:
      return {};
  }
}

// Why a value is no bool, in the words of each of upstream's types.
void AddNoBool(const Value& value, ErrorText& text) {
  switch (value.kind()) {
    case ValueKind::kInt:
      text += "unsupported type conversion from 'int' to bool";
      return;
    case ValueKind::kUint:
      text += "unsupported type conversion from 'uint' to bool";
      return;
    case ValueKind::kString:
      text += "unsupported native conversion from string to 'bool'";
      return;
    case ValueKind::kType:
      text += "type conversion not supported for 'type'";
      return;
    case ValueKind::kOptional:
      if (value.HasValue()) return AddNoBool(value.Inner(), text);
      text += "optional.none() dereference";
      return;
    default:
      break;
  }
  text += "type conversion error from ";
  if (const std::string_view name = NameInConversions(value); !name.empty()) {
    text += name;
  } else {
    // The last part of an object's name, in quotes.
    std::string_view type = cel::TypeNameOf(value);
    type.remove_prefix(type.rfind('.') + 1);
    text += "'";
    text += type == "NamedFormat" ? "Format" : type;
    text += "'";
  }
  text += " to 'bool'";
}

// The name of the Go value that a CEL value holds.
std::string_view GoValueName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "structpb.NullValue";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int64";
    case ValueKind::kUint:
      return "uint64";
    case ValueKind::kDouble:
      return "float64";
    case ValueKind::kString:
    case ValueKind::kType:
      return "string";
    case ValueKind::kBytes:
      return "[]uint8";
    case ValueKind::kTimestamp:
      return "time.Time";
    case ValueKind::kDuration:
      return "time.Duration";
    case ValueKind::kList:
      return "[]ref.Val";
    case ValueKind::kMap:
      return "map[ref.Val]ref.Val";
    case ValueKind::kOptional:
      return value.HasValue() ? GoValueName(value.Inner()) : "<nil>";
    default:
      return cel::QuantityOf(value) != nullptr ? "*resource.Quantity"
             : cel::SemverOf(value) != nullptr ? "semver.Version"
                                               : cel::TypeNameOf(value);
  }
}

// A scalar as an attribute value; monostate for what is none.
AttributeValue ToScalar(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return value.AsBool();
    case ValueKind::kInt:
      return value.AsInt();
    case ValueKind::kString:
    case ValueKind::kType:
      return std::string(value.AsText());
    case ValueKind::kOptional:
      return value.HasValue() ? ToScalar(value.Inner()) : AttributeValue();
    default:
      if (const Semver* version = cel::SemverOf(value)) return Version{version->ToString()};
      return {};
  }
}

std::string_view ScalarName(const AttributeValue& value) {
  constexpr std::array<std::string_view, 5> kNames = {"", "int", "bool", "string", "semver"};
  return kNames[value.index()];
}

template <typename T>
Result<AttributeValue> ToListOf(const cel::ListData& list, const AttributeValue& first) {
  std::vector<T> items;
  for (const Value& element : list.elements()) {
    const AttributeValue item = ToScalar(element);
    if (item.index() != first.index()) {
      return Fail(Code::kInvalid, "expected list element at index " + std::to_string(items.size()) +
                                      " to be " + std::string(ScalarName(first)) + ", got " +
                                      std::string(GoValueName(element)));
    }
    items.push_back(std::get<T>(item));
  }
  return AttributeValue(std::move(items));
}

Result<AttributeValue> ToAttribute(const Value& value) {
  if (value.IsList()) {
    const cel::ListData& list = value.AsList();
    if (list.size == 0) return AttributeValue(std::vector<std::string>());
    const AttributeValue first = ToScalar(list.items[0]);
    if (std::holds_alternative<bool>(first)) return ToListOf<bool>(list, first);
    if (std::holds_alternative<std::int64_t>(first)) return ToListOf<std::int64_t>(list, first);
    if (std::holds_alternative<std::string>(first)) return ToListOf<std::string>(list, first);
    if (std::holds_alternative<Version>(first)) return ToListOf<Version>(list, first);
    return Fail(Code::kInvalid,
                "unsupported list element type: " + std::string(GoValueName(list.items[0])));
  }
  AttributeValue scalar = ToScalar(value);
  if (!std::holds_alternative<std::monostate>(scalar)) return scalar;
  return Fail(Code::kInvalid, "unsupported CEL return type: " + std::string(GoValueName(value)));
}

}  // namespace

bool DeviceActivation::Find(std::string_view name, Value* value) const {
  if (name != "device") return false;
  *value = device_.AsMap();
  return true;
}

cel::PlanOptions PlanOptionsFor(const DeviceEnvironment& env) {
  static const DevicePaths kPaths;
  return {.functions = &env.cel.functions,
          .costs = cel::KubernetesCallCost,
          .paths = &kPaths,
          .optimize = true};
}

Program::Program(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

Outcome Program::Match(const Device& device, const std::atomic<bool>* interrupt) const {
  Outcome outcome;
  const Device::Impl& host = device.impl();
  if (!host.error.empty()) [[unlikely]] {
    outcome.error = host.error;
    return outcome;
  }
  alignas(std::max_align_t) std::array<std::byte, kEvaluationBytes> memory;
  cel::Arena arena(memory.data(), memory.size());
  const DeviceActivation activation(host);
  cel::Frame frame{.arena = arena, .activation = &activation, .host = &host};
  frame.cost_limit = impl_->options.cost_limit;
  frame.interrupt = interrupt;
  const Value value = impl_->plan->Eval(frame);
  outcome.cost = frame.cost;
  outcome.has_cost = true;
  const Value& inner = value.IsOptional() && value.HasValue() ? value.Inner() : value;
  if (inner.IsBool()) {
    outcome.verdict = inner.AsBool() ? Verdict::kMatch : Verdict::kNoMatch;
  } else if (value.IsError()) {
    outcome.error = value.AsText();
  } else {
    outcome.error = "CEL result of type ";
    outcome.error += cel::TypeNameOf(value);
    outcome.error += " could not be converted to bool: ";
    AddNoBool(value, outcome.error);
  }
  return outcome;
}

DerivedOutcome Program::EvaluateDerived(const Device& device,
                                        const std::atomic<bool>* interrupt) const {
  const Device::Impl& host = device.impl();
  if (!host.error.empty()) return {.value = Fail(Code::kInvalid, host.error)};
  cel::Arena arena;
  const DeviceActivation activation(host);
  cel::Frame frame{.arena = arena, .activation = &activation, .host = &host};
  frame.cost_limit = impl_->options.cost_limit;
  frame.interrupt = interrupt;
  const Value value = impl_->plan->Eval(frame);
  DerivedOutcome outcome{.value = AttributeValue(), .cost = frame.cost, .has_cost = true};
  if (value.IsError()) {
    outcome.value = Fail(Code::kInvalid, std::string(value.AsText()));
  } else {
    outcome.value = ToAttribute(value);
  }
  return outcome;
}

const std::string& Program::expression() const { return impl_->expression; }
std::uint64_t Program::max_cost() const { return impl_->max_cost; }
std::string Program::output_type() const { return cel::TypeToString(impl_->checked.output_type()); }

std::expected<Program, CompileError> Compile(std::string_view expression,
                                             const CompileOptions& options) {
  const DeviceEnvironment& env = DeviceEnvironment::Get(options);
  auto checked = cel::CompileExpression(expression, env.cel);
  if (!checked) return std::unexpected(FromIssues(checked.error()));
  std::string wrong_type = CheckOutputType(checked->output_type(), env, options);
  if (!wrong_type.empty()) return std::unexpected(Invalid(std::move(wrong_type)));
  auto plan = cel::MakePlan(*checked, PlanOptionsFor(env));
  if (!plan) return std::unexpected(Internal("program instantiation failed: " + plan.error()));
  auto impl = std::make_unique<Program::Impl>();
  impl->expression = expression;
  impl->options = options;
  impl->env = &env;
  impl->plan = *std::move(plan);
  if (options.estimate_cost) {
    impl->max_cost = cel::EstimateCost(*checked, DeviceCostHints(env)).max;
  }
  impl->checked = *std::move(checked);
  return Program(std::move(impl));
}

std::string EnhanceRuntimeError(std::string error) {
  constexpr std::string_view kHint =
      ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check "
      "with has() for optional fields";
  if (error.contains("no such key:") && !error.ends_with(kHint)) error += kHint;
  return error;
}

}  // namespace drachma::selector
