#pragma once

#include <span>

#include "cel/eval/value.h"

namespace drachma::cel {

// The operators on two values (or one): sums, products and the like, with cel-go's errors.
[[nodiscard]] Value Add(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value Subtract(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value Multiply(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value Divide(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value Modulo(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value Negate(Arena& arena, std::span<const Value> args);

}  // namespace drachma::cel
