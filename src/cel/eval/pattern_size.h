#pragma once

#include <cstddef>
#include <string_view>

namespace drachma::cel {

// How large a regular expression becomes, found out before it is compiled.
struct PatternSize {
  // About its instructions, never far too few: what a repetition repeats counts that many times.
  std::size_t weight = 0;
  // The nodes on the longest way into its tree, as Go's regexp/syntax counts them.
  std::size_t height = 0;
};

// Go refuses higher ones: "expression nests too deeply".
inline constexpr std::size_t kPatternHeightMax = 1000;
// What the patterns of one expression may weigh together: a few milliseconds of compilation. Only
// classes of Unicode (`\pL`), repeated often, come near.
inline constexpr std::size_t kPatternWeightMax = 20'000;

// Reads `pattern` roughly: bad ones are refused by the compiler.
[[nodiscard]] PatternSize MeasurePattern(std::string_view pattern);

}  // namespace drachma::cel
