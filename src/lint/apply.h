#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "lint/finding.h"

namespace drachma::lint {

// The text after changes to its document of number `document`, one after the other: each sees what
// those before it made. What came by an alias or a merge is changed under its anchor.
// ERRORS: those of editor.h's Apply; kBadRequest when the text is no YAML in between.
[[nodiscard]] Result<std::string> ApplyAll(std::string text, std::size_t document,
                                           std::span<const Change> changes);

}  // namespace drachma::lint
