#pragma once

#include <string>
#include <string_view>

namespace drachma::apiserver {

// The warning that comes with every answer about a kind in a version that is on its way out
// ("resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"); empty
// for all others.
[[nodiscard]] std::string DeprecationWarning(std::string_view group, std::string_view version,
                                             std::string_view kind);

}  // namespace drachma::apiserver
