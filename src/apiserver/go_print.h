#pragma once

#include <string>

#include "json/value.h"

namespace drachma::apiserver {

// How Go prints a decoded JSON value, which some of upstream's errors show: with %v
// ("map[a:[1 2] b:<nil>]") and with %#v ("[]interface {}{"a", 1}"). Maps come sorted by key. Pure;
// any thread.
[[nodiscard]] std::string GoText(const json::Value& value);
[[nodiscard]] std::string GoSyntax(const json::Value& value);

}  // namespace drachma::apiserver
