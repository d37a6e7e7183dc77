#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/core.h"

namespace drachma::apiserver {

// One row of the table of built-in admission plugins, in upstream's order.
struct PluginEntry {
  std::string_view name;
  bool default_on;
  std::shared_ptr<AdmissionPlugin> (*make)(Core& core);
};
[[nodiscard]] std::span<const PluginEntry> BuiltInPlugins();

// Adds the built-in plugins that are on to `core`: the defaults, more those of `enable`, less those
// of `disable`; `further` come before ResourceQuota, which must see the final object.
// ERRORS: kInvalid for a name that is none.
[[nodiscard]] Status AddPlugins(Core& core, const std::vector<std::string>& enable,
                                const std::vector<std::string>& disable,
                                const std::vector<std::shared_ptr<AdmissionPlugin>>& further);

}  // namespace drachma::apiserver
