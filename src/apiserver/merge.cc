#include "apiserver/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "apiserver/merge_internal.h"
#include "json/json.h"

namespace drachma::apiserver {

using Form = Shape::Form;

std::optional<Shape> Shape::Field(std::string_view name) const {
  if (form == Form::kDeduced) return *this;
  if (form == Form::kMap) return source->Element(node);
  return source->Field(node, name);
}

bool Shape::Declares(std::string_view name) const {
  return form == Form::kStruct && source->Field(node, name).has_value();
}

Shape Shape::Item() const { return source->Element(node); }

Result<std::string> ItemElement(const Shape& list, const json::Value& item) {
  if (list.form == Form::kSet) {
    if (item.IsObject()) {
      return BadInput("associative list without keys has an element that's a map type");
    }
    if (item.IsArray()) {
      return BadInput("not supported: associative list with lists as elements");
    }
    if (item.IsNull()) {
      return BadInput("associative list without keys has an element that's an explicit null");
    }
    return "v:" + json::Write(item);
  }
  if (item.IsNull()) {
    return BadInput("associative list with keys may not have a null element");
  }
  if (!item.IsObject()) {
    return BadInput("associative list with keys may not have non-map elements");
  }
  std::vector<std::string_view> names = list.source->Keys(list.node);
  std::ranges::sort(names);
  json::Value key = json::Value::Object();
  for (const std::string_view name : names) {
    const json::Value* value = item.Find(name);
    json::Value used = value != nullptr ? *value : list.source->KeyDefault(list.node, name);
    if (value != nullptr || !used.IsNull()) key.Set(name, std::move(used));
  }
  if (key.empty()) {
    std::string quoted;
    for (const std::string_view name : list.source->Keys(list.node)) {
      quoted += fmt::format("{}\"{}\"", quoted.empty() ? "" : " ", name);
    }
    return BadInput(
        fmt::format("associative list with keys has an element that omits all key fields [{}] "
                    "(and doesn't have default values for any key fields)",
                    quoted));
  }
  return "k:" + json::Write(key);
}

namespace {

// The form that a value takes: deduced shapes follow the value, what is owned as a whole is a leaf.
Form FormFor(const Shape& shape, const json::Value* value) {
  if (shape.atomic || shape.form == Form::kList) return Form::kLeaf;
  if (shape.form != Form::kDeduced) return shape.form;
  return value != nullptr && value->IsObject() ? Form::kMap : Form::kLeaf;
}

bool Absent(const json::Value* value) { return value == nullptr; }
bool EmptyOrAbsent(const json::Value* value) { return value == nullptr || value->empty(); }

// The items of a list by element, in order. Items without one are left out.
struct IndexedList {
  std::vector<std::pair<std::string, const json::Value*>> items;
  std::unordered_map<std::string, std::vector<const json::Value*>> by_element;
};

IndexedList IndexItems(const Shape& list, const json::Value* value) {
  IndexedList indexed;
  if (value == nullptr) return indexed;
  for (const json::Value& item : value->Items()) {
    Result<std::string> element = ItemElement(list, item);
    if (!element) continue;
    indexed.by_element[*element].push_back(&item);
    indexed.items.emplace_back(std::move(*element), &item);
  }
  return indexed;
}

// --- FieldsOf.

void CollectFields(const json::Value& value, const Shape& shape, FieldSet::Entry* entry,
                   FieldSet& below);

void CollectMembers(const json::Value& value, const Shape& shape, FieldSet& below) {
  for (const json::Member& member : value.Members()) {
    const std::optional<Shape> child = shape.Field(member.key());
    FieldSet::Entry& entry = below.Descend(FieldElement(member.key()));
    CollectFields(member.value, child.value_or(Shape{}), &entry, entry.children);
    if (member.value.IsNull() || (member.value.IsObject() && member.value.empty()) ||
        !shape.Declares(member.key())) {
      entry.member = true;
    }
  }
}

void CollectItems(const json::Value& value, const Shape& shape, FieldSet& below) {
  const IndexedList indexed = IndexItems(shape, &value);
  const Shape item_shape = shape.Item();
  for (const auto& [element, item] : indexed.items) {
    FieldSet::Entry& entry = below.Descend(element);
    entry.member = true;
    if (indexed.by_element.at(element).size() == 1) {
      CollectFields(*item, item_shape, &entry, entry.children);
    }
  }
}

void CollectFields(const json::Value& value, const Shape& shape, FieldSet::Entry* entry,
                   FieldSet& below) {
  const Form form = FormFor(shape, &value);
  if (IsMapForm(form)) {
    CollectMembers(value, shape, below);
  } else if (IsListForm(form)) {
    CollectItems(value, shape, below);
  } else if (entry != nullptr) {
    entry->member = true;
  }
}

// --- Compare.

class Comparer {
 public:
  explicit Comparer(Comparison& result) : result_(result) {}

  void Run(const json::Value* before, const json::Value* after, const Shape& shape) {
    if (before != nullptr && after != nullptr && before->SharesWith(*after)) return;
    const Form form = FormFor(shape, after != nullptr ? after : before);
    const bool leaf =
        !(IsMapForm(form) || IsListForm(form)) || (EmptyOrAbsent(before) && EmptyOrAbsent(after));
    if (leaf) {
      Leaf(before, after);
      return;
    }
    if (IsMapForm(form)) {
      Members(before, after, shape);
    } else {
      Items(before, after, shape);
    }
    if (Absent(before)) result_.added.Insert(path_);
    if (Absent(after)) result_.removed.Insert(path_);
  }

 private:
  void Leaf(const json::Value* before, const json::Value* after) {
    if (Absent(before)) {
      result_.added.Insert(path_);
    } else if (Absent(after)) {
      result_.removed.Insert(path_);
    } else if (*before != *after) {
      result_.modified.Insert(path_);
    }
  }

  void Child(std::string element, const json::Value* before, const json::Value* after,
             const Shape& shape) {
    path_.push_back(std::move(element));
    Run(before, after, shape);
    path_.pop_back();
  }

  void Members(const json::Value* before, const json::Value* after, const Shape& shape) {
    if (before != nullptr) {
      for (const json::Member& member : before->Members()) {
        const json::Value* other = after == nullptr ? nullptr : after->Find(member.key());
        if (other != nullptr && other->SharesWith(member.value)) continue;
        Child(FieldElement(member.key()), &member.value, other,
              shape.Field(member.key()).value_or(Shape{}));
      }
    }
    if (after == nullptr) return;
    for (const json::Member& member : after->Members()) {
      if (before != nullptr && before->Has(member.key())) continue;
      Child(FieldElement(member.key()), nullptr, &member.value,
            shape.Field(member.key()).value_or(Shape{}));
    }
  }

  void Items(const json::Value* before, const json::Value* after, const Shape& shape) {
    const IndexedList left = IndexItems(shape, before);
    const IndexedList right = IndexItems(shape, after);
    const Shape item = shape.Item();
    std::unordered_set<std::string_view> done;
    for (const auto* side : {&left, &right}) {
      for (const auto& [element, value] : side->items) {
        if (!done.insert(element).second) continue;
        const auto l = left.by_element.find(element);
        const auto r = right.by_element.find(element);
        static const std::vector<const json::Value*> kNone;
        Item(element, l == left.by_element.end() ? kNone : l->second,
             r == right.by_element.end() ? kNone : r->second, item);
      }
    }
  }

  // Repeated items (stored before they were refused) count as one unit.
  void Item(const std::string& element, const std::vector<const json::Value*>& left,
            const std::vector<const json::Value*>& right, const Shape& shape) {
    const auto first = [](const auto& items) { return items.empty() ? nullptr : items[0]; };
    path_.push_back(element);
    if (left.size() <= 1 && right.size() <= 1) {
      Run(first(left), first(right), shape);
    } else if (left.size() >= 2 && right.size() >= 2) {
      const bool same = std::ranges::equal(
          left, right, [](const json::Value* a, const json::Value* b) { return *a == *b; });
      if (!same) result_.modified.Insert(path_);
    } else if (left.size() >= 2) {
      if (!right.empty()) Run(nullptr, right[0], shape);
      result_.removed.Insert(path_);
    } else {
      if (!left.empty()) Run(left[0], nullptr, shape);
      result_.added.Insert(path_);
    }
    path_.pop_back();
  }

  Comparison& result_;
  std::vector<std::string> path_;
};

}  // namespace

FieldSet FieldsOf(const json::Value& value, const Shape& shape) {
  FieldSet fields;
  CollectFields(value, shape, nullptr, fields);
  return fields;
}

Comparison Compare(const json::Value& before, const json::Value& after, const Shape& shape) {
  Comparison result;
  Comparer(result).Run(&before, &after, shape);
  return result;
}

namespace {

// --- Merge. An absent result is told by nothing (a container without content).

class Merger {
 public:
  std::optional<json::Value> Run(const json::Value* live, const json::Value* config,
                                 const Shape& shape) {
    const Form form = FormFor(shape, config != nullptr ? config : live);
    const bool leaf =
        !(IsMapForm(form) || IsListForm(form)) || (EmptyOrAbsent(live) && EmptyOrAbsent(config));
    if (config == nullptr) return *live;
    if (leaf) return *config;
    return IsMapForm(form) ? Members(live, *config, shape) : Items(live, *config, shape);
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::optional<json::Value> Members(const json::Value* live, const json::Value& config,
                                     const Shape& shape) {
    json::Value merged = live != nullptr && live->IsObject() ? *live : json::Value::Object();
    for (const json::Member& member : config.Members()) {
      const json::Value* old = live == nullptr ? nullptr : live->Find(member.key());
      std::optional<json::Value> value =
          Run(old, &member.value, shape.Field(member.key()).value_or(Shape{}));
      if (value) {
        merged.SetByKey(member.key_value, std::move(*value));
      } else {
        merged.Erase(member.key());
      }
    }
    if (merged.empty()) return std::nullopt;
    return merged;
  }

  // Interleaves the two lists: shared items in the order of `config`, live items that it does not
  // name stay where they are between them (mergingWalker.visitListItems).
  std::optional<json::Value> Items(const json::Value* live, const json::Value& config,
                                   const Shape& shape) {
    const IndexedList left = IndexItems(shape, live);
    const IndexedList right = IndexItems(shape, &config);
    if (!Check(config, shape, right)) return std::nullopt;
    const Shape item = shape.Item();
    std::vector<const std::string*> shared;
    for (const auto& [element, value] : right.items) {
      if (left.by_element.contains(element)) shared.push_back(&element);
    }
    std::size_t next_shared = 0;
    std::unordered_set<std::string_view> merged;
    json::Value out = json::Value::Array();
    const auto add = [&](const json::Value* a, const json::Value* b) {
      if (std::optional<json::Value> value = Run(a, b, item)) out.Append(std::move(*value));
    };
    const auto live_of = [&](const std::string& element) -> const json::Value* {
      const auto found = left.by_element.find(element);
      return found == left.by_element.end() || found->second.size() != 1 ? nullptr
                                                                         : found->second[0];
    };
    std::size_t l = 0;
    std::size_t r = 0;
    while (l < left.items.size() || r < right.items.size()) {
      if (l < left.items.size() && r < right.items.size()) {
        const std::string& element = left.items[l].first;
        if (element == right.items[r].first) {
          merged.insert(element);
          add(live_of(element), right.items[r].second);
          ++l;
          ++r;
          ++next_shared;
          continue;
        }
        if (right.by_element.contains(element) && next_shared < shared.size() &&
            *shared[next_shared] != element) {
          ++l;
          continue;
        }
      }
      if (l < left.items.size()) {
        const std::string& element = left.items[l].first;
        if (!right.by_element.contains(element)) {
          add(left.items[l].second, nullptr);
          ++l;
          continue;
        }
        if (merged.contains(element)) ++l;
      }
      if (r < right.items.size()) {
        const std::string& element = right.items[r].first;
        merged.insert(element);
        add(live_of(element), right.items[r].second);
        ++r;
        if (next_shared < shared.size() && *shared[next_shared] == element) ++next_shared;
      }
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  bool Check(const json::Value& config, const Shape& shape, const IndexedList& right) {
    for (std::size_t i = 0; i < config.size(); ++i) {
      if (const Result<std::string> element = ItemElement(shape, config.Items()[i]); !element) {
        error_ = fmt::format("element {}: {}", i, element.error().message);
        return false;
      }
    }
    for (const auto& [element, items] : right.by_element) {
      if (items.size() > 1) {
        error_ = fmt::format("duplicate entries for key {}", ElementText(element));
        return false;
      }
    }
    return true;
  }

  std::string error_;
};

}  // namespace

Result<json::Value> MergeConfig(const json::Value& live, const json::Value& config,
                                const Shape& shape) {
  Merger merger;
  std::optional<json::Value> merged = merger.Run(&live, &config, shape);
  if (!merger.error().empty()) return BadInput(merger.error());
  return merged.value_or(json::Value::Object());
}

namespace {

std::optional<json::Value> Pruned(const json::Value& value, const FieldSet& fields,
                                  const Shape& shape);

std::optional<json::Value> PrunedMembers(const json::Value& value, const FieldSet& fields,
                                         const Shape& shape) {
  json::Value kept = value;
  for (const FieldSet::Entry& entry : fields.entries()) {
    if (!entry.element.starts_with("f:")) continue;
    const std::string_view name = std::string_view(entry.element).substr(2);
    const json::Value* member = value.Find(name);
    if (member == nullptr) continue;
    if (entry.member) {
      kept.Erase(name);
      continue;
    }
    std::optional<json::Value> below =
        Pruned(*member, entry.children, shape.Field(name).value_or(Shape{}));
    kept.Set(name, below ? std::move(*below) : json::Value());
  }
  if (kept.empty()) return std::nullopt;
  return kept;
}

std::optional<json::Value> PrunedItems(const json::Value& value, const FieldSet& fields,
                                       const Shape& shape) {
  json::Value kept = json::Value::Array();
  const Shape item_shape = shape.Item();
  for (const json::Value& item : value.Items()) {
    const Result<std::string> element = ItemElement(shape, item);
    const FieldSet::Entry* entry = element ? fields.Find(*element) : nullptr;
    if (entry == nullptr) {
      kept.Append(item);
    } else if (!entry->member) {
      kept.Append(Pruned(item, entry->children, item_shape).value_or(json::Value()));
    }
  }
  if (kept.empty()) return std::nullopt;
  return kept;
}

// A container that loses everything becomes null, as upstream's removingWalker leaves it; typed
// decoding then drops it.
std::optional<json::Value> Pruned(const json::Value& value, const FieldSet& fields,
                                  const Shape& shape) {
  if (fields.entries().empty()) return value;
  const Form form = FormFor(shape, &value);
  if (IsMapForm(form) && value.IsObject()) return PrunedMembers(value, fields, shape);
  if (IsListForm(form) && value.IsArray()) return PrunedItems(value, fields, shape);
  return value;
}

}  // namespace

json::Value RemoveFields(const json::Value& value, const FieldSet& fields, const Shape& shape) {
  return Pruned(value, fields, shape).value_or(json::Value::Object());
}

FieldSet WithNamedFields(const FieldSet& fields, const Shape& shape) {
  FieldSet result;
  for (const FieldSet::Entry& entry : fields.entries()) {
    FieldSet::Entry& copy = result.Descend(entry.element);
    copy.member = entry.member;
    const std::string_view name = std::string_view(entry.element).substr(2);
    Shape below;
    if (entry.element.starts_with("f:")) {
      if (!entry.children.entries().empty() && shape.Declares(name)) copy.member = true;
      if (!shape.atomic && (IsMapForm(shape.form) || shape.form == Form::kDeduced)) {
        below = shape.Field(name).value_or(Shape{});
      }
    } else if (IsListForm(shape.form)) {
      below = shape.Item();
    }
    copy.children = WithNamedFields(entry.children, below);
  }
  return result;
}

}  // namespace drachma::apiserver
