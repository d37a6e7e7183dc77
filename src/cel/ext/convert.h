#pragma once

#include <string_view>

#include "cel/eval/value.h"

namespace drachma::cel {

// A value as another kind, with cel-go's errors ("type conversion error from 'string' to 'int'").
// `to` is one of bool, bytes, double, duration, int, string, timestamp, uint.
[[nodiscard]] Value Convert(Arena& arena, const Value& value, ValueKind to);

}  // namespace drachma::cel
