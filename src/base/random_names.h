#pragma once

#include <string>
#include <string_view>

namespace drachma {

// `text` with "…" for the random endings of the names in it ("web-6d4cf-x7k2p" is "web-6d4cf-…"):
// texts that differ in such names alone, as those of a controller's tries, become equal.
[[nodiscard]] std::string WithoutRandomEndings(std::string_view text);

}  // namespace drachma
