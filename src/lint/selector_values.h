#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lint/finding.h"
#include "lint/known_names.h"

namespace drachma::lint {

// A comparison of an attribute with what no device has there.
struct ValueFault {
  std::string rule;  // "selector-value", "selector-value-type"
  Severity severity = Severity::kError;
  std::string message;
  std::size_t offset = 0;   // of the value in `rest`
  std::string replacement;  // for the attribute and `length` bytes of `rest`; empty: not known
  std::size_t length = 0;
};

// Looks at what stands behind an attribute: `== 'x'`, `!= 'x'`, `.contains('x')` and the like,
// `in ['x', 'y']`. `access` is the attribute as the expression reads it, `rest` what follows.
// Values that only a newer driver or another board may have are left alone.
[[nodiscard]] std::optional<ValueFault> CheckValue(const KnownName& known, std::string_view access,
                                                   std::string_view rest);

}  // namespace drachma::lint
