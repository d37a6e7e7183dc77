#include "apiserver/structural_schema.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/schema_validator.h"

namespace drachma::apiserver {

using json::Value;

namespace {

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";
constexpr std::array<std::string_view, 3> kResourceFields = {"apiVersion", "kind", "metadata"};

std::string Child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// The schema of a member of an object; null when the schema does not know it.
const Value* SchemaOfMember(const Value& schema, std::string_view key) {
  if (const Value* property = schema["properties"].Find(key)) return property;
  const Value& additional = schema["additionalProperties"];
  return additional.IsObject() || additional.AsBool() ? &additional : nullptr;
}

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* unknown) : unknown_(unknown) {}

  void Prune(Value& value, const Value& schema, const std::string& path, bool resource, int depth) {
    Prune(value, schema, path, {.resource = resource, .keeps = schema[kPreserve].AsBool()}, depth);
  }

 private:
  // What holds at one place besides its schema.
  struct Place {
    bool resource = false;  // apiVersion, kind and metadata stay
    bool keeps = false;     // fields that the schema does not know stay
  };

  void Prune(Value& value, const Value& schema, const std::string& path, Place place, int depth) {
    if (depth > StructuralSchema::kDepthMax) return;
    if (value.IsArray()) {
      PruneItems(value, schema["items"], path, place, depth);
    }
    if (!value.IsObject()) return;
    std::vector<std::string> keys;
    for (const json::Member& member : value.Members()) keys.emplace_back(member.key());
    for (const std::string& key : keys) {
      const bool kept =
          place.resource && std::ranges::find(kResourceFields, key) != kResourceFields.end();
      if (kept) continue;
      const Value* member = SchemaOfMember(schema, key);
      if (member != nullptr) {
        Prune(value.Edit(key), *member, Child(path, key), (*member)[kEmbedded].AsBool(), depth + 1);
      } else if (!place.keeps) {
        value.Erase(key);
        if (unknown_ != nullptr) unknown_->push_back(Child(path, key));
      }
    }
  }

  // What keeps unknown fields keeps them in the items of its lists too, down to the next field
  // that is known.
  void PruneItems(Value& list, const Value& schema, const std::string& path, Place place,
                  int depth) {
    const Place of_items{.resource = schema[kEmbedded].AsBool(),
                         .keeps = place.keeps || schema[kPreserve].AsBool()};
    for (std::size_t i = 0; i < list.size(); ++i) {
      Prune(list.EditItem(i), schema, fmt::format("{}[{}]", path, i), of_items, depth + 1);
    }
  }

  std::vector<std::string>* unknown_;
};

// Whether `value` is a null that `schema` does not allow. No schema allows everything.
bool IsForbiddenNull(const Value& value, const Value& schema) {
  return value.IsNull() && schema.IsObject() && !schema["nullable"].AsBool();
}

void DropNulls(Value& value, const Value& schema, int depth) {
  if (depth > StructuralSchema::kDepthMax) return;
  for (std::size_t i = 0; value.IsArray() && i < value.size(); ++i) {
    DropNulls(value.EditItem(i), schema["items"], depth + 1);
  }
  if (!value.IsObject()) return;
  std::vector<std::string> keys;
  for (const json::Member& member : value.Members()) keys.emplace_back(member.key());
  for (const std::string& key : keys) {
    const Value* member = SchemaOfMember(schema, key);
    if (member == nullptr) continue;
    if (IsForbiddenNull(value[key], *member) && (*member)["default"].IsNull()) {
      value.Erase(key);
    } else {
      DropNulls(value.Edit(key), *member, depth + 1);
    }
  }
}

void Default(Value& value, const Value& schema, int depth) {
  if (depth > StructuralSchema::kDepthMax) return;
  // The default takes the place of an item or a member of a map that may not be null; for fields
  // the loop below does so.
  if (IsForbiddenNull(value, schema)) value = schema["default"];
  if (value.IsArray()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Default(value.EditItem(i), schema["items"], depth + 1);
    }
  }
  if (!value.IsObject()) return;
  for (const json::Member& property : schema["properties"].Members()) {
    const Value* now = value.Find(property.key());
    const Value& preset = property.value["default"];
    const bool replaces = now == nullptr || IsForbiddenNull(*now, property.value);
    if (!preset.IsNull() && replaces) value.Set(property.key(), preset);
  }
  std::vector<std::string> keys;
  for (const json::Member& member : value.Members()) keys.emplace_back(member.key());
  for (const std::string& key : keys) {
    if (const Value* member = SchemaOfMember(schema, key)) {
      Default(value.Edit(key), *member, depth + 1);
    }
  }
}

}  // namespace

struct StructuralSchema::Patterns {
  PatternMap by_text;
};

namespace {

// Compiles the patterns of a schema and all below it.
Status CollectPatterns(const Value& schema, PatternMap& patterns, int depth) {
  if (depth > StructuralSchema::kDepthMax) {
    return Fail(Code::kInvalid, "the schema is nested too deep");
  }
  if (schema.IsArray()) {
    for (const Value& item : schema.Items()) DRA_TRY(CollectPatterns(item, patterns, depth + 1));
  }
  for (const json::Member& member : schema.Members()) {
    if (member.key() == "pattern" && member.value.IsString()) {
      const std::string text(member.value.AsString());
      auto pattern = std::make_unique<RE2>(text, RE2::Quiet);
      if (!pattern->ok()) {
        return Fail(Code::kInvalid,
                    fmt::format("\"{}\" is no regular expression: {}", text, pattern->error()));
      }
      patterns.emplace(text, std::move(pattern));
    }
    DRA_TRY(CollectPatterns(member.value, patterns, depth + 1));
  }
  return {};
}

}  // namespace

StructuralSchema::StructuralSchema(Value schema)
    : schema_(std::move(schema)), patterns_(std::make_unique<Patterns>()) {}
StructuralSchema::~StructuralSchema() = default;

Result<std::shared_ptr<const StructuralSchema>> StructuralSchema::Parse(Value schema) {
  std::shared_ptr<StructuralSchema> parsed(new StructuralSchema(std::move(schema)));
  DRA_TRY(CollectPatterns(parsed->schema_, parsed->patterns_->by_text, 0));
  return parsed;
}

void StructuralSchema::Prune(Value& object, std::vector<std::string>* unknown) const {
  if (schema_.IsNull()) return;
  Pruner(unknown).Prune(object, schema_, "", true, 0);
}

void StructuralSchema::PruneNulls(Value& object) const { DropNulls(object, schema_, 0); }

void StructuralSchema::SetDefaults(Value& object) const { Default(object, schema_, 0); }

validation::ErrorList StructuralSchema::Validate(const Value& object, const Value& old) const {
  if (schema_.IsNull()) return {};
  return SchemaValidator(patterns_->by_text)
      .Validate(object, schema_, old.IsNull() ? nullptr : &old);
}

validation::ErrorList StructuralSchema::ValidateStatus(const Value& object,
                                                       const Value& old) const {
  if (!object.Has("status")) return {};
  validation::ErrorList errors =
      SchemaValidator(patterns_->by_text)
          .Validate(object["status"], schema_["properties"]["status"], old.Find("status"));
  for (validation::FieldError& error : errors) {
    error.path = error.path == "<nil>"         ? "status"
                 : error.path.starts_with('[') ? "status" + error.path
                                               : "status." + error.path;
  }
  return errors;
}

}  // namespace drachma::apiserver
