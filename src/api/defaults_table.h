#pragma once

#include <span>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace drachma::api {

// One default that is a plain value: the field gets it when it is missing (pointers) or zero.
struct DefaultRow {
  std::string_view packages;  // below k8s.io/api/, separated by spaces
  std::string_view type;
  std::string_view field;
  std::string_view json;
};
[[nodiscard]] std::span<const DefaultRow> DefaultRows();

// A default that needs thought. `object` is a struct of the type.
struct DefaultRule {
  std::string_view packages;
  std::string_view type;
  void (*apply)(json::Value& object, Time now);
};
[[nodiscard]] std::span<const DefaultRule> DefaultRules();

}  // namespace drachma::api
