#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "json/value.h"

namespace drachma::json {

// Named limits of the YAML reader.
inline constexpr std::size_t kYamlDepthMax = 500;
inline constexpr std::size_t kYamlAliasExpansionMax = 100'000;  // nodes made by aliases

// Where a value stands in its file; lines and columns count from 1.
struct Mark {
  int line = 0;
  int column = 0;
};

// A document of a YAML (or JSON) stream as JSON, by the scalar rules of sigs.k8s.io/yaml, with the
// place of every value.
struct YamlDocument {
  Value value;
  Mark begin;
  // Marks of keys and values by JSON path ("spec.requests[0].name"); the root is "".
  struct Place {
    std::string path;
    Mark key;  // {0, 0} for list items and the root
    Mark value;
    Mark value_end;
  };
  std::vector<Place> places;  // in document order
  std::vector<DuplicateKey> duplicates;
  // What stands elsewhere: the path of each alias (of a merge: with the key "<<") and that of the
  // node it repeats.
  struct Alias {
    std::string path;
    std::string origin;
  };
  std::vector<Alias> aliases;  // in document order

  // The place of `path`, or of its nearest parent that stands in the file.
  [[nodiscard]] const Place& PlaceOf(std::string_view path) const;
};

// Every non-empty document of a stream, in order. ERRORS: kBadRequest "yaml: line N: …".
[[nodiscard]] Result<std::vector<YamlDocument>> ReadYaml(std::string_view text);
// The first document without places (API bodies), members sorted as in sigs.k8s.io/yaml; null for
// an empty stream.
[[nodiscard]] Result<Value> ReadYamlValue(std::string_view text, const ReadOptions& options = {});
// Block style, as sigs.k8s.io/yaml writes it; keys sorted, or in their order when `sorted` is no.
enum class KeyOrder { kSorted, kAsIs };
[[nodiscard]] std::string WriteYaml(const Value& value, KeyOrder order = KeyOrder::kSorted);

}  // namespace drachma::json
