#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/finding.h"
#include "lint/rules.h"

namespace drachma::lint {

// After this many changes a document is left as it is: each change mends one finding, so only a
// fault of ours gets there.
inline constexpr int kFixRoundsMax = 10'000;
// A finding that comes back after so many changes is left.
inline constexpr int kTriesMax = 50;

struct CheckedFile {
  std::string name;
  // In order of their places: of the text as it is, and what a correction brought to light and
  // another one mended.
  std::vector<Finding> findings;
  // The text after every change that a finding offers; equal to the input when there is none.
  std::string corrected;
  // Those of `findings` whose change could not be made in this text, with the reason.
  struct Left {
    Finding finding;
    std::string reason;
  };
  std::vector<Left> left;
};

// Checks a file of manifests: YAML or JSON, any number of documents. Needs no server. Findings are
// of three sorts: the text is no YAML, the object is in an outdated form (rules.h), or an API
// server of 1.37 would refuse it (schema.h). A byte order mark and the ends of lines stay as they
// are.
[[nodiscard]] CheckedFile CheckText(std::string_view name, std::string_view text,
                                    const RuleContext& context);

// "file:line:column: error: message [rule]" and, if there is one, an indented line with the
// correction.
[[nodiscard]] std::string FormatFinding(const Finding& finding);
// {"file","line","column","rule","severity","message","fix"}.
[[nodiscard]] json::Value ToJson(const Finding& finding);

}  // namespace drachma::lint
