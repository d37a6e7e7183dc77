#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "num/quantity.h"
#include "validation/resource_common.h"

// How much of a shared capacity a request may take (consumable capacity).
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kValidValuesMax = 10;

// A quantity of an object; zero when it cannot be read, which the decoder has refused already.
Quantity QuantityOf(const Value& value) {
  return Quantity::Parse(value.AsString("0")).value_or(Quantity());
}

std::optional<Quantity> OptionalQuantity(const Value& value) {
  if (value.IsNull()) return std::nullopt;
  return QuantityOf(value);
}

std::string ShownQuantity(const Quantity& quantity) { return ShownText(quantity.ToString()); }

bool IsFractional(const Quantity& quantity) {
  const std::string text = quantity.ToString();
  return text.ends_with('m') || text.ends_with('u') || text.ends_with('n') || text.contains("e-");
}

// The bounds of a range with their names, in upstream's order.
struct Range {
  Quantity standard;  // the default request
  Quantity min;
  std::optional<Quantity> max;
  std::optional<Quantity> step;

  [[nodiscard]] std::vector<std::pair<std::string_view, Quantity>> Set() const {
    std::vector<std::pair<std::string_view, Quantity>> out = {{"default", standard}, {"min", min}};
    if (max) out.emplace_back("max", *max);
    if (step) out.emplace_back("step", *step);
    return out;
  }
};

ErrorList ValidateValidValues(const Context& context, const Quantity& capacity,
                              const Quantity& standard, const Value& values,
                              const std::string& path) {
  ErrorList errors;
  bool has_default = false;
  std::vector<Quantity> options;
  for (const Value& value : values.Items()) options.push_back(QuantityOf(value));
  for (std::size_t i = 1; i < options.size(); ++i) {
    if (options[i - 1].Compare(options[i]) > 0) {
      errors.push_back(Invalid(Index(path, i), ShownQuantity(options[i]),
                               "values must be sorted in ascending order"));
    }
  }
  // Whole units tell values apart unless fractions count.
  const bool fractions = context.Enabled("DRAFractionalCapacityRange");
  Append(errors,
         ValidateSet(
             values, kValidValuesMax,
             [&](const Value& value, const std::string& at) -> ErrorList {
               const Quantity option = QuantityOf(value);
               has_default = has_default || option == standard;
               if (option.Compare(capacity) <= 0) return {};
               return {Invalid(
                   at, ShownQuantity(option),
                   fmt::format("option is larger than capacity value: {}", capacity.ToString()))};
             },
             [&](const Value& value) {
               const Quantity option = QuantityOf(value);
               return ShownText(fractions ? option.ToString() : std::to_string(option.Value()));
             },
             path, CoveredBy::kNothing, CoveredBy::kNothing));
  if (!has_default) {
    errors.push_back(Invalid(path, ShownQuantity(standard),
                             "default value is not valid according to the requestPolicy"));
  }
  return errors;
}

// Whether `value` - min is a multiple of the step, all of them fit into an int64.
ErrorList ValidateStep(const Quantity& value, const Quantity& min, const Quantity& step,
                       bool use_milli, const std::string& path) {
  const auto number = [use_milli](const Quantity& quantity) {
    return use_milli ? quantity.MilliValue() : quantity.Value();
  };
  // Unsigned, since upstream's subtraction wraps.
  const auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(number(value)) -
                                                    static_cast<std::uint64_t>(number(min)));
  const std::int64_t unit = number(step);
  if (unit == -1 || difference % unit == 0) return {};
  return {Invalid(path, ShownQuantity(value),
                  fmt::format("value is not a multiple of a given step ({}) from ({})",
                              step.ToString(), min.ToString()))};
}

ErrorList ValidateBounds(const Range& range, const Quantity& capacity, const std::string& path) {
  ErrorList errors;
  const auto add = [&](std::string_view field, const Quantity& shown, std::string detail) {
    errors.push_back(Invalid(Child(path, field), ShownQuantity(shown), std::move(detail)));
  };
  const std::string capacity_text = capacity.ToString();
  if (range.min.Compare(capacity) > 0) {
    add("min", range.min, "min is larger than capacity value: " + capacity_text);
  }
  if (range.standard.Compare(range.min) < 0) {
    add("default", range.standard, "default is less than min: " + range.min.ToString());
  }
  if (!range.max) return errors;
  if (range.min.Compare(*range.max) > 0) {
    add("max", range.min, "min is larger than max: " + range.max->ToString());
  }
  if (range.max->Compare(capacity) > 0) {
    add("max", *range.max, "max is larger than capacity value: " + capacity_text);
  }
  if (range.standard.Compare(*range.max) > 0) {
    add("default", range.standard, "default is more than max: " + range.max->ToString());
  }
  return errors;
}

// Faults of numbers that the step arithmetic cannot hold.
ErrorList ValidateRepresentable(const Range& range, bool use_milli, const std::string& path) {
  ErrorList errors;
  for (const auto& [name, quantity] : range.Set()) {
    const auto add = [&](const char* detail) {
      errors.push_back(Invalid(Child(path, name), ShownQuantity(quantity), detail));
    };
    if (use_milli) {
      if (Quantity::FromMilli(quantity.MilliValue(), quantity.format()) != quantity) {
        add("value cannot be represented as a milli value");
      }
    } else if (quantity.Sign() < 0) {
      add("must be greater than or equal to 0");
    } else if (quantity.Compare(Quantity::FromInt(std::numeric_limits<std::int64_t>::max(),
                                                  QuantityFormat::kDecimalSI)) > 0) {
      add("must not be larger than 9223372036854775807");
    }
  }
  return errors;
}

ErrorList ValidateRange(const Context& context, const Quantity& capacity, const Quantity& standard,
                        const Value& value, const std::string& path) {
  if (value["min"].IsNull()) {
    return {Required(Child(path, "min"), "required when validRange is defined")};
  }
  const Range range{standard, QuantityOf(value["min"]), OptionalQuantity(value["max"]),
                    OptionalQuantity(value["step"])};
  ErrorList errors = ValidateBounds(range, capacity, path);
  bool use_milli = false;
  if (context.Enabled("DRAFractionalCapacityRange")) {
    for (const auto& [name, quantity] : range.Set()) {
      use_milli = use_milli || IsFractional(quantity);
    }
  }
  if (use_milli) {
    ErrorList unsafe = ValidateRepresentable(range, use_milli, path);
    const bool stop = !unsafe.empty();
    Append(errors, std::move(unsafe));
    if (stop) return errors;
  }
  if (!range.step) return errors;
  const std::string step_path = Child(path, "step");
  const Quantity& step = *range.step;
  if (step.Sign() <= 0) {
    errors.push_back(Invalid(step_path, ShownQuantity(step), "must be greater than zero"));
    return errors;
  }
  Quantity added = range.min;
  added.Add(step);
  if (added.Compare(capacity) > 0) {
    errors.push_back(Invalid(step_path, ShownQuantity(step),
                             fmt::format("one step {} is larger than capacity value: {}",
                                         added.ToString(), capacity.ToString())));
  }
  if (!use_milli) {
    ErrorList unsafe = ValidateRepresentable(range, use_milli, path);
    const bool stop = !unsafe.empty();
    Append(errors, std::move(unsafe));
    if (stop) return errors;
  }
  Append(errors, ValidateStep(standard, range.min, step, use_milli, step_path));
  if (range.max) Append(errors, ValidateStep(*range.max, range.min, step, use_milli, step_path));
  return errors;
}

}  // namespace

ErrorList ValidateRequestPolicy(const Context& context, const Value& capacity, const Value& policy,
                                const std::string& path) {
  const Value& values = policy["validValues"];
  const Value& range = policy["validRange"];
  const Value& standard = policy["default"];
  if (!values.empty() && !range.IsNull()) {
    return {Forbidden(path,
                      "exactly one policy can be specified, cannot specify \"validValues\" and "
                      "\"validRange\" at the same time")};
  }
  const Quantity total = QuantityOf(capacity);
  if (!values.empty()) {
    if (standard.IsNull()) {
      return {Required(Child(path, "default"), "required when validValues is defined")};
    }
    return ValidateValidValues(context, total, QuantityOf(standard), values,
                               Child(path, "validValues"));
  }
  if (range.IsNull()) return {};
  if (standard.IsNull()) {
    return {Required(Child(path, "default"), "required when validRange is defined")};
  }
  return ValidateRange(context, total, QuantityOf(standard), range, Child(path, "validRange"));
}

}  // namespace drachma::validation
