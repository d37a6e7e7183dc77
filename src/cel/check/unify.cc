#include "cel/check/unify.h"

#include <algorithm>

namespace drachma::cel {
namespace {

bool IsVariable(const Type* type) { return type->kind == TypeKind::kTypeParam; }
bool IsDynOrError(const Type* type) { return IsDyn(type) || type->kind == TypeKind::kError; }

bool TakesNull(const Type* type) {
  switch (type->kind) {
    case TypeKind::kOpaque:
    case TypeKind::kStruct:
    case TypeKind::kAny:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
      return true;
    default:
      return IsAssignableType(type, &types::kNull);
  }
}

bool IsEqualOrLessSpecific(const Type* a, const Type* b) {
  if (IsDyn(a) || IsVariable(a)) return true;
  if (IsDyn(b) || IsVariable(b)) return false;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return a->name == b->name &&
             std::ranges::equal(a->parameters, b->parameters, IsEqualOrLessSpecific);
    case TypeKind::kType:
      return true;
    default:
      return IsExactType(a, b);
  }
}

}  // namespace

const Type* Unifier::NewVariable() {
  Type* type = arena_.New<Type>();
  type->kind = TypeKind::kTypeParam;
  type->variable = static_cast<std::int32_t>(bindings_.size());
  bindings_.push_back(nullptr);
  return type;
}

const Type* Unifier::Instantiate(const Type* type, std::span<const std::string_view> names,
                                 const std::vector<const Type*>& variables) {
  if (type->kind == TypeKind::kTypeParam) {
    const auto found = std::ranges::find(names, type->name);
    return found == names.end() ? type : variables[found - names.begin()];
  }
  if (type->parameters.empty()) return type;
  Type* copy = arena_.New<Type>(*type);
  std::span<const Type*> parameters = arena_.Copy(type->parameters);
  for (const Type*& parameter : parameters) parameter = Instantiate(parameter, names, variables);
  copy->parameters = parameters;
  return copy;
}

const Type* Unifier::Find(const Type* type) const {
  return type->variable >= 0 ? bindings_[type->variable] : nullptr;
}

void Unifier::Bind(const Type* variable, const Type* type) {
  if (variable->variable < 0) return;
  trail_.emplace_back(variable->variable, bindings_[variable->variable]);
  bindings_[variable->variable] = type;
}

void Unifier::Rollback(std::size_t mark) {
  while (trail_.size() > mark) {
    bindings_[trail_.back().first] = trail_.back().second;
    trail_.pop_back();
  }
}

bool Unifier::Assign(const Type* from, const Type* to) {
  const std::size_t mark = trail_.size();
  if (Assignable(from, to)) return true;
  Rollback(mark);
  return false;
}

bool Unifier::AssignAll(std::span<const Type* const> from, std::span<const Type* const> to) {
  const std::size_t mark = trail_.size();
  if (AssignableAll(from, to)) return true;
  Rollback(mark);
  return false;
}

bool Unifier::AssignableAll(std::span<const Type* const> a, std::span<const Type* const> b) {
  return a.size() == b.size() && std::ranges::equal(a, b, [this](const Type* x, const Type* y) {
           return Assignable(x, y);
         });
}

bool Unifier::Assignable(const Type* a, const Type* b) {
  if (!CountStep()) return false;
  if (IsVariable(b)) {
    const Match match = MatchVariable(a, b);
    if (match.valid) return true;
    if (match.bound) return false;
  }
  if (IsVariable(a)) return MatchVariable(b, a).valid;
  if (IsDynOrError(a) || IsDynOrError(b)) return true;
  if (a->kind == TypeKind::kNull) return TakesNull(b);
  if (b->kind == TypeKind::kNull) return TakesNull(a);
  switch (a->kind) {
    case TypeKind::kType:
      return b->kind == TypeKind::kType;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return a->kind == b->kind && a->name == b->name &&
             AssignableAll(a->parameters, b->parameters);
    default:
      return IsAssignableType(b, a);
  }
}

Unifier::Match Unifier::MatchVariable(const Type* type, const Type* variable) {
  if (IsExactType(type, variable)) return {.valid = true, .bound = true};
  if (const Type* bound = Find(variable)) {
    if (type->kind == bound->kind && IsExactType(type, bound))
      return {.valid = true, .bound = true};
    if (!Assignable(type, bound)) return {.valid = false, .bound = true};
    const Type* general = MostGeneral(type, bound);
    if (NotReferencedIn(variable, general)) Bind(variable, general);
    return {.valid = true, .bound = true};
  }
  if (!NotReferencedIn(variable, type)) return {};
  Bind(variable, type);
  return {.valid = true, .bound = false};
}

bool Unifier::NotReferencedIn(const Type* type, const Type* within) {
  if (!CountStep()) return false;
  if (IsExactType(type, within)) return false;
  if (IsVariable(within)) {
    const Type* bound = Find(within);
    return bound == nullptr || NotReferencedIn(type, bound);
  }
  return std::ranges::all_of(
      within->parameters, [&](const Type* parameter) { return NotReferencedIn(type, parameter); });
}

const Type* Unifier::MostGeneral(const Type* a, const Type* b) {
  return IsEqualOrLessSpecific(a, b) ? a : b;
}

const Type* Unifier::Substitute(const Type* type, Unbound unbound) {
  nodes_ = 0;
  return SubstituteIn(type, unbound);
}

const Type* Unifier::SubstituteIn(const Type* type, Unbound unbound) {
  if (++nodes_ > kNodesMax) too_complex_ = true;
  if (too_complex_) return &types::kDyn;
  if (const Type* bound = Find(type)) return SubstituteIn(bound, unbound);
  if (IsVariable(type)) return unbound == Unbound::kToDyn ? &types::kDyn : type;
  if (type->parameters.empty()) return type;
  std::vector<const Type*> parameters(type->parameters.begin(), type->parameters.end());
  bool changed = false;
  for (const Type*& parameter : parameters) {
    const Type* substituted = SubstituteIn(parameter, unbound);
    changed |= substituted != parameter;
    parameter = substituted;
  }
  if (!changed) return type;
  Type* copy = arena_.New<Type>(*type);
  copy->parameters = arena_.Copy(parameters);
  return copy;
}

}  // namespace drachma::cel
