#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lint/finding.h"

namespace drachma::lint {

// A fault in the form of a device selector, at a byte of the expression.
struct SelectorFault {
  std::size_t offset = 0;
  std::string rule;  // "selector-memory-is-capacity", …
  std::string message;
  Severity severity = Severity::kError;
  bool mended = true;  // in the corrected expression
};

struct SelectorForm {
  std::vector<SelectorFault> faults;  // in order of the expression
  std::string corrected;              // the whole expression; equal to the input without faults
};

// Looks for the forms of selectors that blogs and other systems use and DRA does not have: names
// without a domain, `.string` and the like behind a value, memory as an attribute, quantities and
// versions as literals, names and values that the driver does not publish. `driver` is the domain
// that names without one get when the expression does not compare device.driver itself. The
// corrected expression guards itself with device.driver, since reading an unknown name fails.
[[nodiscard]] SelectorForm CorrectSelector(std::string_view expression, std::string_view driver);

}  // namespace drachma::lint
