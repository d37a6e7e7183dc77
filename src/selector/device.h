#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "num/quantity.h"

namespace drachma::selector {

// The text of a semantic version, as a slice's attribute holds it ("570.86.15").
struct Version {
  std::string text;

  friend bool operator==(const Version&, const Version&) = default;
};

// The value of a device attribute (resource.k8s.io DeviceAttribute): one of int, bool, string,
// version, or (DRAListTypeAttributes) a list of one of these. std::monostate is an attribute
// without a known value: upstream fails every evaluation on such a device.
using AttributeValue = std::variant<std::monostate, std::int64_t, bool, std::string, Version,
                                    std::vector<std::int64_t>, std::vector<bool>,
                                    std::vector<std::string>, std::vector<Version>>;

// A device in the form that selectors evaluate: strings, numbers, quantities and versions are
// decoded and names are hashed once, so that evaluating many selectors on it neither parses nor
// allocates. Build it once per device of a ResourceSlice and keep it.
//
// Names are qualified names: "domain/id", or "id", which stands under the driver's name. A name
// given twice keeps the last value.
//
// Threads: filling is single-threaded; afterwards any number of threads may evaluate it. Movable,
// not copyable.
class Device {
 public:
  explicit Device(std::string_view driver);
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  // A device of ResourceSlice.spec.devices in API version v1 (`attributes`, `capacity`,
  // `allowMultipleAllocations`), with slice's spec.driver. Never fails: what upstream reports when
  // it evaluates (an attribute without a value, a version that does not parse) is kept for that.
  // ERRORS: kBadRequest for a capacity that is no quantity.
  [[nodiscard]] static Result<Device> FromJson(std::string_view driver, const json::Value& device);

  void SetAllowMultipleAllocations(bool allowed);
  void AddAttribute(std::string_view name, const AttributeValue& value);
  // Only the static value of a capacity is visible to selectors.
  void AddCapacity(std::string_view name, const Quantity& value);

  [[nodiscard]] std::string_view driver() const;
  [[nodiscard]] bool allow_multiple_allocations() const;

  struct Impl;  // for selector's own files
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::selector
