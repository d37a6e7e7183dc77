#include "cel/eval/attribute.h"

#include <algorithm>

#include "cel/eval/function.h"
#include "cel/eval/lazy_fields.h"

namespace drachma::cel {
namespace {

enum class Presence : std::uint8_t { kRequired, kOptional };

// One step from `object`. `*present` is false when there is nothing and nothing was required.
Value Step(Arena& arena, const Value& object, const Value& key, Presence presence, bool* present) {
  *present = true;
  const auto missing = [&](std::string_view what) {
    if (presence == Presence::kRequired) {
      return MakeError(arena, std::string(what) + DebugString(key));
    }
    *present = false;
    return Value();
  };
  switch (object.kind()) {
    case ValueKind::kError:
      *present = false;
      return object;
    case ValueKind::kMap: {
      if (key.kind() == ValueKind::kBytes && object.AsMap().size > 0) {
        *present = false;
        return Value::Error("internal error: runtime error: hash of unhashable type types.Bytes");
      }
      const Value* value = FindInMap(object.AsMap(), key);
      return value != nullptr ? *value : missing("no such key: ");
    }
    case ValueKind::kList: {
      const std::optional<std::int64_t> index = IndexOf(key);
      if (!index) {
        *present = false;
        return ListGet(object.AsList(), key, arena);
      }
      if (*index >= 0 && *index < object.AsList().size) return object.AsList().items[*index];
      return missing("index out of bounds: ");
    }
    case ValueKind::kOpaque: {
      const OpaqueData& data = object.AsOpaque();
      const auto* fields = dynamic_cast<const LazyFields*>(data.type);
      Value value;
      if (fields != nullptr && key.IsString() && fields->FindField(data, key.AsText(), &value)) {
        return value;
      }
      return missing("no such key: ");
    }
    default:
      return missing("no such key: ");
  }
}

bool CanQualify(const Value& key) {
  switch (key.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
    case ValueKind::kString:
      return true;
    default:
      return false;
  }
}

}  // namespace

Value AttributeNode::Eval(Frame& frame) const {
  Value value = attribute_->Resolve(frame);
  if (mode_ == Mode::kTest) {
    // Costs one, less the one that Kubernetes gives back for presence tests.
    if (attribute_->is_conditional() && !frame.stopped) --frame.cost;
    if (value.IsOptional()) return Value::Bool(value.HasValue());
    return value;
  }
  if (!attribute_->is_conditional()) frame.ChargeUnits(1);
  return value;
}

bool PathAttribute::Base(Frame& frame, Value* value) const {
  if (slot_ >= 0) {
    Slot& slot = frame.slots[slot_];
    if (slot.lazy != nullptr) {
      const Node* init = slot.lazy;
      slot.lazy = nullptr;
      slot.value = init->Eval(frame);
    }
    *value = slot.value;
    return true;
  }
  if (operand_ != nullptr) {
    *value = operand_->Eval(frame);
    return true;
  }
  for (const std::string& name : names_) {
    if (frame.activation != nullptr && frame.activation->Find(name, value)) return true;
    if (types_ != nullptr && qualifiers_.empty()) {
      if (const Type* type = types_->env().FindTypeName(name)) {
        *value = Value::Type(type->name);
        return true;
      }
    }
  }
  std::string all;
  for (const std::string& name : names_) all += (all.empty() ? "" : ", ") + name;
  *value = MakeError(frame.arena, "no such attribute(s): " + all);
  return false;
}

Value PathAttribute::ApplyQualifiers(Frame& frame, Value value) const {
  bool optional = value.IsOptional();
  if (optional) {
    if (!value.HasValue()) return value;
    value = value.Inner();
  }
  for (const Qualifier& qualifier : qualifiers_) {
    optional = optional || qualifier.optional;
    Value key = qualifier.key;
    if (qualifier.dynamic != nullptr) {
      key = qualifier.resolve_only
                ? static_cast<const AttributeNode*>(qualifier.dynamic)->attribute()->Resolve(frame)
                : qualifier.dynamic->Eval(frame);
      if (!key.IsError() && !CanQualify(key)) {
        key = MakeError(frame.arena, "invalid qualifier type: " + std::string(GoTypeName(key)));
      }
    }
    bool present = true;
    if (key.IsError()) {
      if (!optional) frame.ChargeUnits(1);
      return key;
    }
    const bool may_miss = optional || qualifier.test_only;
    const Value next = Step(frame.arena, value, key,
                            may_miss ? Presence::kOptional : Presence::kRequired, &present);
    if (!optional || present) frame.ChargeUnits(1);
    if (next.IsError()) return next;
    if (!optional && qualifier.test_only) {
      value = Value::Bool(present);
    } else if (!present) {
      return Value::Optional(nullptr);
    } else {
      value = next;
    }
  }
  return optional ? MakeOptional(frame.arena, value) : value;
}

bool PathAttribute::TryResolve(Frame& frame, Value* value) const {
  if (!Base(frame, value)) return false;
  if (!value->IsError()) *value = ApplyQualifiers(frame, *value);
  return true;
}

Value PathAttribute::LoadPath(Frame& frame) const {
  frame.ChargeUnits(qualifiers_.size());
  Value value;
  const bool found = loader_->Find(frame.host, &value);
  if (loader_tests_) return Value::Bool(found);
  return found ? value : Value::Error(missing_);
}

Value PathAttribute::Resolve(Frame& frame) const {
  if (loader_ != nullptr) return LoadPath(frame);
  Value value;
  (void)TryResolve(frame, &value);
  return value;
}

void PathAttribute::Finish(const PathPlanner* planner) {
  if (planner == nullptr || names_.size() != 1 || qualifiers_.empty()) return;
  std::vector<std::string_view> keys;
  for (const Qualifier& qualifier : qualifiers_) {
    const bool last = &qualifier == &qualifiers_.back();
    if (qualifier.dynamic != nullptr || qualifier.optional || !qualifier.key.IsString() ||
        (qualifier.test_only && !last)) {
      return;
    }
    keys.push_back(qualifier.key.AsText());
  }
  loader_ = planner->Plan(names_.front(), keys);
  loader_tests_ = qualifiers_.back().test_only;
  missing_ = "no such key: " + std::string(keys.back());
}

Value ConditionalAttribute::Resolve(Frame& frame) const {
  const Value condition = condition_->Eval(frame);
  if (condition.IsBool()) return (condition.AsBool() ? yes_ : no_)->Resolve(frame);
  return condition.IsError() ? condition : NoSuchOverload();
}

MaybeAttribute::MaybeAttribute(std::vector<std::string> names, const FunctionTable* functions)
    : functions_(functions) {
  auto attribute = std::make_unique<PathAttribute>(PathAttribute::FromVariable(std::move(names)));
  attribute->AllowTypeNames(functions_);
  alternatives_.push_back(std::move(attribute));
}

void MaybeAttribute::AddQualifier(const Qualifier& qualifier) {
  std::vector<std::string> longer;
  for (const auto& alternative : alternatives_) {
    const bool name = qualifier.dynamic == nullptr && qualifier.key.IsString();
    if (name && alternative->qualifiers().empty()) {
      longer.clear();
      for (const std::string& prefix : alternative->names()) {
        longer.push_back(prefix + "." + std::string(qualifier.key.AsText()));
      }
    }
    alternative->AddQualifier(qualifier);
  }
  if (longer.empty()) return;
  auto attribute = std::make_unique<PathAttribute>(PathAttribute::FromVariable(std::move(longer)));
  attribute->AllowTypeNames(functions_);
  alternatives_.insert(alternatives_.begin(), std::move(attribute));
}

Value MaybeAttribute::Resolve(Frame& frame) const {
  Value first_error;
  for (const auto& alternative : alternatives_) {
    Value value;
    if (alternative->TryResolve(frame, &value)) return value;
    if (!first_error.IsError()) first_error = value;
  }
  return first_error;
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "types.Null";
    case ValueKind::kBool:
      return "types.Bool";
    case ValueKind::kInt:
      return "types.Int";
    case ValueKind::kUint:
      return "types.Uint";
    case ValueKind::kDouble:
      return "types.Double";
    case ValueKind::kString:
      return "types.String";
    case ValueKind::kBytes:
      return "types.Bytes";
    case ValueKind::kTimestamp:
      return "types.Timestamp";
    case ValueKind::kDuration:
      return "types.Duration";
    case ValueKind::kList:
      return "*types.baseList";
    case ValueKind::kMap:
      return "*types.baseMap";
    case ValueKind::kType:
      return "*types.Type";
    case ValueKind::kOptional:
      return "*types.Optional";
    case ValueKind::kError:
      return "*types.Err";
    case ValueKind::kOpaque:
      return value.AsOpaque().type->GoName(value.AsOpaque());
  }
  return "";
}

}  // namespace drachma::cel
