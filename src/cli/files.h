#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::cli {

// Files of more than this are refused: no manifest is that large.
inline constexpr std::size_t kFileBytesMax = 256 << 20;

// The text of a file; "-" reads standard input. ERRORS: kNotFound, kBadRequest with the reason.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);
// Replaces a file's text, whole or not at all. ERRORS: kForbidden, kInternal.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text);

}  // namespace drachma::cli
