#include "lint/text_form.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace drachma::lint {
namespace {

// Lines that a correction may have taken away in one place; where it took more, the lines behind
// end as the one before them.
constexpr std::size_t kLookAhead = 100;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Lines with what ends them.
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

bool EndsLikeWindows(std::string_view line) { return line.ends_with("\r\n"); }

std::string_view Content(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool SameContent(std::string_view a, std::string_view b) { return Content(a) == Content(b); }

bool BeginsDocument(std::string_view line) {
  return line.starts_with("---") &&
         (line.size() == 3 || std::isspace(static_cast<unsigned char>(line[3])) != 0);
}

}  // namespace

std::string PlainForm(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') plain += text[i];
  }
  return plain;
}

std::string WithFormOf(std::string_view original, std::string_view corrected) {
  std::string text;
  if (original.starts_with(kByteOrderMark)) {
    text = kByteOrderMark;
    original.remove_prefix(kByteOrderMark.size());
  }
  const std::vector<std::string_view> before = LinesOf(original);
  const std::vector<std::string_view> after = LinesOf(corrected);
  if (std::ranges::none_of(before, EndsLikeWindows)) return text.append(corrected);
  bool like_windows = EndsLikeWindows(before[0]);
  std::size_t next = 0;  // in `before`
  for (const std::string_view line : after) {
    const std::size_t end = std::min(next + kLookAhead, before.size());
    for (std::size_t i = next; i < end; ++i) {
      if (!SameContent(before[i], line)) continue;
      like_windows = EndsLikeWindows(before[i]);
      next = i + 1;
      break;
    }
    text += like_windows ? Content(line) : line;
    if (like_windows && line.ends_with('\n')) text += "\r\n";
  }
  return text;
}

bool IsUtf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

std::vector<std::string> DocumentTexts(std::string_view text) {
  std::vector<std::string> documents(1);
  for (const std::string_view line : LinesOf(text)) {
    if (BeginsDocument(line) && !documents.back().empty()) documents.emplace_back();
    documents.back() += line;
  }
  return documents;
}

}  // namespace drachma::lint
