#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// A set of fields of an object, as server-side apply records who owns what: the FieldsV1 of
// metadata.managedFields (structured-merge-diff's fieldpath.Set). A tree of path elements in their
// serialised form: "f:name" (a field), "k:{"name":"c"}" (an item of a keyed list), "v:1" (an item
// of a set), "i:0". A value type.
class FieldSet {
 public:
  struct Entry;

  [[nodiscard]] bool Empty() const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // The entry of `element`, or null.
  [[nodiscard]] const Entry* Find(std::string_view element) const;
  // The entry of `element`, made when missing.
  Entry& Descend(std::string_view element);
  // Adds what is reached by the elements of `path`; the empty path adds nothing.
  void Insert(const std::vector<std::string>& path);
  [[nodiscard]] bool Has(const std::vector<std::string>& path) const;

  [[nodiscard]] FieldSet Union(const FieldSet& other) const;
  [[nodiscard]] FieldSet Intersection(const FieldSet& other) const;
  // Members of this set that are no members of `other`. Children stay when their parent goes.
  [[nodiscard]] FieldSet Difference(const FieldSet& other) const;
  // The same, but what is removed takes its children along.
  [[nodiscard]] FieldSet RecursiveDifference(const FieldSet& other) const;

  // Calls `visit` with the path of every member: those of a level first, then their children.
  void ForEach(const std::function<void(const std::vector<std::string>&)>& visit) const;

  // The FieldsV1 form: {"f:spec":{"f:replicas":{}}}; "." marks a member that has children.
  [[nodiscard]] json::Value ToFieldsV1() const;
  // ERRORS: kBadRequest for keys that are no path elements.
  [[nodiscard]] static Result<FieldSet> FromFieldsV1(const json::Value& fields);

  friend bool operator==(const FieldSet& a, const FieldSet& b);

 private:
  void Append(Entry entry);
  void ForEach(std::vector<std::string>& prefix,
               const std::function<void(const std::vector<std::string>&)>& visit) const;

  std::vector<Entry> entries_;  // sorted by element
};

struct FieldSet::Entry {
  std::string element;
  bool member = false;
  FieldSet children;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// "f:" + name.
[[nodiscard]] std::string FieldElement(std::string_view name);
// A path as messages show it: `.spec.containers[name="c"].image`.
[[nodiscard]] std::string PathText(const std::vector<std::string>& path);
[[nodiscard]] std::string ElementText(std::string_view element);

}  // namespace drachma::apiserver
