#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drachma::lint {

// How a file is written beside what it says: a byte order mark before it, "\r\n" for "\n". Editors
// on Windows make both; corrections are made on plain text and leave both as they were.

// `text` without a byte order mark, with "\n" alone at the ends of lines. Lines and columns stay.
[[nodiscard]] std::string PlainForm(std::string_view text);

// `corrected`, which was made of PlainForm(original), in the form of `original`. Where
// both sorts of ends are used, lines that were not changed keep theirs and new ones end as the line
// before them.
[[nodiscard]] std::string WithFormOf(std::string_view original, std::string_view corrected);

// Whether `text` is UTF-16, which YAML readers take but corrections cannot be made in.
[[nodiscard]] bool IsUtf16(std::string_view text);

// The documents of a YAML stream as pieces of its text, each with the line "---" before it; one
// piece when there is nothing to part at. Joined they are `text`.
[[nodiscard]] std::vector<std::string> DocumentTexts(std::string_view text);

}  // namespace drachma::lint
