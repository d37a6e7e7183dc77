#pragma once

#include <string_view>

#include "json/value.h"

namespace drachma::api {

// What Go's JSON decoder calls the kind of a value in its errors: "number", "object", "null".
[[nodiscard]] std::string_view JsonKind(const json::Value& value);
// What Go calls the type of a decoded value (%T): "float64", "[]interface {}", "<nil>".
[[nodiscard]] std::string_view GoType(const json::Value& value);

}  // namespace drachma::api
