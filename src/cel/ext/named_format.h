#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/value.h"

namespace drachma::cel {

// A format that strings can be checked against (apiserver's library.ConstantFormats).
struct NamedFormat {
  std::string_view key;   // "dns1123Label"
  std::string_view name;  // "DNS1123Label"
  // What is wrong with a text, in upstream's words; nothing when it fits.
  std::vector<std::string> (*validate)(std::string_view text);
  std::uint64_t regex_size_max;  // for costs
};

inline constexpr std::size_t kNamedFormatCount = 13;
[[nodiscard]] std::span<const NamedFormat> NamedFormats();
// Null when there is none of that key.
[[nodiscard]] const NamedFormat* FindNamedFormat(std::string_view key);
// The format in a value, or null.
[[nodiscard]] const NamedFormat* NamedFormatOf(const Value& value);

}  // namespace drachma::cel
