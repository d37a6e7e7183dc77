#include "api/defaults.h"

#include <utility>
#include <vector>

#include "api/defaults_table.h"
#include "api/flat_type.h"
#include "api/kinds.h"
#include "base/check.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;

struct FieldDefault {
  const FieldInfo* field = nullptr;
  Value value;
};

// What is to be done with a struct, and whether anything is to be done further down.
struct Plan {
  std::vector<void (*)(Value&, Time)> rules;
  std::vector<FieldDefault> values;
  std::vector<const FieldInfo*> children;  // fields with structs that have a plan

  [[nodiscard]] bool empty() const { return rules.empty() && values.empty() && children.empty(); }
};

// "core/v1" of "k8s.io/api/core/v1.Pod"; "apiextensions" and "apiregistration" outside k8s.io/api.
std::string_view PackageOf(const TypeInfo& type) {
  constexpr std::string_view kApi = "k8s.io/api/";
  std::string_view package = type.go_name.substr(0, type.go_name.rfind('.'));
  if (package.starts_with(kApi)) return package.substr(kApi.size());
  package = package.substr(0, package.rfind('/'));
  return package.substr(package.rfind('/') + 1);
}

bool HasWord(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) {
      return true;
    }
  }
  return false;
}

class Plans {
 public:
  Plans() : plans_(AllTypes().size()) {
    for (const TypeInfo& type : AllTypes()) AddOwn(type);
    // A struct matters when one below it does; repeated until nothing changes, since types recur.
    for (bool changed = true; changed;) {
      changed = false;
      for (const TypeInfo& type : AllTypes()) changed = AddChildren(type) || changed;
    }
  }

  [[nodiscard]] const Plan& Of(const TypeInfo& type) const { return plans_[Number(type)]; }

 private:
  static std::size_t Number(const TypeInfo& type) {
    return static_cast<std::size_t>(&type - AllTypes().data());
  }

  // The rows and rules of a struct and of those inlined in it.
  void AddOwn(const TypeInfo& type) { AddFrom(type, plans_[Number(type)]); }

  void AddFrom(const TypeInfo& type, Plan& plan) {
    const std::string_view package = PackageOf(type);
    for (const DefaultRule& rule : DefaultRules()) {
      if (rule.type == type.BareName() && HasWord(rule.packages, package)) {
        plan.rules.push_back(rule.apply);
      }
    }
    for (const FieldInfo& field : type.fields) {
      if (field.inlined) {
        AddFrom(*field.type, plan);
      } else if (!field.extras->default_json.empty() && field.scalar != Scalar::kStruct) {
        Value value = *json::Read(field.extras->default_json);
        // OpenAPI also names the zero values of required fields, which are there anyway.
        const bool zero =
            value == Value("") || value == Value(0) || value == Value(false) || value.IsObject();
        if (field.pointer || !zero) plan.values.push_back({&field, std::move(value)});
      }
    }
    for (const DefaultRow& row : DefaultRows()) {
      if (row.type != type.BareName() || !HasWord(row.packages, package)) continue;
      const FieldInfo* field = type.Find(row.field);
      DRA_CHECK(field != nullptr);
      plan.values.push_back({field, *json::Read(row.json)});
    }
  }

  bool AddChildren(const TypeInfo& type) {
    Plan& plan = plans_[Number(type)];
    std::vector<const FieldInfo*> children;
    for (const FlatField& flat : Flat(type).fields) {
      const FieldInfo& field = *flat.field;
      if (field.scalar == Scalar::kStruct && !Of(*field.type).empty()) children.push_back(&field);
    }
    const bool changed = children.size() != plan.children.size();
    plan.children = std::move(children);
    return changed;
  }

  std::vector<Plan> plans_;
};

const Plans& AllPlans() {
  static const Plans plans;
  return plans;
}

bool IsMissing(const FieldInfo& field, const Value& value) {
  if (value.IsNull()) return true;
  if (field.pointer) return false;
  return value == Value("") || value == Value(0) || (value.IsArray() && value.empty());
}

class Defaulter {
 public:
  explicit Defaulter(Time now) : now_(now) {}

  void Apply(Value& object, const TypeInfo& type) {
    const Plan& plan = AllPlans().Of(type);
    for (const auto rule : plan.rules) rule(object, now_);
    for (const FieldDefault& value : plan.values) {
      if (IsMissing(*value.field, object[value.field->json_name])) {
        object.Set(value.field->json_name, value.value);
      }
    }
    for (const FieldInfo* field : plan.children) Child(object, *field);
    if (!IsOrdered(object, type)) Reorder(object, type);
  }

 private:
  void Child(Value& object, const FieldInfo& field) {
    const Value* child = object.Find(field.json_name);
    if (child == nullptr || child->IsNull()) return;
    switch (field.shape) {
      case Shape::kOne:
        return ApplyTo(object, field, *child);
      case Shape::kList:
        for (std::size_t i = 0; i < object[field.json_name].size(); ++i) {
          Value item = object[field.json_name].Items()[i];
          Apply(item, *field.type);
          if (!item.SharesWith(object[field.json_name].Items()[i])) {
            object.Edit(field.json_name).EditItem(i) = std::move(item);
          }
        }
        return;
      default:
        for (const json::Member& member : Value(*child).Members()) {
          Value value = member.value;
          Apply(value, *field.type);
          if (!value.SharesWith(member.value)) {
            object.Edit(field.json_name).Set(member.key(), std::move(value));
          }
        }
    }
  }

  // Changes the object only when the default changes the child, so that all else stays shared.
  void ApplyTo(Value& object, const FieldInfo& field, const Value& child) {
    Value changed = child;
    Apply(changed, *field.type);
    if (!changed.SharesWith(object[field.json_name])) {
      object.Set(field.json_name, std::move(changed));
    }
  }

  static bool IsOrdered(const Value& object, const TypeInfo& type) {
    const FlatType& flat = Flat(type);
    int last = -1;
    for (const json::Member& member : object.Members()) {
      const int number = flat.Find(member.key(), static_cast<std::size_t>(last + 1));
      if (number <= last) return false;
      last = number;
    }
    return true;
  }

  // Members in the order of the struct, as a canonical object has them.
  static void Reorder(Value& object, const TypeInfo& type) {
    Value ordered = Value::Object();
    ordered.Reserve(object.size());
    for (const FlatField& flat : Flat(type).fields) {
      if (const Value* value = object.Find(flat.field->json_name)) {
        ordered.Set(flat.field->json_name, *value);
      }
    }
    DRA_CHECK(ordered.size() == object.size());
    object = std::move(ordered);
  }

  const Time now_;
};

}  // namespace

void SetDefaults(std::string_view group, std::string_view version, std::string_view kind, Time now,
                 Value& object) {
  const TypeInfo* type = FindTypeOfKind(GroupVersion(group, version), kind);
  if (type != nullptr) Defaulter(now).Apply(object, *type);
}

void SetPodSpecDefaults(Value& spec) {
  static const TypeInfo* const kPodSpec = FindType("k8s.io/api/core/v1.PodSpec");
  Defaulter(Time()).Apply(spec, *kPodSpec);
}

}  // namespace drachma::api
