#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace drachma::lint {

// Labels that NVIDIA's GPU feature discovery gives to nodes, and what pods mean with them.

// What becomes of a condition on a label.
struct LabelMeaning {
  enum class Type : std::uint8_t {
    kSelector,  // `selector` says it of the device
    kImplied,   // asking for the device says it
    kStays,     // it is about the node: only the label says it
  };
  Type type = Type::kStays;
  std::string selector;     // CEL
  std::string mig_profile;  // that the value of a product names
};

[[nodiscard]] bool IsGfdLabel(std::string_view key);
// `label op values` (In, NotIn, Exists, Gt, Lt) for a whole GPU or a MIG device.
[[nodiscard]] LabelMeaning MeaningOf(std::string_view key, std::string_view op,
                                     std::span<const std::string> values, bool mig);

}  // namespace drachma::lint
