#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::json {

// What a plain YAML scalar means by YAML 1.1 as gopkg.in/yaml.v2 reads it ("yes" is a bool, "0x1F"
// and "010" are integers), after the way through JSON that sigs.k8s.io/yaml takes (1.0 becomes 1).
// `tag` is the explicit tag ("tag:yaml.org,2002:int", "!x") or empty.
// ERRORS: kBadRequest "yaml: cannot decode …" for a tag that the text does not fit.
[[nodiscard]] Result<Value> ResolveScalar(std::string_view tag, std::string_view text);

// Whether a string must be quoted to remain one: it would be read as something else when plain.
[[nodiscard]] bool NeedsQuotes(std::string_view text);

// A map key in the order of yaml.v2's writer: digits by value, letters after other signs.
[[nodiscard]] bool YamlKeyLess(std::string_view a, std::string_view b);

}  // namespace drachma::json
