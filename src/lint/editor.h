#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/yaml.h"
#include "lint/finding.h"

namespace drachma::lint {

// The text after one change to one of its documents. Only the lines of the change differ: block
// style is edited line by line, and what is new inside flow style ({…}, […], JSON) is spelled as
// the rest of it: with quotes in JSON, plain where YAML allows it otherwise.
// REQUIRES: `document` was read from `text`.
// ERRORS: kBadRequest when the change names a path that the document does not have.
[[nodiscard]] Result<std::string> Apply(std::string_view text, const json::YamlDocument& document,
                                        const Change& change);

// The same change on a tree; what Apply does to text, seen as values.
// ERRORS: as Apply.
[[nodiscard]] Result<json::Value> ApplyToTree(json::Value root, const Change& change);

}  // namespace drachma::lint
