#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace drachma {

// Levenshtein's distance of two words, letters of either case being equal.
[[nodiscard]] std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate that a mistyped `word` can have meant: one that begins with it, or else the nearest
// one within two letters (one in short words). Empty when there is none.
[[nodiscard]] std::string Nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace drachma
