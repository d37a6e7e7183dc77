#include "lint/listed.h"

#include <algorithm>
#include <utility>

#include "lint/path.h"

namespace drachma::lint {
namespace {

using json::Value;
using json::YamlDocument;

constexpr std::string_view kListEnding = "List";

bool IsList(const Value& object) {
  return object["kind"].AsString().ends_with(kListEnding) && object.Has("items") &&
         (object["items"].IsArray() || object["items"].IsNull());
}

// The item of a typed list with what it may leave out.
Value Typed(const Value& item, const Value& list) {
  std::string_view kind = list["kind"].AsString();
  kind.remove_suffix(kListEnding.size());
  if (kind.empty() || !item.IsObject() || item.Has("kind") || item.Has("apiVersion")) return item;
  Value typed = Value::Object({{"apiVersion", list["apiVersion"]}, {"kind", kind}});
  for (const json::Member& member : item.Members()) typed.Set(member.key(), member.value);
  return typed;
}

void Collect(const YamlDocument& object, const std::string& path, int depth,
             std::vector<ListedObject>& objects) {
  if (depth == kListDepthMax || !IsList(object.value)) {
    objects.push_back({path, object});
    return;
  }
  const auto items = object.value["items"].Items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string inner = Item("items", i);
    YamlDocument document;
    document.value = Typed(items[i], object.value);
    for (json::DuplicateKey duplicate : object.duplicates) {
      if (!IsWithin(duplicate.path, inner)) continue;
      duplicate.path.erase(0, std::min(inner.size() + 1, duplicate.path.size()));
      document.duplicates.push_back(std::move(duplicate));
    }
    Collect(document, path.empty() ? inner : Child(path, inner), depth + 1, objects);
  }
}

}  // namespace

std::vector<ListedObject> ObjectsOf(const YamlDocument& document) {
  std::vector<ListedObject> objects;
  if (IsList(document.value)) {
    Collect(document, "", 0, objects);
  } else {
    YamlDocument alone;
    alone.value = document.value;
    alone.duplicates = document.duplicates;
    objects.push_back({"", std::move(alone)});
  }
  return objects;
}

void MoveTo(std::string_view path, Finding& finding) {
  const auto moved = [&](const std::string& inner) {
    return inner.empty() ? std::string(path) : Child(path, inner);
  };
  finding.path = moved(finding.path);
  for (Change& change : finding.changes) {
    change.path = moved(change.path);
    if (change.type != Change::Type::kRemoveDocument) continue;
    change.type = Change::Type::kRemoveItem;
    finding.fix = "remove this item";
  }
}

}  // namespace drachma::lint
