#include "cel/check/env.h"

#include <algorithm>

#include "base/check.h"

namespace drachma::cel {
namespace {

template <typename Map>
auto* FindIn(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

void CollectParams(const Type* type, std::vector<std::string_view>& names) {
  if (type->kind == TypeKind::kTypeParam && std::ranges::find(names, type->name) == names.end()) {
    names.push_back(type->name);
  }
  for (const Type* parameter : type->parameters) CollectParams(parameter, names);
}

// "a, map(b, c)" split at the commas outside of parentheses.
std::vector<std::string_view> SplitArgs(std::string_view text) {
  std::vector<std::string_view> parts;
  int nesting = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && nesting == 0)) {
      if (i > begin) parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '(') {
      ++nesting;
    } else if (text[i] == ')') {
      --nesting;
    }
  }
  return parts;
}

constexpr std::string_view kTypeParams[] = {"A", "B", "K", "T", "V"};

}  // namespace

CheckEnv::CheckEnv() {
  AddTypeName("bool", &types::kBool);
  AddTypeName("bytes", &types::kBytes);
  AddTypeName("double", &types::kDouble);
  AddTypeName("google.protobuf.Duration", &types::kDuration);
  AddTypeName("int", &types::kInt);
  AddTypeName("list", ListOf(arena_, &types::kDyn));
  AddTypeName("map", MapOf(arena_, &types::kDyn, &types::kDyn));
  AddTypeName("null_type", &types::kNull);
  AddTypeName("string", &types::kString);
  AddTypeName("google.protobuf.Timestamp", &types::kTimestamp);
  AddTypeName("type", &types::kType);
  AddTypeName("uint", &types::kUint);
}

CheckEnv::CheckEnv(const CheckEnv* parent)
    : macros(parent->macros),
      container(parent->container),
      cross_type_comparisons(parent->cross_type_comparisons),
      parent_(parent),
      opaque_names_(parent->opaque_names_),
      open_structs_(parent->open_structs_) {}

void CheckEnv::AddVariable(std::string_view name, const Type* type) {
  variables_[std::string(name)] = type;
}
void CheckEnv::AddTypeName(std::string_view name, const Type* type) {
  type_names_[std::string(name)] = type;
}
void CheckEnv::AddStruct(StructDecl declaration) {
  std::string name(declaration.type->name);
  structs_[std::move(name)] = std::move(declaration);
}

void CheckEnv::AddFunction(std::string_view function, std::string_view id,
                           std::string_view signature) {
  const std::size_t arrow = signature.rfind(") -> ");
  DRA_CHECK(arrow != std::string_view::npos);
  const auto read = [&](std::string_view text) {
    const Type* type = ParseType(arena_, text, kTypeParams, opaque_names_);
    DRA_CHECK(type != nullptr);
    return type;
  };
  Overload overload{.id = id, .result = read(signature.substr(arrow + 5))};
  std::string_view args = signature.substr(0, arrow);
  if (!args.starts_with('(')) {
    const std::size_t dot = args.find(".(");
    overload.member = true;
    overload.args.push_back(read(args.substr(0, dot)));
    args.remove_prefix(dot + 1);
  }
  for (const std::string_view arg : SplitArgs(args.substr(1))) overload.args.push_back(read(arg));
  AddOverload(function, std::move(overload));
}

void CheckEnv::AddOverload(std::string_view function, Overload overload) {
  overload.type_params.clear();
  for (const Type* arg : overload.args) CollectParams(arg, overload.type_params);
  CollectParams(overload.result, overload.type_params);
  const auto [at, added] = functions_.try_emplace(std::string(function));
  Function& entry = at->second;
  if (added && parent_ != nullptr) {
    if (const Function* inherited = parent_->FindFunction(function)) entry = *inherited;
  }
  entry.name = function;
  const auto same = std::ranges::find(entry.overloads, overload.id, &Overload::id);
  if (same != entry.overloads.end()) {
    *same = std::move(overload);
  } else {
    entry.overloads.push_back(std::move(overload));
  }
}

const Type* CheckEnv::FindVariable(std::string_view name) const {
  if (const auto* found = FindIn(variables_, name)) return *found;
  return parent_ == nullptr ? nullptr : parent_->FindVariable(name);
}
const Function* CheckEnv::FindFunction(std::string_view name) const {
  if (const Function* found = FindIn(functions_, name)) return found;
  return parent_ == nullptr ? nullptr : parent_->FindFunction(name);
}
const Type* CheckEnv::FindTypeName(std::string_view name) const {
  if (const auto* found = FindIn(type_names_, name)) return *found;
  return parent_ == nullptr ? nullptr : parent_->FindTypeName(name);
}
const StructDecl* CheckEnv::FindStruct(std::string_view name) const {
  if (const StructDecl* found = FindIn(structs_, name)) return found;
  return parent_ == nullptr ? nullptr : parent_->FindStruct(name);
}

bool CheckEnv::IsOpenStruct(std::string_view name) const {
  return std::ranges::any_of(open_structs_, [name](std::string_view open) {
    return name.starts_with(open) && (name.size() == open.size() || name[open.size()] == '.');
  });
}

std::vector<std::string> CandidateNames(std::string_view container, std::string_view name) {
  if (name.starts_with('.')) return {std::string(name.substr(1))};
  std::vector<std::string> names;
  while (!container.empty()) {
    names.push_back(std::string(container) + "." + std::string(name));
    const std::size_t dot = container.rfind('.');
    container = dot == std::string_view::npos ? std::string_view() : container.substr(0, dot);
  }
  names.emplace_back(name);
  return names;
}

}  // namespace drachma::cel
