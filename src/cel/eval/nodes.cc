#include "cel/eval/nodes.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace drachma::cel {
namespace {

std::uint64_t CostOf(const CallCost& cost, std::span<const Value> args, const Value& result) {
  return cost.body == nullptr ? cost.fixed : cost.body(args, result);
}

bool Matches(const Callee& callee, std::span<const Value> args) {
  if (callee.guard == nullptr) return true;
  if (callee.guard->args.size() != args.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].IsError()) {
      if ((callee.body->flags & kNonStrict) == 0) return false;
    } else if (!MatchesType(callee.guard->args[i], args[i])) {
      return false;
    }
  }
  return true;
}

bool IsReceiver(const Value& value) {
  return value.IsString() || value.kind() == ValueKind::kTimestamp ||
         value.kind() == ValueKind::kDuration;
}

}  // namespace

Value LogicalNode::Eval(Frame& frame) const {
  Value error;
  for (const Node* term : terms_) {
    const Value value = term->Eval(frame);
    if (frame.stopped) [[unlikely]]
      return frame.StopValue();
    if (value.IsBool()) {
      if (value.AsBool() == deciding_) return value;
    } else if (!error.IsError()) {
      error = value.IsError() ? value : NoSuchOverload();
    }
  }
  return error.IsError() ? error : Value::Bool(!deciding_);
}

Value EqualNode::Eval(Frame& frame) const {
  const std::array<Value, 2> args = {left_->Eval(frame), right_->Eval(frame)};
  Value result;
  if (args[0].IsError()) {
    result = args[0];
  } else if (args[1].IsError()) {
    result = args[1];
  } else {
    result = Equals(args[0], args[1]);
    if (result.IsError() && result.AsText() == kCostExceeded) [[unlikely]] {
      frame.Stop(kCostExceeded);
      return frame.StopValue();
    }
    if (negated_) result = Value::Bool(!result.IsTrue());
  }
  frame.Charge(CostOf(cost_, args, result));
  return result;
}

Value CallNode::Call(Arena& arena, std::span<const Value> args) const {
  if (spec_.dispatch) {
    for (const Callee& callee : spec_.callees) {
      if (Matches(callee, args)) return callee.body->body(arena, args);
    }
    return NoOverloadFor(arena, spec_.function, args);
  }
  if (spec_.callees.empty()) {
    return !args.empty() && IsReceiver(args[0]) ? NoSuchOverload() : Value::Error(spec_.missing);
  }
  const Callee& callee = spec_.callees.front();
  if (!args.empty() && !HasTrait(args[0], callee.body->trait)) {
    return IsReceiver(args[0]) ? NoSuchOverload() : Value::Error(spec_.missing);
  }
  if (!Matches(callee, args)) return NoOverloadFor(arena, spec_.function, args);
  return callee.body->body(arena, args);
}

Value CallNode::EvalWith(Frame& frame, std::span<Value> args) const {
  const bool strict =
      spec_.callees.empty() || (spec_.callees.front().body->flags & kNonStrict) == 0;
  const Value* error = nullptr;
  for (std::size_t i = 0; i < args.size(); ++i) {
    args[i] = spec_.args[i]->Eval(frame);
    if (strict && args[i].IsError() && error == nullptr) {
      // Arguments that were not evaluated leave the call without a cost.
      if (spec_.one_by_one && i + 1 < args.size()) return args[i];
      error = &args[i];
    }
  }
  if (frame.stopped) [[unlikely]]
    return frame.StopValue();
  const Value result = error != nullptr ? *error : Call(frame.arena, args);
  frame.Charge(CostOf(spec_.cost, args, result));
  return result;
}

Value CallNode::Eval(Frame& frame) const {
  const std::size_t count = spec_.args.size();
  if (count <= kInlineArgs) {
    std::array<Value, kInlineArgs> args;
    return EvalWith(frame, std::span(args).first(count));
  }
  return EvalWith(frame, frame.arena.NewSpan<Value>(count));
}

Value PatternNode::Eval(Frame& frame) const {
  std::array<Value, 3> values;
  const std::span<Value> args = std::span(values).first(args_.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    args[i] = args_[i]->Eval(frame);
    if (args[i].IsError()) {
      if (i + 1 == args.size()) frame.Charge(CostOf(cost_, args, args[i]));
      return args[i];
    }
  }
  const Value result = body_(frame.arena, *pattern_, args);
  frame.Charge(CostOf(cost_, args, result));
  return result;
}

Value MemberNode::Eval(Frame& frame) const {
  const Value element = element_->Eval(frame);
  if (element.IsError()) return element;
  if (element.kind() == ValueKind::kBytes) {
    return Value::Error("internal error: runtime error: hash of unhashable type types.Bytes");
  }
  // Without FindInMap's detours between kinds of numbers: the set has those that fit.
  for (const MapEntry& entry : set_.AsMap().all()) {
    if (entry.key.kind() == element.kind() && Equals(entry.key, element).IsTrue()) {
      return Value::Bool(true);
    }
  }
  return Value::Bool(false);
}

Value OptionalOrNode::Eval(Frame& frame) const {
  const Value left = left_->Eval(frame);
  if (left.IsError()) return left;
  if (!left.IsOptional()) return NoSuchOverload();
  if (left.HasValue()) return unwrap_ ? left.Inner() : left;
  return right_->Eval(frame);
}

Value ListNode::Eval(Frame& frame) const {
  const Value list = Build(frame);
  frame.Charge(10);
  return list;
}

Value ListNode::Build(Frame& frame) const {
  std::span<Value> items = frame.arena.NewSpan<Value>(elements_.size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    Value value = elements_[i]->Eval(frame);
    if (value.IsError()) return value;
    if (!optional_.empty() && optional_[i]) {
      if (!value.IsOptional()) {
        return MakeError(frame.arena,
                         "cannot initialize optional list element from non-optional value " +
                             DebugString(value));
      }
      if (!value.HasValue()) continue;
      value = value.Inner();
    }
    items[size++] = value;
  }
  ListData* list = frame.arena.New<ListData>();
  *list = {.items = items.data(), .size = static_cast<std::uint32_t>(size), .buffer = nullptr};
  return Value::List(list);
}

namespace {

// The value of an entry that is written with '?': nothing when the entry is left out, an error when
// it is no optional.
std::optional<Value> OptionalEntry(Frame& frame, const Value& value, std::string_view name) {
  if (!value.IsOptional()) {
    return MakeError(frame.arena, "cannot initialize optional entry '" + std::string(name) +
                                      "' from non-optional value " + DebugString(value));
  }
  if (!value.HasValue()) return std::nullopt;
  return value.Inner();
}

}  // namespace

Value StructNode::Eval(Frame& frame) const {
  constexpr std::uint64_t kStructCost = 40;
  const Value made = Build(frame);
  frame.Charge(kStructCost);
  return made;
}

Value StructNode::Build(Frame& frame) const {
  std::vector<StructMaker::Field> fields;
  fields.reserve(items_.size());
  for (const Item& item : items_) {
    Value value = item.value->Eval(frame);
    if (value.IsError()) return value;
    const auto same = std::ranges::find(fields, item.field, &StructMaker::Field::name);
    if (item.optional) {
      const std::optional<Value> given = OptionalEntry(frame, value, item.field);
      if (!given) {
        if (same != fields.end()) fields.erase(same);
        continue;
      }
      if (given->IsError()) return *given;
      value = *given;
    }
    if (same != fields.end()) {
      same->value = value;
    } else {
      fields.push_back({item.field, value});
    }
  }
  return maker_.Make(frame.arena, type_, fields);
}

Value MapNode::Eval(Frame& frame) const {
  const Value map = Build(frame);
  frame.Charge(30);
  return map;
}

Value MapNode::Build(Frame& frame) const {
  constexpr std::size_t kFewItems = 16;  // are searched one by one
  std::vector<MapEntry> entries;
  entries.reserve(items_.size());
  std::unordered_multimap<std::uint32_t, std::size_t> places;
  const auto find = [&](const Value& key) -> std::size_t {
    if (items_.size() <= kFewItems) {
      const auto same = std::ranges::find_if(
          entries, [&](const MapEntry& entry) { return SameMapKey(entry.key, key); });
      return static_cast<std::size_t>(same - entries.begin());
    }
    const auto [begin, end] = places.equal_range(HashMapKey(key));
    for (auto place = begin; place != end; ++place) {
      if (SameMapKey(entries[place->second].key, key)) return place->second;
    }
    return entries.size();
  };
  for (const Item& item : items_) {
    const Value key = item.key->Eval(frame);
    if (key.IsError()) return key;
    Value value = item.value->Eval(frame);
    if (value.IsError()) return value;
    const std::size_t place = find(key);
    if (item.optional) {
      const std::optional<Value> given = OptionalEntry(frame, value, DebugString(key));
      if (!given) {
        // An entry that is taken away leaves a hole for the next ones: an error as its key.
        if (place < entries.size()) entries[place].key = Value::Error({});
        continue;
      }
      if (given->IsError()) return *given;
      value = *given;
    }
    if (key.kind() == ValueKind::kBytes) {
      return Value::Error("internal error: runtime error: hash of unhashable type types.Bytes");
    }
    if (place < entries.size()) {
      entries[place].value = value;
      continue;
    }
    if (items_.size() > kFewItems) places.emplace(HashMapKey(key), entries.size());
    entries.push_back({.key = key, .value = value});
  }
  std::erase_if(entries, [](const MapEntry& entry) { return entry.key.IsError(); });
  return MakeMap(frame.arena, entries);
}

FoldNode::Next FoldNode::Iterate(Frame& frame) const {
  const Value condition = spec_.condition->Eval(frame);
  if (frame.stopped) [[unlikely]]
    return Next::kStop;
  if (condition.IsFalse()) return Next::kStop;
  // The step reads the accumulator's slot, so it is written afterwards.
  const Value next = spec_.step->Eval(frame);
  frame.slots[spec_.slot] = {.value = next, .lazy = nullptr};
  if (frame.stopped) [[unlikely]]
    return Next::kStop;
  if (frame.interrupt != nullptr && ++frame.iterations % kInterruptEvery == 0 &&
      frame.interrupt->load(std::memory_order_relaxed)) {
    return Next::kInterrupted;
  }
  return Next::kGoOn;
}

FoldNode::Next FoldNode::IterateAll(Frame& frame, const Value& range) const {
  Slot* slots = frame.slots + spec_.slot;
  Next next = Next::kGoOn;
  if (range.IsMap()) {
    for (const MapEntry& entry : range.AsMap().all()) {
      slots[1].value = entry.key;
      slots[2].value = entry.value;
      if (next = Iterate(frame); next != Next::kGoOn) break;
    }
    return next;
  }
  std::int64_t index = 0;
  for (const Value& element : range.AsList().elements()) {
    slots[1].value = spec_.two ? Value::Int(index++) : element;
    slots[2].value = element;
    if (next = Iterate(frame); next != Next::kGoOn) break;
  }
  return next;
}

Value FoldNode::Eval(Frame& frame) const {
  const Value range = spec_.range->Eval(frame);
  if (range.IsError()) return range;
  if (!range.IsMap() && !range.IsList()) {
    const std::string type(GoTypeName(range));
    return MakeError(frame.arena, spec_.two ? "unsupported comprehension range type: " + type
                                            : "got '" + type + "', expected iterable type");
  }
  frame.slots[spec_.slot] = {.value = {}, .lazy = spec_.accu};
  const Next next = IterateAll(frame, range);
  if (frame.stopped) [[unlikely]]
    return frame.StopValue();
  if (next == Next::kInterrupted) {
    frame.Stop(kInterrupted);
    return frame.StopValue();
  }
  return spec_.result->Eval(frame);
}

Value BlockNode::Eval(Frame& frame) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    frame.slots[slot_ + static_cast<int>(i)] = {.value = {}, .lazy = values_[i]};
  }
  return body_->Eval(frame);
}

}  // namespace drachma::cel
