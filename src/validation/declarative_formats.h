#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "validation/field_error.h"

namespace drachma::validation {

// The formats that declarative rules name, by that name (upstream's validate/strfmt.go): each tells
// what is wrong with a text. Immutable; any thread.
using DeclaredFormat = ErrorList (*)(std::string_view path, std::string_view text);
[[nodiscard]] const std::map<std::string, DeclaredFormat, std::less<>>& DeclaredFormats();

}  // namespace drachma::validation
