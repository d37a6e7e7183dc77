#pragma once

#include <span>
#include <string_view>

#include "api/kinds.h"

namespace drachma::api {

// A resource as it is written down in kinds_table.cc. Lists are separated by spaces.
struct KindEntry {
  std::string_view group;
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;
  std::string_view short_names = {};
  std::string_view categories = {};
  std::string_view versions;             // preferred first
  std::string_view storage_group = "=";  // "=": its own
  Scope scope;
  std::uint16_t verbs = kAllVerbs;
  int traits = 0;  // Traits
  std::span<const SubresourceInfo> subresources = {};
  std::span<const ColumnInfo> columns = {};
  std::span<const FieldLabelInfo> field_labels = {};
  Gate gate = Gate::kNone;
};
[[nodiscard]] std::span<const KindEntry> KindEntries();

// A group and its versions, preferred first, in discovery's order.
struct GroupEntry {
  std::string_view name;
  std::string_view versions;
};
[[nodiscard]] std::span<const GroupEntry> GroupEntries();

}  // namespace drachma::api
