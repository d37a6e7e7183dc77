#include "apiserver/policy_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/admission_refusal.h"
#include "cel/eval/lazy_fields.h"
#include "cel/ext/costs.h"
#include "cel/ext/patch_types.h"
#include "cel/ext/validators.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kVariables = "kubernetes.variables";

// --- The types of `request` and `namespaceObject`.

struct FieldRow {
  std::string_view name;
  std::string_view type;  // as ParseType reads it
};
struct StructRow {
  std::string_view name;
  std::vector<FieldRow> fields;
};

// Structs stand before those that they are fields of.
const std::vector<StructRow>& Structs() {
  static const std::vector<StructRow> kStructs = {
      {"kubernetes.GroupVersionKind",
       {{"group", "string"}, {"version", "string"}, {"kind", "string"}}},
      {"kubernetes.GroupVersionResource",
       {{"group", "string"}, {"version", "string"}, {"resource", "string"}}},
      {"kubernetes.UserInfo",
       {{"username", "string"},
        {"uid", "string"},
        {"groups", "list(string)"},
        {"extra", "map(string, list(string))"}}},
      {"kubernetes.AdmissionRequest",
       {{"kind", "kubernetes.GroupVersionKind"},
        {"resource", "kubernetes.GroupVersionResource"},
        {"subResource", "string"},
        {"requestKind", "kubernetes.GroupVersionKind"},
        {"requestResource", "kubernetes.GroupVersionResource"},
        {"requestSubResource", "string"},
        {"name", "string"},
        {"namespace", "string"},
        {"operation", "string"},
        {"userInfo", "kubernetes.UserInfo"},
        {"dryRun", "bool"},
        {"options", "dyn"}}},
      {"kubernetes.NamespaceSpec", {{"finalizers", "list(string)"}}},
      {"kubernetes.NamespaceCondition",
       {{"status", "string"},
        {"type", "string"},
        {"lastTransitionTime", "google.protobuf.Timestamp"},
        {"message", "string"},
        {"reason", "string"}}},
      {"kubernetes.NamespaceStatus",
       {{"conditions", "list(kubernetes.NamespaceCondition)"}, {"phase", "string"}}},
      {"kubernetes.NamespaceMetadata",
       {{"name", "string"},
        {"generateName", "string"},
        {"namespace", "string"},
        {"labels", "map(string, string)"},
        {"annotations", "map(string, string)"},
        {"UID", "string"},
        {"creationTimestamp", "google.protobuf.Timestamp"},
        {"deletionGracePeriodSeconds", "int"},
        {"deletionTimestamp", "google.protobuf.Timestamp"},
        {"generation", "int"},
        {"resourceVersion", "string"},
        {"finalizers", "list(string)"}}},
      {"kubernetes.Namespace",
       {{"metadata", "kubernetes.NamespaceMetadata"},
        {"spec", "kubernetes.NamespaceSpec"},
        {"status", "kubernetes.NamespaceStatus"}}},
  };
  return kStructs;
}

const cel::Type* ReadType(cel::CheckEnv& env, std::string_view text) {
  return cel::ParseType(env.arena(), text, {});
}

void DeclareStructs(cel::CheckEnv& env) {
  for (const StructRow& row : Structs()) {
    cel::StructDecl declaration{.type = cel::StructType(env.arena(), row.name), .fields = {}};
    for (const FieldRow& field : row.fields) {
      declaration.fields.emplace(field.name, ReadType(env, field.type));
    }
    env.AddStruct(std::move(declaration));
  }
}

// The types of variables that expressions see; objects of libraries and structs are dyn
// (convertCelTypeToDeclType).
const cel::Type* VisibleType(cel::Arena& arena, const cel::Type* type) {
  using cel::TypeKind;
  switch (type->kind) {
    case TypeKind::kList:
      return cel::ListOf(arena, VisibleType(arena, type->parameters[0]));
    case TypeKind::kMap:
      return cel::MapOf(arena, VisibleType(arena, type->parameters[0]),
                        VisibleType(arena, type->parameters[1]));
    case TypeKind::kBool:
    case TypeKind::kBytes:
    case TypeKind::kDouble:
    case TypeKind::kDuration:
    case TypeKind::kInt:
    case TypeKind::kNull:
    case TypeKind::kString:
    case TypeKind::kTimestamp:
    case TypeKind::kUint:
      // Scalars are these very objects everywhere.
      return type->nullable ? &cel::types::kDyn : type;
    default:
      return &cel::types::kDyn;
  }
}

// Empty when an expression of `type` may stand where `returns` is wanted.
std::string WrongType(const cel::Type* type, PolicyCompiler::Returns returns) {
  using Returns = PolicyCompiler::Returns;
  if (returns == Returns::kAnything || type->kind == cel::TypeKind::kAny) return {};
  const std::string actual = cel::TypeToString(type);
  const bool is_string = type->kind == cel::TypeKind::kString && !type->nullable;
  if (returns == Returns::kStringOrNull) {
    if (is_string || type->kind == cel::TypeKind::kNull) return {};
    return fmt::format("must evaluate to one of [string null_type] but got {}", actual);
  }
  if (returns == Returns::kObject || returns == Returns::kPatches) {
    const std::string_view wanted = returns == Returns::kObject ? "Object" : "list(JSONPatch)";
    return actual == wanted ? std::string()
                            : fmt::format("must evaluate to {} but got {}", wanted, actual);
  }
  if (returns == Returns::kString) {
    return is_string ? std::string() : fmt::format("must evaluate to string but got {}", actual);
  }
  if (type->kind == cel::TypeKind::kBool && !type->nullable) return {};
  return fmt::format("must evaluate to bool but got {}", actual);
}

}  // namespace

std::shared_ptr<cel::Environment> PolicyCompiler::EnvironmentWith(Knows knows) {
  auto& made = environments_[static_cast<std::size_t>(knows)];
  if (made != nullptr) return made;
  made = std::make_shared<cel::Environment>();
  AddKubernetesLibraries(*made);
  cel::CheckEnv& env = made->check;
  DeclareStructs(env);
  env.AddVariable("object", &cel::types::kDyn);
  env.AddVariable("oldObject", &cel::types::kDyn);
  env.AddVariable("namespaceObject", cel::StructType(env.arena(), "kubernetes.Namespace"));
  env.AddVariable("request", cel::StructType(env.arena(), "kubernetes.AdmissionRequest"));
  if (options_.params) env.AddVariable("params", &cel::types::kDyn);
  if (knows == Knows::kPatchTypes) cel::AddPatchTypes(*made);
  if (knows != Knows::kObjects) {
    env.AddVariable("authorizer", cel::StructType(env.arena(), cel::kAuthorizerType));
    env.AddVariable("authorizer.requestResource",
                    cel::StructType(env.arena(), cel::kResourceCheckType));
  }
  if (options_.variables) {
    env.AddVariable("variables", cel::StructType(env.arena(), kVariables));
    DeclareVariables(env);
  }
  return made;
}

void PolicyCompiler::DeclareVariables(cel::CheckEnv& env) const {
  cel::StructDecl declaration{.type = cel::StructType(env.arena(), kVariables), .fields = {}};
  for (const auto& [name, type] : types_) {
    declaration.fields[name] = VisibleType(env.arena(), type);
  }
  env.AddStruct(std::move(declaration));
}

PolicyExpression PolicyCompiler::Compile(std::string_view text, Returns returns, MayAsk may_ask) {
  PolicyExpression expression{.text = std::string(text), .program = {}, .fault = {}};
  const bool patches = returns == Returns::kObject || returns == Returns::kPatches;
  const std::shared_ptr<cel::Environment> env =
      EnvironmentWith(patches                   ? Knows::kPatchTypes
                      : may_ask == MayAsk::kYes ? Knows::kAuthorizer
                                                : Knows::kObjects);
  auto checked = cel::CompileExpression(text, *env);
  if (!checked) {
    expression.fault = "compilation failed: " + checked.error().ToString();
    return expression;
  }
  expression.fault = WrongType(checked->output_type(), returns);
  if (!expression.fault.empty()) return expression;
  auto plan = cel::MakePlan(*checked, {.functions = &env->functions,
                                       .costs = cel::KubernetesCallCost,
                                       .paths = nullptr,
                                       .structs = patches ? &cel::PatchStructs() : nullptr,
                                       .optimize = true});
  if (!plan) {
    expression.fault = "program instantiation failed: " + plan.error();
    return expression;
  }
  expression.program =
      CelProgram{.env = env, .checked = *std::move(checked), .plan = *std::move(plan)};
  return expression;
}

PolicyVariable PolicyCompiler::CompileVariable(std::string_view name, std::string_view text) {
  PolicyVariable variable{.name = std::string(name),
                          .expression = Compile(text, Returns::kAnything, MayAsk::kYes)};
  const auto& program = variable.expression.program;
  types_[variable.name] =
      program ? VisibleType(arena_, program->checked.output_type()) : &cel::types::kDyn;
  for (const auto& env : environments_) {
    if (env != nullptr) DeclareVariables(env->check);
  }
  return variable;
}

namespace {

// `variables` of one evaluation.
class Variables final : public cel::OpaqueData {
 public:
  Variables(std::span<const PolicyVariable> variables, const cel::Activation& activation,
            cel::Arena& arena);

  bool Find(std::string_view name, cel::Value* value);
  // What variables have cost since the last call.
  [[nodiscard]] std::uint64_t TakeCost() { return std::exchange(cost_, 0); }

 private:
  [[nodiscard]] cel::Value Work(const PolicyVariable& variable);

  std::span<const PolicyVariable> variables_;
  const cel::Activation& activation_;
  cel::Arena& arena_;
  std::map<std::string_view, cel::Value> known_;
  std::uint64_t cost_ = 0;
};

class VariablesClass final : public cel::LazyFields {
 public:
  [[nodiscard]] std::string_view name() const override { return kVariables; }
  [[nodiscard]] cel::Value Equal(const cel::OpaqueData& self,
                                 const cel::Value& other) const override {
    if (other.IsError()) return other;
    if (other.kind() != cel::ValueKind::kOpaque || other.AsOpaque().type != this) {
      return cel::NoSuchOverload();
    }
    return cel::Value::Bool(&self == &other.AsOpaque());
  }
  [[nodiscard]] std::string ToString(const cel::OpaqueData&) const override {
    return std::string(kVariables);
  }
  [[nodiscard]] bool FindField(const cel::OpaqueData& self, std::string_view name,
                               cel::Value* value) const override {
    // Values are worked out while an expression reads them; nobody else sees this object.
    return const_cast<Variables&>(static_cast<const Variables&>(self)).Find(name, value);
  }
};
const VariablesClass kVariablesClass;

Variables::Variables(std::span<const PolicyVariable> variables, const cel::Activation& activation,
                     cel::Arena& arena)
    : variables_(variables), activation_(activation), arena_(arena) {
  type = &kVariablesClass;
}

bool Variables::Find(std::string_view name, cel::Value* value) {
  if (const auto known = known_.find(name); known != known_.end()) {
    *value = known->second;
    return true;
  }
  const auto found =
      std::ranges::find(variables_.rbegin(), variables_.rend(), name, &PolicyVariable::name);
  if (found == variables_.rend()) return false;
  // A variable of an earlier one's name may speak of itself.
  known_[found->name] = cel::Value::Error("composited variable refers to itself");
  *value = known_[found->name] = Work(*found);
  return true;
}

cel::Value Variables::Work(const PolicyVariable& variable) {
  const PolicyExpression& expression = variable.expression;
  if (!expression.program) {
    return cel::MakeError(arena_, fmt::format("composited variable \"{}\" fails to compile: {}",
                                              variable.name, expression.fault));
  }
  cel::Frame frame{.arena = arena_, .activation = &activation_};
  frame.cost_limit = kCelCallCostMax;
  const cel::Value value = expression.program->plan->Eval(frame);
  cost_ += frame.cost;
  if (!value.IsError()) return value;
  return cel::MakeError(arena_, fmt::format("composited variable \"{}\" fails to evaluate: {}",
                                            variable.name, value.AsText()));
}

class PolicyActivation final : public cel::Activation {
 public:
  explicit PolicyActivation(const PolicyInputs& inputs) : inputs_(inputs) {}
  void SetVariables(cel::Value variables) { variables_ = variables; }

  [[nodiscard]] bool Find(std::string_view name, cel::Value* value) const override {
    struct Row {
      std::string_view name;
      const cel::Value* value;
    };
    const std::array<Row, 8> rows = {{
        {"object", &inputs_.object},
        {"oldObject", &inputs_.old_object},
        {"params", &inputs_.params},
        {"request", &inputs_.request},
        {"namespaceObject", &inputs_.namespace_object},
        {"variables", &variables_},
        {"authorizer", inputs_.authorizer ? &*inputs_.authorizer : nullptr},
        {"authorizer.requestResource",
         inputs_.request_resource ? &*inputs_.request_resource : nullptr},
    }};
    const auto found = std::ranges::find(rows, name, &Row::name);
    if (found == rows.end() || found->value == nullptr) return false;
    *value = *found->value;
    return true;
  }

 private:
  const PolicyInputs& inputs_;
  cel::Value variables_;
};

constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

}  // namespace

PolicyResults EvaluatePolicy(std::span<const PolicyExpression* const> expressions,
                             std::span<const PolicyVariable> variables, const PolicyInputs& inputs,
                             std::uint64_t budget, cel::Arena& arena) {
  PolicyActivation activation(inputs);
  auto* lazy = arena.Own<Variables>(variables, activation, arena);
  activation.SetVariables(cel::Value::Opaque(lazy));
  PolicyResults all{.results = {}, .budget = budget, .error = {}};
  for (const PolicyExpression* expression : expressions) {
    PolicyResults::One& one = all.results.emplace_back();
    if (expression == nullptr) continue;
    one.evaluated = true;
    if (!expression->program) {
      one.error = "compilation error: " + expression->fault;
      continue;
    }
    cel::Frame frame{.arena = arena, .activation = &activation};
    frame.cost_limit = kCelCallCostMax;
    one.value = expression->program->plan->Eval(frame);
    const std::uint64_t cost = cel::CostAdd(lazy->TakeCost(), frame.cost);
    if (cost > all.budget) {
      return {.results = {}, .budget = 0, .error = std::string(kOutOfBudget)};
    }
    all.budget -= cost;
    if (one.value.IsError()) {
      one.error = fmt::format("expression '{}' resulted in error: {}", expression->text,
                              one.value.AsText());
    }
  }
  return all;
}

std::expected<bool, std::string> EvaluateConditions(std::span<const PolicyExpression> conditions,
                                                    std::span<const PolicyVariable> variables,
                                                    const PolicyInputs& inputs, cel::Arena& arena) {
  if (conditions.empty()) return true;
  std::vector<const PolicyExpression*> all;
  for (const PolicyExpression& condition : conditions) all.push_back(&condition);
  const PolicyResults results =
      EvaluatePolicy(all, variables, inputs, kMatchConditionsBudget, arena);
  std::vector<std::string> errors;
  if (!results.error.empty()) errors.push_back(results.error);
  for (const PolicyResults::One& one : results.results) {
    if (!one.error.empty()) {
      errors.push_back(one.error);
    } else if (one.value.IsFalse()) {
      return false;
    }
  }
  if (errors.empty()) return true;
  return std::unexpected(AggregateText(errors));
}

}  // namespace drachma::apiserver
