#include "allocator/capacity.h"

#include <algorithm>
#include <expected>
#include <limits>

namespace drachma::allocator {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kNotRepresentable =
    "capacity request cannot be represented in the device's range arithmetic";

using Rounded = std::expected<Quantity, std::string>;

// The thousandths, when the number has no finer part and fits.
std::optional<std::int64_t> ExactMilli(const Quantity& quantity) {
  const std::int64_t milli = quantity.MilliValue();
  if (Quantity::FromMilli(milli, quantity.format()).Compare(quantity) != 0) return std::nullopt;
  return milli;
}

bool CountsInMilli(const api::CapacityRange& range, bool fractional) {
  if (!fractional) return false;
  for (const auto* bound : {&range.min, &range.max, &range.step}) {
    if (*bound && !ExactMilli(**bound)) return false;
  }
  return !range.step || range.step->MilliValue() >= 1;
}

// Two's complement differences and sums: what upstream's int64 arithmetic does at its ends.
std::int64_t Difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t StepsUp(std::int64_t min, std::int64_t step, std::int64_t steps) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(min) +
                                   static_cast<std::uint64_t>(step) *
                                       static_cast<std::uint64_t>(steps));
}

std::int64_t StepsFor(std::int64_t added, std::int64_t step) {
  return added / step + (added % step != 0 ? 1 : 0);
}

std::unexpected<std::string> Unrepresentable(const std::string& detail) {
  return std::unexpected(std::string(kNotRepresentable) + ": " + detail);
}

Rounded RoundUpMilli(const Quantity& requested, const api::CapacityRange& range) {
  const auto milli = ExactMilli(requested);
  if (!milli) {
    return Unrepresentable("request " + requested.ToString() +
                           " is not a representable milli value");
  }
  const std::int64_t step = range.step->MilliValue();
  const std::int64_t min = range.min->MilliValue();
  const std::int64_t steps = StepsFor(Difference(*milli, min), step);
  if (steps > Difference(kInt64Max, min) / step) {
    return Unrepresentable("rounding request " + requested.ToString() +
                           " up to the next step passes the milli-value range");
  }
  const std::int64_t value = StepsUp(min, step, steps);
  return value % 1000 == 0 ? Quantity::FromInt(value / 1000, range.step->format())
                           : Quantity::FromMilli(value, range.step->format());
}

// REQUIRES: range.min is set.
Rounded RoundUpRange(const Quantity& requested, const api::CapacityRange& range, bool fractional) {
  if (requested.Compare(*range.min) < 0) return *range.min;
  if (!range.step) return requested;
  if (CountsInMilli(range, fractional)) return RoundUpMilli(requested, range);
  if (requested.CompareInt(kInt64Max) > 0) {
    return Unrepresentable("request " + requested.ToString() + " exceeds MaxInt64");
  }
  const std::int64_t step = range.step->Value();
  const std::int64_t min = range.min->Value();
  if (step == 0) return requested;  // validation refuses it; upstream divides by it
  const std::int64_t steps = StepsFor(Difference(requested.Value(), min), step);
  if (min >= 0 && steps > (kInt64Max - min) / step) {
    return Unrepresentable("rounding request " + requested.ToString() +
                           " up to the next step passes MaxInt64");
  }
  return Quantity::FromInt(StepsUp(min, step, steps), range.step->format());
}

Rounded Consumed(const Quantity* requested, const api::DeviceCapacity& capacity, bool fractional) {
  const auto& policy = capacity.policy;
  if (requested == nullptr) {
    return policy && policy->default_value ? *policy->default_value : capacity.value;
  }
  if (policy && policy->valid_range && policy->valid_range->min) {
    return RoundUpRange(*requested, *policy->valid_range, fractional);
  }
  if (policy) {
    for (const Quantity& valid : policy->valid_values) {
      if (requested->Compare(valid) <= 0) return valid;
    }
  }
  return *requested;
}

bool ViolatesRange(const Quantity& consumed, const api::CapacityRange& range, bool fractional) {
  if (range.max && consumed.Compare(*range.max) > 0) return true;
  if (!range.step) return false;
  const Quantity zero;
  const Quantity& min = range.min ? *range.min : zero;
  if (CountsInMilli(range, fractional)) {
    const auto milli = ExactMilli(consumed);
    return !milli || Difference(*milli, min.MilliValue()) % range.step->MilliValue() != 0;
  }
  const std::int64_t step = range.step->Value();
  return step == 0 || Difference(consumed.Value(), min.Value()) % step != 0;
}

bool ViolatesPolicy(const Quantity& consumed, const api::CapacityPolicy& policy, bool fractional) {
  if (policy.default_value && consumed.SameRepresentation(*policy.default_value)) return false;
  if (policy.valid_range) return ViolatesRange(consumed, *policy.valid_range, fractional);
  return !policy.valid_values.empty() &&
         std::ranges::find(policy.valid_values, consumed) == policy.valid_values.end();
}

}  // namespace

Consumption Resolve(const CapacityRequests& requests, const Capacities& capacities,
                    bool fractional) {
  Consumption out;
  if (requests) {
    for (const auto& [name, amount] : *requests) {
      if (!capacities.contains(name)) {
        out.verdict = Consumption::Verdict::kUnsuitable;
        out.capacity = name;
        return out;
      }
    }
  }
  // All are resolved before any soft refusal, so that the outcome does not hang on their order.
  for (const auto& [name, capacity] : capacities) {
    const Quantity* requested = nullptr;
    if (requests) {
      if (const auto found = requests->find(name); found != requests->end()) {
        requested = &found->second;
      }
    }
    Rounded consumed = Consumed(requested, capacity, fractional);
    if (!consumed || consumed->Sign() < 0) {
      out.verdict = Consumption::Verdict::kError;
      out.error = "capacity \"" + name +
                  "\": " + (consumed ? "capacity value is negative" : consumed.error());
      return out;
    }
    out.amounts.push_back(Amount::Of(*consumed));
    out.values.push_back(Amount::Of(capacity.value));
    out.quantities.push_back(std::move(*consumed));
  }
  std::size_t index = 0;
  for (const auto& [name, capacity] : capacities) {
    if (capacity.policy && ViolatesPolicy(out.quantities[index], *capacity.policy, fractional)) {
      out.verdict = Consumption::Verdict::kUnsuitable;
      out.capacity = name;
      return out;
    }
    ++index;
  }
  return out;
}

CapacityFit Fits(const Consumption& consumption, const Capacities& capacities,
                 const api::StringMap<Amount>& taken, const std::vector<Amount>* attempt) {
  std::size_t index = 0;
  for (const auto& [name, capacity] : capacities) {
    Amount used = attempt != nullptr ? (*attempt)[index] : Amount();
    if (const auto found = taken.find(name); found != taken.end()) used += found->second;
    Amount free = consumption.values[index] - used;
    if (consumption.amounts[index] > free) {
      return {.fits = false, .capacity = index, .free = std::move(free)};
    }
    ++index;
  }
  return {};
}

}  // namespace drachma::allocator
