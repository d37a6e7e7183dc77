#pragma once

#include "cel/eval/value.h"
#include "num/quantity.h"
#include "num/semver.h"

namespace drachma::cel {

// kubernetes.Quantity and kubernetes.Semver as CEL values. The data may stand anywhere (a device
// keeps its own) and must outlive the value.
struct QuantityData : OpaqueData {
  // `computed` is set for results of add() and sub(): upstream hands these on as pointers, and
  // comparing something with a pointer is an error there.
  explicit QuantityData(Quantity quantity, bool is_computed = false);
  Quantity value;
  bool computed;
};
struct SemverData : OpaqueData {
  explicit SemverData(Semver semver);
  Semver value;
};

// The quantity (version) in a value, or null.
[[nodiscard]] const Quantity* QuantityOf(const Value& value);
[[nodiscard]] const Semver* SemverOf(const Value& value);

}  // namespace drachma::cel
