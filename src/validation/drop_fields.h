#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"
#include "validation/strategy.h"

namespace drachma::validation {

// Fields that exist only while feature gates are on: upstream removes them before validation,
// unless the stored object uses one of them already (then an update must not lose it).
struct GatedFields {
  std::vector<std::string_view> gates;  // all must be on
  // "spec.devices[].taints", "spec.devices[].capacity{}.requestPolicy": [] is each item of a list,
  // {} each value of a map.
  std::vector<std::string_view> paths;
  // Fields whose use in the old object counts too, but which are not removed.
  std::vector<std::string_view> also_in_use = {};
};

// Whether any value stands at the path (an empty list is none).
[[nodiscard]] bool InUse(const json::Value& object, std::string_view path);
// Removes what stands at the path.
void RemoveAt(json::Value& object, std::string_view path);
// Removes the fields of every row whose gates are not all on. `old` is null for a create.
void DropDisabled(const Context& context, const std::vector<GatedFields>& rows, json::Value& object,
                  const json::Value* old);

}  // namespace drachma::validation
