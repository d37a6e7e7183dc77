#include "cel/check/type.h"

#include <algorithm>
#include <array>
#include <vector>

namespace drachma::cel {

namespace types {
constexpr Type Scalar(TypeKind kind, std::string_view name) { return {.kind = kind, .name = name}; }
const Type kDyn = Scalar(TypeKind::kDyn, "dyn");
const Type kAny = Scalar(TypeKind::kAny, "google.protobuf.Any");
const Type kBool = Scalar(TypeKind::kBool, "bool");
const Type kBytes = Scalar(TypeKind::kBytes, "bytes");
const Type kDouble = Scalar(TypeKind::kDouble, "double");
const Type kDuration = Scalar(TypeKind::kDuration, "google.protobuf.Duration");
const Type kError = Scalar(TypeKind::kError, "error");
const Type kInt = Scalar(TypeKind::kInt, "int");
const Type kNull = Scalar(TypeKind::kNull, "null_type");
const Type kString = Scalar(TypeKind::kString, "string");
const Type kTimestamp = Scalar(TypeKind::kTimestamp, "google.protobuf.Timestamp");
const Type kType = Scalar(TypeKind::kType, "type");
const Type kUint = Scalar(TypeKind::kUint, "uint");
}  // namespace types

namespace {

const Type* WithParameters(Arena& arena, TypeKind kind, std::string_view name,
                           std::span<const Type* const> parameters) {
  Type* type = arena.New<Type>();
  type->kind = kind;
  type->name = name;
  type->parameters = arena.Copy(parameters);
  return type;
}

enum class ParamNames : std::uint8_t { kMatter, kIgnored };

bool SameType(const Type* a, const Type* b, ParamNames names) {
  if (a == b) return true;
  if (a->kind != b->kind || a->parameters.size() != b->parameters.size()) return false;
  if (a->kind == TypeKind::kTypeParam) {
    return names == ParamNames::kIgnored || (a->variable == b->variable && a->name == b->name);
  }
  if (a->name != b->name) return false;
  return std::ranges::equal(a->parameters, b->parameters, [names](const Type* x, const Type* y) {
    return SameType(x, y, names);
  });
}

struct Named {
  std::string_view text;
  const Type* type;
};
constexpr auto kNamed = std::to_array<Named>({
    {"dyn", &types::kDyn},
    {"any", &types::kAny},
    {"bool", &types::kBool},
    {"bytes", &types::kBytes},
    {"double", &types::kDouble},
    {"duration", &types::kDuration},
    {"google.protobuf.Duration", &types::kDuration},
    {"int", &types::kInt},
    {"null", &types::kNull},
    {"null_type", &types::kNull},
    {"string", &types::kString},
    {"timestamp", &types::kTimestamp},
    {"google.protobuf.Timestamp", &types::kTimestamp},
    {"type", &types::kType},
    {"uint", &types::kUint},
});

// Recursive descent over the text of a type; nested no deeper than kNestingMax.
class TypeReader {
 public:
  TypeReader(Arena& arena, std::string_view text, std::span<const std::string_view> type_params,
             std::span<const std::string_view> opaque_names)
      : arena_(arena), text_(text), type_params_(type_params), opaque_names_(opaque_names) {}

  const Type* Read() {
    const Type* type = ReadType(0);
    return at_ == text_.size() ? type : nullptr;
  }

 private:
  static constexpr int kNestingMax = 100;

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  const Type* ReadType(int nesting) {
    if (nesting > kNestingMax) return nullptr;
    SkipSpaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !std::string_view("(), ").contains(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) return nullptr;
    std::vector<const Type*> args;
    if (at_ < text_.size() && text_[at_] == '(') {
      do {
        ++at_;
        const Type* arg = ReadType(nesting + 1);
        if (arg == nullptr) return nullptr;
        args.push_back(arg);
        SkipSpaces();
        if (at_ >= text_.size()) return nullptr;
      } while (text_[at_] == ',');
      if (text_[at_] != ')') return nullptr;
      ++at_;
      SkipSpaces();
    }
    return Build(name, args);
  }

  const Type* Build(std::string_view name, const std::vector<const Type*>& args) {
    if (name == "list" && args.size() == 1) return ListOf(arena_, args[0]);
    if (name == "map" && args.size() == 2) return MapOf(arena_, args[0], args[1]);
    if (name == "type" && args.size() == 1) return TypeOf(arena_, args[0]);
    if (name == "wrapper" && args.size() == 1) {
      Type* wrapper = arena_.New<Type>(*args[0]);
      wrapper->nullable = true;
      return wrapper;
    }
    const std::string_view kept = arena_.CopyString(name);
    if (!args.empty()) return OpaqueType(arena_, kept, args);
    if (std::ranges::find(type_params_, name) != type_params_.end()) return TypeParam(arena_, kept);
    for (const Named& named : kNamed) {
      if (named.text == name) return named.type;
    }
    if (std::ranges::find(opaque_names_, name) != opaque_names_.end()) {
      return OpaqueType(arena_, kept);
    }
    return StructType(arena_, kept);
  }

  Arena& arena_;
  std::string_view text_;
  std::span<const std::string_view> type_params_;
  std::span<const std::string_view> opaque_names_;
  std::size_t at_ = 0;
};

// The name before the parameters.
std::string DeclaredName(const Type* type) {
  if (type->variable >= 0) return "_var" + std::to_string(type->variable);
  if (type->nullable) return "wrapper(" + std::string(type->name) + ")";
  return std::string(type->name);
}

std::string JoinTypes(std::span<const Type* const> list, std::string (*format)(const Type*)) {
  std::string out;
  for (const Type* type : list) {
    if (!out.empty()) out += ", ";
    out += format(type);
  }
  return out;
}

}  // namespace

const Type* ListOf(Arena& arena, const Type* element) {
  return WithParameters(arena, TypeKind::kList, "list", {&element, 1});
}
const Type* MapOf(Arena& arena, const Type* key, const Type* value) {
  const std::array<const Type*, 2> parameters = {key, value};
  return WithParameters(arena, TypeKind::kMap, "map", parameters);
}
const Type* OptionalOf(Arena& arena, const Type* value) {
  return WithParameters(arena, TypeKind::kOpaque, "optional_type", {&value, 1});
}
const Type* TypeOf(Arena& arena, const Type* type) {
  return WithParameters(arena, TypeKind::kType, "type", {&type, 1});
}
const Type* OpaqueType(Arena& arena, std::string_view name,
                       std::span<const Type* const> parameters) {
  return WithParameters(arena, TypeKind::kOpaque, name, parameters);
}
const Type* StructType(Arena& arena, std::string_view name) {
  return WithParameters(arena, TypeKind::kStruct, name, {});
}
const Type* TypeParam(Arena& arena, std::string_view name) {
  return WithParameters(arena, TypeKind::kTypeParam, name, {});
}

bool IsExactType(const Type* a, const Type* b) { return SameType(a, b, ParamNames::kMatter); }
bool IsEquivalentType(const Type* a, const Type* b) { return SameType(a, b, ParamNames::kIgnored); }

bool IsAssignableType(const Type* to, const Type* from) {
  if (to->nullable && from->kind == TypeKind::kNull) return true;
  if (to == from || IsDyn(to) || to->kind == TypeKind::kTypeParam) return true;
  if (to->kind != from->kind || to->name != from->name ||
      to->parameters.size() != from->parameters.size()) {
    return false;
  }
  return std::ranges::equal(to->parameters, from->parameters, IsAssignableType);
}

std::string FormatType(const Type* type) {
  switch (type->kind) {
    case TypeKind::kAny:
      return "any";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kError:
      return "!error!";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kTimestamp:
      return "timestamp";
    default:
      break;
  }
  if (type->parameters.empty()) return DeclaredName(type);
  return std::string(type->name) + "(" + JoinTypes(type->parameters, FormatType) + ")";
}

std::string TypeToString(const Type* type) {
  if (type->kind == TypeKind::kTypeParam) return "<" + DeclaredName(type) + ">";
  if (type->parameters.empty()) return DeclaredName(type);
  return DeclaredName(type) + "(" + JoinTypes(type->parameters, TypeToString) + ")";
}

std::string FormatSignature(std::span<const Type* const> args, bool member) {
  std::string out;
  if (member) {
    out = FormatType(args.front()) + ".";
    args = args.subspan(1);
  }
  return out + "(" + JoinTypes(args, FormatType) + ")";
}

const Type* ParseType(Arena& arena, std::string_view text,
                      std::span<const std::string_view> type_params,
                      std::span<const std::string_view> opaque_names) {
  return TypeReader(arena, text, type_params, opaque_names).Read();
}

}  // namespace drachma::cel
