#pragma once

#include <string>
#include <vector>

#include "allocator/table.h"
#include "api/dra_types.h"

// Consumable capacity (KEP-5075): what a request takes of a device's capacities. Semantics are
// those of upstream's consumable_capacity.go. Private to this folder.
namespace drachma::allocator {

using Capacities = api::StringMap<api::DeviceCapacity>;
using CapacityRequests = std::optional<api::StringMap<Quantity>>;

// What one request takes of one device, in the order of the device's capacities.
struct Consumption {
  enum class Verdict : std::uint8_t {
    kPossible,
    kUnsuitable,  // the device is skipped
    kError,       // the attempt fails
  };
  Verdict verdict = Verdict::kPossible;
  std::string error;     // of kError
  std::string capacity;  // of kUnsuitable: which one
  std::vector<Quantity> quantities;
  std::vector<Amount> amounts;
  std::vector<Amount> values;  // what the device has
};

// Resolves the request against the device alone: kUnsuitable for a capacity that the device lacks
// or an amount its policy refuses. Amounts that exceed the capacity are left to Fits.
[[nodiscard]] Consumption Resolve(const CapacityRequests& requests, const Capacities& capacities,
                                  bool fractional);

// Whether the amounts fit beside what is taken already (by name; missing is nothing), and the
// index of the first capacity that is too small.
struct CapacityFit {
  bool fits = true;
  std::size_t capacity = 0;
  Amount free;
};
[[nodiscard]] CapacityFit Fits(const Consumption& consumption, const Capacities& capacities,
                               const api::StringMap<Amount>& taken,
                               const std::vector<Amount>* attempt);

}  // namespace drachma::allocator
