#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drachma::apiserver {

// What is said about a kind in a version that is on its way out.
struct Deprecation {
  // Comes with every answer: "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+,
  // unavailable in v1.38+".
  std::string warning;
  std::string removed_release;  // "1.38"; empty: it stays
};
// Nothing for all others.
[[nodiscard]] std::optional<Deprecation> DeprecationOf(std::string_view group,
                                                       std::string_view version,
                                                       std::string_view kind);

}  // namespace drachma::apiserver
