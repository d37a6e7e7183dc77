#include "cel/eval/call_planner.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace drachma::cel {
namespace {

constexpr auto kConversions = std::to_array<std::string_view>(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"});

}  // namespace

CallCost CallPlanner::CostFor(std::string_view function, std::string_view overload) const {
  return options_.costs == nullptr ? CallCost{} : options_.costs(function, overload);
}

const Overload* CallPlanner::GuardFor(const Overload& overload, const FunctionTable::Body& body) {
  if ((body.flags & kNoTypeGuard) != 0) return nullptr;
  const bool any = std::ranges::all_of(overload.args, [](const Type* type) {
    return IsDyn(type) || type->kind == TypeKind::kTypeParam;
  });
  return any ? nullptr : &overload;
}

void CallPlanner::FindCallees(std::string_view function, std::string_view overload,
                              CallNode::Spec& spec) {
  const Function* declared = functions_.env().FindFunction(function);
  if (const FunctionTable::Body* body = functions_.FindSingleton(function)) {
    const Callee callee{.body = body, .guard = nullptr};
    spec.callees = plan_.arena.Copy(std::span<const Callee>(&callee, 1));
    return;
  }
  if (declared == nullptr) return;
  std::vector<Callee> callees;
  for (const Overload& candidate : declared->overloads) {
    const FunctionTable::Body* body = functions_.FindOverload(candidate.id);
    if (body == nullptr) continue;
    if (candidate.id == overload) {
      callees = {{.body = body, .guard = GuardFor(candidate, *body)}};
      break;
    }
    callees.push_back({.body = body, .guard = GuardFor(candidate, *body)});
  }
  spec.callees = plan_.arena.Copy(callees);
  spec.dispatch = callees.size() > 1;
  spec.one_by_one =
      spec.dispatch || (callees.size() == 1 && (callees[0].body->flags & kOneByOne) != 0);
  if (spec.dispatch) {
    // Overloads that check their own arguments still have to have the right number of them.
    for (std::size_t i = 0; i < callees.size(); ++i) {
      if (spec.callees[i].guard != nullptr) continue;
      FillGuard(*declared, spec, i);
    }
  }
}

void CallPlanner::FillGuard(const Function& declared, CallNode::Spec& spec, std::size_t index) {
  std::vector<Callee> callees(spec.callees.begin(), spec.callees.end());
  std::size_t at = 0;
  for (const Overload& candidate : declared.overloads) {
    if (functions_.FindOverload(candidate.id) == nullptr) continue;
    if (at++ == index) callees[index].guard = AnyArgs(candidate.args.size());
  }
  spec.callees = plan_.arena.Copy(callees);
}

const Overload* CallPlanner::AnyArgs(std::size_t count) {
  Overload* overload = Make<Overload>();
  overload->args.assign(count, &types::kDyn);
  return overload;
}

// --- What is worked out once

Planned CallPlanner::Optimize(std::string_view function, std::string_view overload,
                              CallNode::Spec& spec) {
  if (overload == "in_list") {
    if (const Value* list = spec.args[1]->AsConstant()) return PlanSet(spec.args[0], *list);
    return nullptr;
  }
  if (const RegexFunction* regex = FindRegexFunction(function);
      regex != nullptr && spec.args.size() > 1) {
    const Value* pattern = spec.args[1]->AsConstant();
    if (pattern != nullptr && pattern->IsString()) return PlanPattern(*regex, *pattern, spec);
    return nullptr;
  }
  const bool conversion = std::ranges::find(kConversions, function) != kConversions.end();
  if (conversion && spec.args.size() == 1 && spec.args[0]->AsConstant() != nullptr) {
    const CallNode call(spec);
    Frame frame{.arena = plan_.arena};
    const Value value = call.Eval(frame);
    if (value.IsError()) return Fail(std::string(value.AsText()));
    return Constant(value);
  }
  return PlanFolded(spec);
}

Planned CallPlanner::PlanFolded(const CallNode::Spec& spec) {
  constexpr std::uint64_t kWorkMax = 1000;  // do not work out at length what may never be asked
  std::vector<std::uint64_t> charges;
  for (const Node* arg : spec.args) {
    if (arg->AsConstant() != nullptr) continue;
    const auto* folded = dynamic_cast<const FoldedNode*>(arg);
    if (folded == nullptr || folded->value().IsError()) return nullptr;
    charges.insert(charges.end(), folded->charges().begin(), folded->charges().end());
  }
  if (spec.args.empty()) return nullptr;
  std::uint64_t before = 0;
  for (const std::uint64_t charge : charges) before += charge;
  for (const Node* arg : spec.args) {
    if (const Value* value = arg->AsConstant();
        value != nullptr && PlainSizeOf(*value) > kWorkMax) {
      return nullptr;
    }
  }
  if (before > kWorkMax) return nullptr;
  const CallNode call(spec);
  Frame frame{.arena = plan_.arena};
  const Value value = call.Eval(frame);
  if (value.IsError() || PlainSizeOf(value) > kWorkMax) return nullptr;
  charges.push_back(frame.cost - before);
  return Make<FoldedNode>(CountedText(value), plan_.arena.Copy(charges));
}

Value CallPlanner::CountedText(const Value& value) {
  return value.IsString() ? Value::CountedString(value.AsText()) : value;
}

Planned CallPlanner::PlanPattern(const RegexFunction& function, const Value& pattern,
                                 const CallNode::Spec& spec) {
  std::string error;
  std::unique_ptr<RE2> compiled = CompileRegex(pattern.AsText(), &pattern_weight_left_, &error);
  if (compiled == nullptr) return Fail(error);
  return Make<PatternNode>(spec.args, std::move(compiled), function.body, spec.cost);
}

Planned CallPlanner::PlanSet(const Node* element, const Value& list) {
  if (!list.IsList()) return nullptr;
  if (list.AsList().size == 0) return Constant(Value::Bool(false));
  std::vector<MapEntry> members;
  const auto add = [&](Value value) {
    members.push_back({.key = value, .value = Value::Bool(true)});
  };
  for (const Value& value : list.AsList().elements()) {
    switch (value.kind()) {
      case ValueKind::kBool:
      case ValueKind::kString:
        break;
      case ValueKind::kInt:
        add(Value::Double(static_cast<double>(value.AsInt())));
        if (value.AsInt() >= 0) add(Value::Uint(value.AsUint()));
        break;
      case ValueKind::kUint:
        add(Value::Double(static_cast<double>(value.AsUint())));
        if (value.AsInt() >= 0) add(Value::Int(value.AsInt()));
        break;
      case ValueKind::kDouble:
        if (const auto integer = IndexOf(value)) {
          add(Value::Int(*integer));
          if (*integer >= 0) add(Value::Uint(static_cast<std::uint64_t>(*integer)));
        }
        break;
      default:
        return nullptr;
    }
    add(value);
  }
  return Make<MemberNode>(element, MakeMap(plan_.arena, members));
}

}  // namespace drachma::cel
