#include "api/strategic_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/json_kind.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Member;
using json::Value;

// How deep maps of a patch may lie in each other where they meet maps of the object.
constexpr int kDepthMax = 1000;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kOrderPrefix = "$setElementOrder";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList";

// What the field table says about a value: its struct, or the structs in a map; without either
// (labels, raw JSON) maps merge and lists are replaced.
struct Schema {
  const TypeInfo* type = nullptr;
  bool is_map = false;
};

struct FieldMeta {
  Schema schema;
  std::string_view merge_key;
  bool merges = false;    // lists: patchStrategy merge
  bool replaces = false;  // maps: patchStrategy replace
};

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Code::kUnknown, std::move(message));
}

Result<FieldMeta> Lookup(const Schema& schema, std::string_view key) {
  if (schema.type == nullptr) return FieldMeta{};
  if (schema.is_map) return FieldMeta{.schema = {schema.type}};
  const FieldInfo* field = schema.type->Find(key);
  if (field == nullptr) {
    return Wrong(fmt::format("unable to find api field in struct {} for the json field \"{}\"",
                             schema.type->BareName(), key));
  }
  FieldMeta meta;
  if (field->scalar == Scalar::kStruct) {
    meta.schema = {field->type, field->shape == Shape::kMap};
  }
  meta.merge_key = field->extras->merge_key;
  const std::string_view strategy = field->extras->patch_strategy;
  meta.merges = strategy.find("merge") != std::string_view::npos;
  meta.replaces = strategy.find("replace") != std::string_view::npos;
  return meta;
}

// Go's %v of a decoded JSON value: map[a:b c:[d e]].
std::string GoText(const Value& value) {
  if (value.IsObject()) {
    std::map<std::string_view, const Value*> sorted;
    for (const Member& member : value.Members()) sorted[member.key()] = &member.value;
    std::string text;
    for (const auto& [key, item] : sorted) {
      if (!text.empty()) text += ' ';
      text += fmt::format("{}:{}", key, GoText(*item));
    }
    return fmt::format("map[{}]", text);
  }
  if (value.IsArray()) {
    std::string text;
    for (const Value& item : value.Items()) {
      if (!text.empty()) text += ' ';
      text += GoText(item);
    }
    return fmt::format("[{}]", text);
  }
  if (value.IsNull()) return "<nil>";
  return value.IsString() ? std::string(value.AsString()) : json::Write(value);
}

std::unexpected<Error> NoMergeKey(const Value& item, std::string_view key) {
  return Wrong(fmt::format("map: {} does not contain declared merge key: {}", GoText(item), key));
}

std::unexpected<Error> BadPatchType(const Value& directive, const Value& item) {
  return Wrong(fmt::format("unknown patch type: {} in map: {}", GoText(directive), GoText(item)));
}

Value WithoutNulls(const Value& value) {
  if (value.IsObject()) {
    Value kept = Value::Object();
    for (const Member& member : value.Members()) {
      if (!member.value.IsNull()) kept.SetByKey(member.key_value, WithoutNulls(member.value));
    }
    return kept;
  }
  if (!value.IsArray()) return value;
  std::vector<Value> items;
  for (const Value& item : value.Items()) items.push_back(WithoutNulls(item));
  return Value::Array(std::move(items));
}

std::unexpected<Error> NoList(const Value& value) {
  return Wrong(fmt::format("expected a []interface {{}}, but received a {}",
                           value.IsNull() ? "nil" : GoType(value)));
}

// What is left of a value that is new to the original; nothing when it is itself a directive.
std::optional<Value> WithoutDirectives(const Value& value) {
  if (value.IsObject()) {
    if (value.Has(kPatch)) return std::nullopt;
    Value kept = Value::Object();
    for (const Member& member : value.Members()) {
      if (auto inner = WithoutDirectives(member.value)) {
        kept.SetByKey(member.key_value, std::move(*inner));
      }
    }
    return kept;
  }
  if (!value.IsArray()) return value;
  std::vector<Value> items;
  for (const Value& item : value.Items()) {
    if (auto inner = WithoutDirectives(item)) items.push_back(std::move(*inner));
  }
  return Value::Array(std::move(items));
}

// The identity of a list's element: the value of its merge key, or itself.
std::string Identity(const Value& item, std::string_view merge_key) {
  return json::Write(merge_key.empty() ? item : item[merge_key]);
}

using Positions = std::map<std::string, std::size_t, std::less<>>;

Positions PositionsOf(const std::vector<Value>& items, std::string_view merge_key) {
  Positions positions;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!merge_key.empty() && !items[i].Has(merge_key)) continue;
    positions.emplace(Identity(items[i], merge_key), i);
  }
  return positions;
}

std::vector<Value> Copy(const Value& list) { return {list.Items().begin(), list.Items().end()}; }

// Items that the patch orders come in its order, the others in the server's; where both orders
// know a pair, the server's order decides which comes first.
std::vector<Value> Order(const std::vector<Value>& merged, const std::vector<Value>& patch_order,
                         const std::vector<Value>& server_order, std::string_view merge_key) {
  const Positions in_patch = PositionsOf(patch_order, merge_key);
  const Positions on_server = PositionsOf(server_order, merge_key);
  std::vector<std::pair<std::size_t, Value>> patch_items;
  std::vector<std::pair<std::size_t, Value>> server_items;
  for (const Value& item : merged) {
    const std::string identity = Identity(item, merge_key);
    if (const auto found = in_patch.find(identity); found != in_patch.end()) {
      patch_items.emplace_back(found->second, item);
    } else {
      const auto place = on_server.find(identity);
      server_items.emplace_back(place == on_server.end() ? SIZE_MAX : place->second, item);
    }
  }
  const auto by_place = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::ranges::stable_sort(patch_items, by_place);
  std::ranges::stable_sort(server_items, by_place);
  std::vector<Value> all;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < server_items.size() || j < patch_items.size()) {
    bool server_first = j == patch_items.size();
    if (i < server_items.size() && j < patch_items.size()) {
      const auto place = on_server.find(Identity(patch_items[j].second, merge_key));
      server_first = place != on_server.end() && server_items[i].first < place->second;
    }
    all.push_back(std::move(server_first ? server_items[i++].second : patch_items[j++].second));
  }
  return all;
}

// Whether all elements are maps (true) or scalars (false). Lists hold elements of one sort.
Result<bool> HoldsMaps(const std::vector<Value>& a, const std::vector<Value>& b) {
  std::optional<json::Kind> kind;
  for (const auto* list : {&a, &b}) {
    for (const Value& item : *list) {
      if (!kind && item.IsArray()) {
        return Fail(Code::kInvalid,
                    "the server rejected our request due to an error in our request");
      }
      if (kind && *kind != item.kind()) {
        return Wrong(fmt::format("list element types are not identical: [{} {}]",
                                 GoText(Value::Array(a)), GoText(Value::Array(b))));
      }
      kind = item.kind();
    }
  }
  return kind == json::Kind::kObject;
}

std::vector<Value> WithoutDuplicates(const std::vector<Value>& items) {
  std::vector<Value> kept;
  std::set<std::string> seen;
  for (const Value& item : items) {
    if (seen.insert(json::Write(item)).second) kept.push_back(item);
  }
  return kept;
}

class Merger {
 public:
  Result<Value> Map(Value original, Value patch, const Schema& schema) {
    if (const Value* directive = patch.Find(kPatch)) {
      if (directive->AsString() == "replace") {
        patch.Erase(kPatch);
        return patch;
      }
      if (directive->AsString() == "delete") return Value::Object();
      return BadPatchType(*directive, patch);
    }
    if (depth_ == kDepthMax) return BadInput("exceeded max depth");
    ++depth_;
    if (original.IsNull()) original = Value::Object();
    DRA_TRY(RetainKeys(original, patch));
    DRA_TRY(OrderedLists(original, patch, schema));
    for (const Member& member : patch.Members()) {
      DRA_TRY(Field(original, member.key(), member.value, schema));
    }
    --depth_;
    return original;
  }

 private:
  // $retainKeys: what it does not name goes; what the patch sets it must name.
  static Status RetainKeys(Value& original, Value& patch) {
    const Value retained = patch[kRetainKeys];
    if (!patch.Erase(kRetainKeys)) return {};
    const auto bad = [] { return BadInput("invalid patch format of retainKeys"); };
    if (!retained.IsArray()) return bad();
    std::set<std::string_view> keys;
    for (const Value& key : retained.Items()) keys.insert(key.AsString());
    for (const Member& member : patch.Members()) {
      const std::string_view key = member.key();
      if (member.value.IsNull() || key.starts_with(kDeletePrefix) ||
          key.starts_with(kOrderPrefix)) {
        continue;
      }
      if (!keys.contains(key)) return bad();
    }
    Value kept = Value::Object();
    for (const Member& member : original.Members()) {
      if (keys.contains(member.key())) kept.SetByKey(member.key_value, member.value);
    }
    original = std::move(kept);
    return {};
  }

  // $setElementOrder/x together with the patch's list x; both are taken out of the patch.
  Status OrderedLists(Value& original, Value& patch, const Schema& schema) {
    for (const Member& member : Value(patch).Members()) {
      if (!member.key().starts_with(kOrderPrefix)) continue;
      patch.Erase(member.key());
      if (!member.value.IsArray()) return NoList(member.value);
      if (member.key().size() <= kOrderPrefix.size() || member.key()[kOrderPrefix.size()] != '/') {
        return BadInput("invalid patch format of setElementOrder list");
      }
      const std::string key(member.key().substr(kOrderPrefix.size() + 1));
      const Value old_list = original[key];
      const Value new_list = patch[key];
      for (const Value* list : {&old_list, &new_list}) {
        if (!list->IsNull() && !list->IsArray()) return NoList(*list);
      }
      DRA_ASSIGN(const FieldMeta meta, Lookup(schema, key));
      DRA_TRY(CheckOrder(new_list, member.value, meta.merge_key));
      Value merged = old_list;
      if (old_list.IsNull() && new_list.IsNull()) continue;
      if (old_list.IsNull()) {
        merged = *WithoutDirectives(new_list);
      } else if (!new_list.IsNull()) {
        DRA_ASSIGN(merged, List(old_list, new_list, meta, ListUse::kMerge));
      }
      if (!meta.merge_key.empty()) {
        DRA_TRY(CheckMergeKeys(merged, meta.merge_key));
        DRA_TRY(CheckMergeKeys(member.value, meta.merge_key));
      }
      original.Set(key, Value::Array(Order(Copy(merged), Copy(member.value), Copy(old_list),
                                           meta.merge_key)));
      patch.Erase(key);
    }
    return {};
  }

  static Status CheckMergeKeys(const Value& list, std::string_view merge_key) {
    for (const Value& item : list.Items()) {
      if (!item.Has(merge_key)) return NoMergeKey(item, merge_key);
    }
    return {};
  }

  // The patch's elements must come in the order that the directive gives them.
  static Status CheckOrder(const Value& list, const Value& order, std::string_view merge_key) {
    if (list.empty() || order.empty()) return {};
    auto next = order.Items().begin();
    for (const Value& item : list.Items()) {
      if (item.Has(kPatch)) continue;
      if (!merge_key.empty() && !item.Has(merge_key)) return NoMergeKey(item, merge_key);
      const std::string identity = Identity(item, merge_key);
      while (next != order.Items().end() && Identity(*next, merge_key) != identity) ++next;
      if (next == order.Items().end()) {
        return Wrong(fmt::format("The order in patch list:\n{}\n doesn't match {} list:\n{}\n",
                                 GoText(list), kOrderPrefix, GoText(order)));
      }
      ++next;
    }
    return {};
  }

  Status Field(Value& original, std::string_view patch_key, const Value& patch,
               const Schema& schema) {
    const bool deletes = patch_key.starts_with(kDeletePrefix);
    std::string key(patch_key);
    if (deletes) {
      if (patch_key.size() <= kDeletePrefix.size() || patch_key[kDeletePrefix.size()] != '/') {
        return BadInput("invalid patch format of primitive list");
      }
      key = patch_key.substr(kDeletePrefix.size() + 1);
    }
    if (patch.IsNull()) {
      original.Erase(key);
      return {};
    }
    const Value* found = original.Find(key);
    const bool alike = found != nullptr && found->kind() == patch.kind();
    if (!alike || !(patch.IsObject() || patch.IsArray())) {
      if (!deletes) Replace(original, key, patch);
      return {};
    }
    DRA_ASSIGN(const FieldMeta meta, Lookup(schema, key));
    Value old = *found;
    if (patch.IsArray()) {
      DRA_ASSIGN(Value merged,
                 List(old, patch, meta, deletes ? ListUse::kDelete : ListUse::kByStrategy));
      original.Set(key, std::move(merged));
    } else if (meta.replaces) {
      original.Set(key, patch);
    } else {
      original.Set(key, Value());  // so that `old` is not shared and merges in place
      DRA_ASSIGN(Value merged, Map(std::move(old), patch, meta.schema));
      original.Set(key, std::move(merged));
    }
    return {};
  }

  static void Replace(Value& original, const std::string& key, const Value& patch) {
    if (auto kept = WithoutDirectives(WithoutNulls(patch))) {
      original.Set(key, std::move(*kept));
    } else {
      original.Erase(key);
    }
  }

  enum class ListUse : std::uint8_t { kByStrategy, kMerge, kDelete };

  Result<Value> List(const Value& original, const Value& patch, const FieldMeta& meta,
                     ListUse use) {
    if (use != ListUse::kDelete && !meta.merges) return patch;
    if (original.empty() && patch.empty()) return original;
    std::vector<Value> old = Copy(original);
    std::vector<Value> changes = Copy(patch);
    DRA_ASSIGN(const bool maps, HoldsMaps(old, changes));
    if (!maps) return Scalars(std::move(old), changes, use);
    if (meta.merge_key.empty()) {
      return Wrong(fmt::format("cannot merge lists without merge key for {}",
                               meta.schema.type == nullptr ? "" : meta.schema.type->BareName()));
    }
    DRA_TRY(TakeDirectives(old, changes, meta.merge_key));
    const std::vector<Value> server = old;
    DRA_TRY(MergeElements(old, changes, meta));
    return Value::Array(Order(old, changes, server, meta.merge_key));
  }

  static Value Scalars(std::vector<Value> old, const std::vector<Value>& changes, ListUse use) {
    if (use == ListUse::kDelete) {
      const Positions gone = PositionsOf(changes, {});
      std::erase_if(old, [&gone](const Value& item) { return gone.contains(json::Write(item)); });
      return Value::Array(std::move(old));
    }
    const std::vector<Value> server = old;
    old.insert(old.end(), changes.begin(), changes.end());
    return Value::Array(Order(WithoutDuplicates(old), changes, server, {}));
  }

  // Elements with $patch: "delete" takes the element of that merge key out of the original,
  // "replace" drops the whole original.
  static Status TakeDirectives(std::vector<Value>& old, std::vector<Value>& changes,
                               std::string_view merge_key) {
    std::vector<Value> plain;
    std::set<std::string> gone;
    bool replace = false;
    for (const Value& item : changes) {
      const Value* directive = item.Find(kPatch);
      if (directive == nullptr) {
        plain.push_back(item);
      } else if (directive->AsString() == "delete") {
        if (!item.Has(merge_key)) return NoMergeKey(item, merge_key);
        gone.insert(Identity(item, merge_key));
      } else if (directive->AsString() == "replace") {
        replace = true;
      } else if (directive->AsString() == "merge") {
        return Wrong("merging lists cannot yet be specified in the patch");
      } else {
        return BadPatchType(*directive, item);
      }
    }
    std::erase_if(old, [&](const Value& item) {
      return item.Has(merge_key) && gone.contains(Identity(item, merge_key));
    });
    changes = std::move(plain);
    if (replace) {
      old = std::move(changes);
      changes.clear();
    }
    return {};
  }

  Status MergeElements(std::vector<Value>& old, const std::vector<Value>& changes,
                       const FieldMeta& meta) {
    Positions positions = PositionsOf(old, meta.merge_key);
    for (const Value& change : changes) {
      if (!change.Has(meta.merge_key)) return NoMergeKey(change, meta.merge_key);
      const auto [place, added] = positions.emplace(Identity(change, meta.merge_key), old.size());
      if (added) {
        old.push_back(change);
        continue;
      }
      DRA_ASSIGN(old[place->second], Map(std::move(old[place->second]), change, meta.schema));
    }
    for (const Value& item : old) {
      if (!item.Has(meta.merge_key)) return NoMergeKey(item, meta.merge_key);
    }
    return {};
  }

  int depth_ = 0;
};

}  // namespace

Result<Value> StrategicMergePatch(Value original, const Value& patch, const TypeInfo& type) {
  if (!patch.IsObject()) return BadInput("invalid JSON document");
  return Merger().Map(std::move(original), patch, {&type});
}

}  // namespace drachma::api
