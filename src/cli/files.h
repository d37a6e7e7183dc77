#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lint/convert.h"

namespace drachma::cli {

// Files of more than this are refused: no manifest is that large.
inline constexpr std::size_t kFileBytesMax = 256 << 20;

// The text of a file; "-" reads standard input. ERRORS: kNotFound, kBadRequest with the reason.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);
// Replaces a file's text, whole or not at all. ERRORS: kForbidden, kInternal.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view text);

// What findings call standard input.
inline constexpr std::string_view kStandardInput = "<stdin>";
// The texts of the files of `arguments`, folders opened.
// ERRORS: of ReadFile; kBadRequest: a folder without any.
[[nodiscard]] Result<std::vector<lint::FileText>> ReadManifestTexts(
    const std::vector<std::string>& arguments);

}  // namespace drachma::cli
