#pragma once

#include <span>
#include <string_view>

#include "api/types.h"

namespace drachma::api {

// The generated table behind types.h.
struct KindRow {
  std::string_view name;  // "apps/v1/Deployment", "v1/Pod"
  const TypeInfo* type;
};
// Sorted by Go name.
[[nodiscard]] std::span<const TypeInfo> TypeRows();
// Sorted by name.
[[nodiscard]] std::span<const KindRow> KindRows();

}  // namespace drachma::api
