#include "cel/ext/patch_types.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cel/eval/lazy_fields.h"

namespace drachma::cel {
namespace {

constexpr std::string_view kObject = "Object";
constexpr std::string_view kPatch = "JSONPatch";

// --- Objects. They have no members, as far as expressions go; one class stands for one type.

struct ObjectData : OpaqueData {
  std::span<const StructMaker::Field> fields;
};

const ObjectData& ObjectOf(const OpaqueData& data) { return static_cast<const ObjectData&>(data); }

// As Go's reflect.DeepEqual: kinds of numbers are told apart.
bool Same(const Value& a, const Value& b) { return a.kind() == b.kind() && Equals(a, b).IsTrue(); }

class ObjectClass final : public OpaqueClass {
 public:
  explicit ObjectClass(std::string_view name) : name_(name) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view GoName(const OpaqueData&) const override {
    return "*dynamic.ObjectVal";
  }
  [[nodiscard]] Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type->name() != name_) {
      return Value::Bool(false);
    }
    const auto& mine = ObjectOf(self).fields;
    const auto& theirs = ObjectOf(other.AsOpaque()).fields;
    const bool same =
        mine.size() == theirs.size() && std::ranges::all_of(mine, [&](const auto& field) {
          const auto found = std::ranges::find(theirs, field.name, &StructMaker::Field::name);
          return found != theirs.end() && Same(field.value, found->value);
        });
    return Value::Bool(same);
  }
  [[nodiscard]] std::string ToString(const OpaqueData&) const override {
    return std::string(name_);
  }

 private:
  std::string_view name_;
};

Value MakeObject(Arena& arena, std::string_view type, std::span<const StructMaker::Field> fields) {
  auto* data = arena.New<ObjectData>();
  data->type = arena.Own<ObjectClass>(arena.CopyString(type));
  data->fields = arena.Copy(fields);
  return Value::Opaque(data);
}

// --- Patches.

struct PatchData : OpaqueData {
  PatchView view;
};

class PatchClass final : public LazyFields {
 public:
  [[nodiscard]] std::string_view name() const override { return kPatch; }
  [[nodiscard]] std::string_view GoName(const OpaqueData&) const override {
    return "*mutation.JSONPatchVal";
  }
  [[nodiscard]] Value Equal(const OpaqueData& self, const Value& other) const override {
    const PatchView mine = static_cast<const PatchData&>(self).view;
    const std::optional<PatchView> theirs = ViewPatch(other);
    if (!theirs || mine.op != theirs->op || mine.path != theirs->path ||
        mine.from != theirs->from || (mine.value == nullptr) != (theirs->value == nullptr)) {
      return Value::Bool(false);
    }
    return mine.value == nullptr ? Value::Bool(true) : Equals(*mine.value, *theirs->value);
  }
  [[nodiscard]] std::string ToString(const OpaqueData&) const override {
    return std::string(kPatch);
  }
  [[nodiscard]] bool FindField(const OpaqueData& self, std::string_view name,
                               Value* value) const override {
    const PatchView& view = static_cast<const PatchData&>(self).view;
    if (name == "value") {
      if (view.value != nullptr) *value = *view.value;
      return view.value != nullptr;
    }
    const std::string_view text = name == "op" ? view.op : name == "path" ? view.path : view.from;
    *value = Value::String(text);
    return !text.empty();
  }
};
const PatchClass kPatchClass;

// Go's type of what a value holds, in the words of a field that is no text.
std::string_view GoTypeOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int64";
    case ValueKind::kUint:
      return "uint64";
    case ValueKind::kDouble:
      return "float64";
    case ValueKind::kBytes:
      return "[]uint8";
    case ValueKind::kNull:
      return "structpb.NullValue";
    case ValueKind::kList:
      return "[]ref.Val";
    case ValueKind::kMap:
      return "map[ref.Val]ref.Val";
    default:
      return TypeNameOf(value);
  }
}

Value MakePatch(Arena& arena, std::span<const StructMaker::Field> fields) {
  auto* data = arena.New<PatchData>();
  data->type = &kPatchClass;
  for (const StructMaker::Field& field : fields) {
    if (field.name == "value") {
      data->view.value = arena.New<Value>(field.value);
      continue;
    }
    if (!field.value.IsString()) {
      return MakeError(arena, "unexpected type " + std::string(GoTypeOf(field.value)) +
                                  " for JSONPatchType '" + std::string(field.name) + "' field");
    }
    std::string_view& text = field.name == "op"     ? data->view.op
                             : field.name == "path" ? data->view.path
                                                    : data->view.from;
    text = field.value.AsText();
  }
  return Value::Opaque(data);
}

class PatchMaker final : public StructMaker {
 public:
  [[nodiscard]] Value Make(Arena& arena, std::string_view type,
                           std::span<const Field> fields) const override {
    return type == kPatch ? MakePatch(arena, fields) : MakeObject(arena, type, fields);
  }
};

// A text as a step of a JSON pointer.
Value EscapeKey(Arena& arena, std::span<const Value> args) {
  std::string escaped;
  for (const char c : args[0].AsText()) {
    if (c == '/') {
      escaped += "~1";
    } else if (c == '~') {
      escaped += "~0";
    } else {
      escaped += c;
    }
  }
  return MakeString(arena, escaped);
}

constexpr std::array<LibraryFunction, 1> kFunctions = {{
    {"jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", "(string) -> string", EscapeKey},
}};

}  // namespace

void AddPatchTypes(Environment& env) {
  env.check.AddOpenStruct(kObject);
  StructDecl patch{.type = StructType(env.check.arena(), kPatch), .fields = {}};
  for (const std::string_view text : {"op", "path", "from"}) {
    patch.fields.emplace(text, &types::kString);
  }
  patch.fields.emplace("value", &types::kDyn);
  env.check.AddStruct(std::move(patch));
  env.Add(kFunctions);
}

const StructMaker& PatchStructs() {
  static const PatchMaker kMaker;
  return kMaker;
}

std::optional<ObjectView> ViewObject(const Value& value) {
  if (value.kind() != ValueKind::kOpaque) return std::nullopt;
  const OpaqueData& data = value.AsOpaque();
  if (dynamic_cast<const ObjectClass*>(data.type) == nullptr) return std::nullopt;
  return ObjectView{.type = data.type->name(), .fields = ObjectOf(data).fields};
}

std::optional<PatchView> ViewPatch(const Value& value) {
  if (value.kind() != ValueKind::kOpaque || value.AsOpaque().type != &kPatchClass) {
    return std::nullopt;
  }
  return static_cast<const PatchData&>(value.AsOpaque()).view;
}

}  // namespace drachma::cel
