#include "apiserver/field_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/json.h"

namespace drachma::apiserver {

bool operator==(const FieldSet& a, const FieldSet& b) { return a.entries_ == b.entries_; }

bool FieldSet::Empty() const {
  return std::ranges::all_of(
      entries_, [](const Entry& entry) { return !entry.member && entry.children.Empty(); });
}

const FieldSet::Entry* FieldSet::Find(std::string_view element) const {
  const auto found = std::ranges::lower_bound(entries_, element, {}, &Entry::element);
  return found == entries_.end() || found->element != element ? nullptr : &*found;
}

FieldSet::Entry& FieldSet::Descend(std::string_view element) {
  const auto found = std::ranges::lower_bound(entries_, element, {}, &Entry::element);
  if (found != entries_.end() && found->element == element) return *found;
  return *entries_.insert(found, Entry{.element = std::string(element)});
}

void FieldSet::Insert(const std::vector<std::string>& path) {
  FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    Entry& entry = set->Descend(path[i]);
    if (i + 1 == path.size()) entry.member = true;
    set = &entry.children;
  }
}

bool FieldSet::Has(const std::vector<std::string>& path) const {
  const FieldSet* set = this;
  const Entry* entry = nullptr;
  for (const std::string& element : path) {
    entry = set->Find(element);
    if (entry == nullptr) return false;
    set = &entry->children;
  }
  return entry != nullptr && entry->member;
}

// Keeps the tree free of entries that hold nothing, so that equal sets have equal trees.
void FieldSet::Append(Entry entry) {
  if (entry.member || !entry.children.entries_.empty()) entries_.push_back(std::move(entry));
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  FieldSet result;
  result.entries_.reserve(entries_.size() + other.entries_.size());
  auto a = entries_.begin();
  auto b = other.entries_.begin();
  while (a != entries_.end() || b != other.entries_.end()) {
    const int order = a == entries_.end()         ? 1
                      : b == other.entries_.end() ? -1
                                                  : a->element.compare(b->element);
    if (order < 0) {
      result.Append(*a++);
    } else if (order > 0) {
      result.Append(*b++);
    } else {
      result.Append({.element = a->element,
                     .member = a->member || b->member,
                     .children = a->children.Union(b->children)});
      ++a;
      ++b;
    }
  }
  return result;
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet result;
  for (const Entry& entry : entries_) {
    const Entry* same = other.Find(entry.element);
    if (same == nullptr) continue;
    result.Append({.element = entry.element,
                   .member = entry.member && same->member,
                   .children = entry.children.Intersection(same->children)});
  }
  return result;
}

FieldSet FieldSet::Difference(const FieldSet& other) const {
  FieldSet result;
  for (const Entry& entry : entries_) {
    const Entry* same = other.Find(entry.element);
    if (same == nullptr) {
      result.Append(entry);
      continue;
    }
    result.Append({.element = entry.element,
                   .member = entry.member && !same->member,
                   .children = entry.children.Difference(same->children)});
  }
  return result;
}

FieldSet FieldSet::RecursiveDifference(const FieldSet& other) const {
  FieldSet result;
  for (const Entry& entry : entries_) {
    const Entry* same = other.Find(entry.element);
    if (same == nullptr) {
      result.Append(entry);
    } else if (!same->member) {
      result.Append({.element = entry.element,
                     .member = entry.member,
                     .children = entry.children.RecursiveDifference(same->children)});
    }
  }
  return result;
}

void FieldSet::ForEach(const std::function<void(const std::vector<std::string>&)>& visit) const {
  std::vector<std::string> prefix;
  ForEach(prefix, visit);
}

void FieldSet::ForEach(std::vector<std::string>& prefix,
                       const std::function<void(const std::vector<std::string>&)>& visit) const {
  for (const Entry& entry : entries_) {
    if (!entry.member) continue;
    prefix.push_back(entry.element);
    visit(prefix);
    prefix.pop_back();
  }
  for (const Entry& entry : entries_) {
    if (entry.children.entries_.empty()) continue;
    prefix.push_back(entry.element);
    entry.children.ForEach(prefix, visit);
    prefix.pop_back();
  }
}

json::Value FieldSet::ToFieldsV1() const {
  json::Value fields = json::Value::Object();
  fields.Reserve(entries_.size());
  for (const Entry& entry : entries_) {
    json::Value children = json::Value::Object();
    if (!entry.children.entries_.empty()) {
      const json::Value below = entry.children.ToFieldsV1();
      if (entry.member) {
        children.Set(".", json::Value::Object());
        for (const json::Member& member : below.Members()) {
          children.SetByKey(member.key_value, member.value);
        }
      } else {
        children = below;
      }
    }
    fields.Set(entry.element, std::move(children));
  }
  return fields;
}

namespace {

// Clients may write keys with other spaces or another order of fields than we do.
Result<std::string> Normalized(std::string_view element) {
  if (element.size() < 2 || element[1] != ':') {
    return BadInput(fmt::format("invalid path element \"{}\"", element));
  }
  if (element[0] == 'f' || element[0] == 'i') return std::string(element);
  if (element[0] != 'k' && element[0] != 'v') {
    return BadInput(fmt::format("unknown path element type \"{}\"", element));
  }
  DRA_ASSIGN(const json::Value value, json::Read(element.substr(2)));
  if (element[0] == 'v') return "v:" + json::Write(value);
  std::vector<const json::Member*> members;
  for (const json::Member& member : value.Members()) members.push_back(&member);
  std::ranges::sort(members, {}, [](const json::Member* member) { return member->key(); });
  json::Value sorted = json::Value::Object();
  for (const json::Member* member : members) sorted.SetByKey(member->key_value, member->value);
  return "k:" + json::Write(sorted);
}

}  // namespace

Result<FieldSet> FieldSet::FromFieldsV1(const json::Value& fields) {
  FieldSet set;
  for (const json::Member& member : fields.Members()) {
    if (member.key() == ".") continue;
    DRA_ASSIGN(const std::string element, Normalized(member.key()));
    Entry& entry = set.Descend(element);
    entry.member = member.value.empty() || member.value.Has(".");
    DRA_ASSIGN(entry.children, FromFieldsV1(member.value));
  }
  return set;
}

std::string FieldElement(std::string_view name) { return fmt::format("f:{}", name); }

std::string ElementText(std::string_view element) {
  const std::string_view content = element.substr(std::min<std::size_t>(2, element.size()));
  switch (element.empty() ? '?' : element[0]) {
    case 'f':
      return fmt::format(".{}", content);
    case 'i':
      return fmt::format("[{}]", content);
    case 'v':
      return fmt::format("[={}]", content);
    default:
      break;
  }
  std::string text = "[";
  const Result<json::Value> key = json::Read(content);
  if (key) {
    for (const json::Member& member : key->Members()) {
      if (text.size() > 1) text += ',';
      text += fmt::format("{}={}", member.key(), json::Write(member.value));
    }
  }
  return text + "]";
}

std::string PathText(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& element : path) text += ElementText(element);
  return text;
}

}  // namespace drachma::apiserver
