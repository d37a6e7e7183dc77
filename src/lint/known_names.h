#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drachma::lint {

enum class ValueType : std::uint8_t { kText, kInt, kBool, kVersion, kQuantity };

// An attribute or capacity (kQuantity) that a driver publishes.
struct KnownName {
  std::string_view driver;
  std::string_view written;  // what people call it: lower case, without separators
  std::string_view name;     // what the driver calls it
  ValueType type = ValueType::kText;
  std::string_view domain = {};  // of the name, when it is not the driver's
  // All values that devices have, where they are few.
  std::vector<std::string_view> (*values)() = nullptr;
};

// Lower case, without separators: "cuda_compute-Capability" is "cudacomputecapability".
[[nodiscard]] std::string Folded(std::string_view name);
// What `name` under the domain of `driver` means; null when that is not known.
[[nodiscard]] const KnownName* FindKnown(std::string_view driver, std::string_view name);
// The attributes that `driver` publishes as "a, b or c"; empty when others may be there as well.
[[nodiscard]] std::string AttributesOf(std::string_view driver);

}  // namespace drachma::lint
