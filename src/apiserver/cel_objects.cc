#include "apiserver/cel_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "apiserver/cel_formats.h"
#include "cel/ext/costs.h"
#include "cel/ext/validators.h"

namespace drachma::apiserver {
namespace {

using json::Member;

bool KeepsUnknown(const json::Value& schema) {
  return schema["x-kubernetes-preserve-unknown-fields"].AsBool();
}

bool IsWord(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// Words that expressions cannot use as names.
bool IsReserved(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kWords = {
      "true",   "false", "null",     "in",    "as",        "break",  "const", "continue",
      "else",   "for",   "function", "if",    "let",       "import", "loop",  "package",
      "return", "var",   "void",     "while", "namespace", "struct"};
  return std::ranges::find(kWords, name) != kWords.end();
}

cel::Value ListOfJson(cel::Arena& arena, const json::Value& value, const json::Value& schema) {
  std::vector<cel::Value> items;
  items.reserve(value.size());
  for (const json::Value& item : value.Items()) {
    items.push_back(ValueOfJson(arena, item, schema["items"]));
  }
  return cel::MakeList(arena, items);
}

cel::Value MapOfJson(cel::Arena& arena, const json::Value& value, const json::Value& schema) {
  static const json::Value kAny;
  std::vector<cel::MapEntry> entries;
  entries.reserve(value.size());
  const json::Value& properties = schema["properties"];
  for (const Member& member : value.Members()) {
    const json::Value* property = properties.Find(member.key());
    if (property == nullptr) {
      const json::Value& inner =
          schema["additionalProperties"].IsObject() ? schema["additionalProperties"] : kAny;
      entries.push_back(
          {cel::Value::CountedString(member.key()), ValueOfJson(arena, member.value, inner)});
      continue;
    }
    // A property that is null counts as not there.
    const std::string name = EscapedName(member.key());
    if (name.empty() || (member.value.IsNull() && !(*property)["nullable"].AsBool())) continue;
    entries.push_back({cel::MakeString(arena, name), ValueOfJson(arena, member.value, *property)});
  }
  return cel::MakeMap(arena, entries);
}

}  // namespace

void AddKubernetesLibraries(cel::Environment& env) {
  cel::AddStandard(env);
  cel::AddKubernetesUrls(env);
  cel::AddKubernetesRegex(env);
  cel::AddKubernetesLists(env);
  cel::AddKubernetesAuthorizer(env);
  env.check.cross_type_comparisons = true;
  cel::AddOptional(env);
  cel::AddKubernetesQuantity(env);
  env.validate_literals = true;
  cel::AddStrings(env, cel::StringsVersion::kTwo);
  cel::AddSets(env);
  cel::AddKubernetesIp(env);
  cel::AddKubernetesCidr(env);
  cel::AddKubernetesFormat(env);
  cel::AddKubernetesAuthorizerSelectors(env);
  cel::AddTwoVariableComprehensions(env);
  cel::AddKubernetesSemver(env);
  cel::AddLists(env);
}

std::string EscapedName(std::string_view name) {
  if (IsReserved(name)) return fmt::format("__{}__", name);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return {};
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("__")) {
      escaped += "__underscores__";
      ++i;
    } else if (IsWord(name[i])) {
      escaped += name[i];
    } else if (name[i] == '.') {
      escaped += "__dot__";
    } else if (name[i] == '-') {
      escaped += "__dash__";
    } else if (name[i] == '/') {
      escaped += "__slash__";
    } else {
      return {};
    }
  }
  return escaped;
}

const cel::Type* TypeOfSchema(cel::CheckEnv& env, const json::Value& schema,
                              const std::string& name) {
  const std::string_view type = schema["type"].AsString();
  if (schema["x-kubernetes-int-or-string"].AsBool()) return &cel::types::kDyn;
  if (type == "boolean") return &cel::types::kBool;
  if (type == "integer") return &cel::types::kInt;
  if (type == "number") return &cel::types::kDouble;
  if (type == "string") return TypeOfFormat(schema["format"].AsString());
  cel::Arena& arena = env.arena();
  if (type == "array") {
    return cel::ListOf(arena, TypeOfSchema(env, schema["items"], name + ".@idx"));
  }
  if (type != "object") return &cel::types::kDyn;
  if (schema["additionalProperties"].IsObject()) {
    return cel::MapOf(arena, &cel::types::kString,
                      TypeOfSchema(env, schema["additionalProperties"], name + ".@elem"));
  }
  if (schema["properties"].empty() && KeepsUnknown(schema)) return &cel::types::kDyn;
  cel::StructDecl declaration;
  declaration.type = cel::StructType(arena, arena.CopyString(name));
  for (const Member& property : schema["properties"].Members()) {
    const std::string escaped = EscapedName(property.key());
    if (escaped.empty()) continue;
    declaration.fields[escaped] = TypeOfSchema(env, property.value, name + "." + escaped);
  }
  const cel::Type* result = declaration.type;
  env.AddStruct(std::move(declaration));
  return result;
}

cel::Value ValueOfJson(cel::Arena& arena, const json::Value& value, const json::Value& schema) {
  switch (value.kind()) {
    case json::Kind::kBool:
      return cel::Value::Bool(value.AsBool());
    case json::Kind::kInt:
      if (schema["type"].AsString() == "number") {
        return cel::Value::Double(static_cast<double>(value.AsInt()));
      }
      return cel::Value::Int(value.AsInt());
    case json::Kind::kDouble:
      if (schema["type"].AsString() == "integer") {
        return cel::Value::Int(static_cast<std::int64_t>(value.AsDouble()));
      }
      return cel::Value::Double(value.AsDouble());
    case json::Kind::kString:
      if (schema["type"].AsString() != "string") return cel::Value::CountedString(value.AsString());
      return ValueOfFormat(arena, schema["format"].AsString(), value.AsString());
    case json::Kind::kArray:
      return ListOfJson(arena, value, schema);
    case json::Kind::kObject:
      return MapOfJson(arena, value, schema);
    default:
      return cel::Value::Null();
  }
}

bool CelVariables::Find(std::string_view name, cel::Value* value) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return false;
  *value = found->second;
  return true;
}

std::expected<CelProgram, std::string> CompileCel(std::string_view text,
                                                  std::shared_ptr<const cel::Environment> env,
                                                  cel::TypeKind wanted,
                                                  std::string_view wanted_words) {
  auto checked = cel::CompileExpression(text, *env);
  if (!checked) return std::unexpected("compilation failed: " + checked.error().ToString());
  const cel::Type* type = checked->output_type();
  if (type->kind != wanted && type->kind != cel::TypeKind::kDyn) {
    return std::unexpected(std::string(wanted_words));
  }
  auto plan = cel::MakePlan(*checked, {.functions = &env->functions,
                                       .costs = cel::KubernetesCallCost,
                                       .paths = nullptr,
                                       .optimize = true});
  if (!plan) return std::unexpected("program instantiation failed: " + plan.error());
  return CelProgram{
      .env = std::move(env), .checked = *std::move(checked), .plan = *std::move(plan)};
}

}  // namespace drachma::apiserver
