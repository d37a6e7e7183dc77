#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::json {

// Named limits of the reader.
inline constexpr std::size_t kDepthMax = 10000;  // as Go's encoding/json

inline constexpr std::size_t kDuplicatesMax = 1000;  // further ones are not noted

// A key that stands more than once in one object; the last one wins, as in Go's decoder.
struct DuplicateKey {
  std::string path;  // "spec.template.name", "items[0].a"
  // How many members of the object stood before the later key, and its place in the text in bytes.
  std::size_t members_before = 0;
  std::size_t offset = 0;
  int line = 0;  // of the later key; YAML only
  std::string key = {};
};

struct ReadOptions {
  // Where duplicate keys are noted (document order); null ignores them.
  std::vector<DuplicateKey>* duplicates = nullptr;
};

// Reads exactly one JSON document. ERRORS: kBadRequest with Go's text where upstream shows it
// ("invalid character 'x' looking for beginning of value", "unexpected end of JSON input").
[[nodiscard]] Result<Value> Read(std::string_view text, const ReadOptions& options = {});

// The compact text, members in their order. Strings are escaped as Go's encoding/json does with
// HTML escaping off.
[[nodiscard]] std::string Write(const Value& value);
void WriteTo(const Value& value, std::string& out);
// Indented by `indent` spaces, members in their order.
[[nodiscard]] std::string WritePretty(const Value& value, int indent = 4);

// A finite double as Go's encoding/json writes it: shortest, an exponent only below 1e-6 and from
// 1e21 on.
[[nodiscard]] std::string FormatDouble(double number);

// RFC 7386. Members with null remove.
[[nodiscard]] Value MergePatch(Value target, const Value& patch);
// RFC 6902, as evanphx/json-patch does it. ERRORS: kInvalid for an operation that does not apply,
// kBadRequest for a patch that is none.
[[nodiscard]] Result<Value> JsonPatch(Value target, const Value& patch);

}  // namespace drachma::json
