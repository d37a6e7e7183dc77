#pragma once

#include <string_view>

#include "api/features.h"
#include "base/result.h"

namespace drachma::api {

// The minor versions of Kubernetes 1.x whose gates are known.
inline constexpr int kMinorMin = 34;
inline constexpr int kMinorMax = 37;

// The gates of 1.`minor` with "A=true,B=false" applied: what upstream's --emulated-version and
// --feature-gates say together. A gate that the version does not have yet is off.
// REQUIRES: kMinorMin <= minor <= kMinorMax.
// ERRORS: kBadRequest as FeatureGates::Set, by that version's locks; a gate it does not have yet
// cannot be turned on.
[[nodiscard]] Result<FeatureGates> EmulatedGates(int minor, std::string_view assignments);

}  // namespace drachma::api
