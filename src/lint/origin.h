#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/yaml.h"

namespace drachma::lint {

// Where the text of `path` stands when the document has it by an alias ("*name") or a merge
// ("<<: *name"): its path under the anchor. `path` itself when it is written where it stands;
// nothing when neither is so.
[[nodiscard]] std::optional<std::string> OriginOf(const json::YamlDocument& document,
                                                  std::string_view path);

}  // namespace drachma::lint
