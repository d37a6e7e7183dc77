#include "apiserver/patch_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "json/pointer.h"
#include "validation/field_error.h"

namespace drachma::apiserver {
namespace {

using json::Member;
using json::Value;

Value Sorted(std::vector<std::pair<std::string, Value>> members) {
  std::ranges::sort(members, {}, [](const auto& member) { return std::string_view(member.first); });
  Value object = Value::Object();
  for (auto& [key, value] : members) object.Set(key, std::move(value));
  return object;
}

Value SortedOne(const Value& object) {
  std::vector<std::pair<std::string, Value>> members;
  for (const Member& member : object.Members()) {
    members.emplace_back(member.key(), member.value);
  }
  return Sorted(std::move(members));
}

enum class Nulls : std::uint8_t { kKept, kDropped };

// All objects of a value sorted.
Value SortedAll(const Value& value, Nulls nulls) {
  if (value.IsObject()) {
    std::vector<std::pair<std::string, Value>> members;
    for (const Member& member : value.Members()) {
      if (nulls == Nulls::kDropped && member.value.IsNull()) continue;
      members.emplace_back(member.key(), SortedAll(member.value, nulls));
    }
    return Sorted(std::move(members));
  }
  if (value.IsArray()) {
    Value items = Value::Array();
    for (const Value& item : value.Items()) items.Append(SortedAll(item, nulls));
    return items;
  }
  return value;
}

Value Merged(const Value& object, const Value& patch) {
  std::vector<std::pair<std::string, Value>> members;
  for (const Member& member : object.Members()) {
    if (!patch.Has(member.key())) members.emplace_back(member.key(), member.value);
  }
  for (const Member& member : patch.Members()) {
    if (member.value.IsNull()) continue;
    const Value& current = object[member.key()];
    Value merged;
    if (!current.IsObject()) {
      merged = SortedAll(member.value, Nulls::kDropped);
    } else if (!member.value.IsObject()) {
      merged = member.value;
    } else {
      merged = Merged(current, member.value);
    }
    members.emplace_back(member.key(), std::move(merged));
  }
  return Sorted(std::move(members));
}

enum class Depth : std::uint8_t { kContainers, kAll };

// `value` with the objects on the way along a JSON pointer sorted; kAll: and all below its end.
Value SortedAlong(const Value& value, std::string_view pointer, Depth depth) {
  if (pointer.empty()) return depth == Depth::kAll ? SortedAll(value, Nulls::kKept) : value;
  pointer.remove_prefix(1);
  const std::size_t end = std::min(pointer.find('/'), pointer.size());
  const std::string key = json::UnescapePointerToken(pointer.substr(0, end));
  const std::string_view rest = pointer.substr(end);
  if (value.IsObject()) {
    Value sorted = SortedOne(value);
    if (sorted.Has(key)) sorted.Set(key, SortedAlong(value[key], rest, depth));
    return sorted;
  }
  std::size_t index = 0;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
  if (!value.IsArray() || parsed.ec != std::errc() || index >= value.size()) return value;
  Value items = value;
  items.EditItem(index) = SortedAlong(value.Items()[index], rest, depth);
  return items;
}

}  // namespace

std::string MergedText(const Value& object, const Value& patch) {
  return validation::EscapeHtml(json::Write(Merged(object, patch)));
}

std::string OperatedText(const Value& patched, const Value& operations) {
  Value text = patched.IsObject() ? SortedOne(patched) : patched;
  for (const Value& operation : operations.Items()) {
    const bool test = operation["op"].AsString() == "test";
    for (const char* member : {"path", "from"}) {
      const std::string_view pointer = operation[member].AsString();
      if (!pointer.starts_with('/')) continue;
      text = SortedAlong(text, pointer, test ? Depth::kAll : Depth::kContainers);
    }
  }
  return validation::EscapeHtml(json::Write(text));
}

}  // namespace drachma::apiserver
