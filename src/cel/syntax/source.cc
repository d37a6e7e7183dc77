#include "cel/syntax/source.h"

#include <algorithm>
#include <utility>

namespace drachma::cel {
namespace {

constexpr std::size_t kSnippetBytesMax = 16384;  // longer lines are not shown (cel-go)
constexpr std::size_t kStride = 64;              // bytes between two entries of points_at_
constexpr std::string_view kWideDot = "\uff0e";
constexpr std::string_view kWideCaret = "\uff3e";

// The caret line under `snippet`: wide marks stand under characters of several bytes.
std::string CaretLine(std::string_view snippet, int column) {
  std::string line;
  std::size_t at = 0;
  for (int i = 0; i < column && at < snippet.size(); ++i) {
    const std::size_t begin = at;
    (void)DecodeUtf8(snippet, &at);
    line += at - begin > 1 ? kWideDot : ".";
  }
  std::size_t end = at;
  if (at < snippet.size()) (void)DecodeUtf8(snippet, &end);
  line += end - at > 1 ? kWideCaret : "^";
  return line;
}

std::string FormatIssue(const Source& source, const Issue& issue) {
  std::string out = "ERROR: <input>:" + std::to_string(issue.location.line) + ":" +
                    std::to_string(issue.location.column + 1) + ": " + issue.message;
  const std::optional<std::string_view> line = source.Line(issue.location.line);
  if (!line || line->size() > kSnippetBytesMax) return out;
  std::string snippet(*line);
  std::ranges::replace(snippet, '\t', ' ');
  out += "\n | " + snippet + "\n | " + CaretLine(snippet, issue.location.column);
  return out;
}

}  // namespace

Source::Source(std::string_view text) : text_(ToValidUtf8(text)) {
  code_points_ = CountCodePoints(text_);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
  if (code_points_ == text_.size()) return;
  std::size_t points = 0;
  for (std::size_t at = 0; at <= text_.size(); at += kStride) {
    points_at_.push_back(static_cast<std::uint32_t>(points));
    points += CountCodePoints(std::string_view(text_).substr(at, kStride));
  }
}

std::size_t Source::PointsBefore(std::size_t offset) const {
  if (points_at_.empty()) return offset;
  const std::size_t entry = offset / kStride;
  const std::size_t begin = entry * kStride;
  return points_at_[entry] + CountCodePoints(std::string_view(text_).substr(begin, offset - begin));
}

Location Source::LocationOf(std::size_t offset) const {
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  const int line = static_cast<int>(next - line_starts_.begin()) + 1;
  const std::size_t start = line == 1 ? 0 : line_starts_[line - 2];
  const std::size_t end = std::min(offset, text_.size());
  std::size_t column = PointsBefore(end) - PointsBefore(start);
  if (offset > text_.size()) column += offset - text_.size();
  return {.line = line, .column = static_cast<int>(column)};
}

std::optional<std::string_view> Source::Line(int line) const {
  if (line < 1 || line > static_cast<int>(line_starts_.size()) + 1 || text_.empty()) return {};
  const std::size_t begin = line == 1 ? 0 : line_starts_[line - 2];
  const bool last = line == static_cast<int>(line_starts_.size()) + 1;
  const std::size_t end = last ? text_.size() : line_starts_[line - 1] - 1;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string FormatIssues(const Source& source, std::vector<Issue> issues) {
  const std::size_t count = issues.size();
  if (count > kIssuesMax) issues.resize(kIssuesMax);
  std::ranges::stable_sort(issues, [](const Issue& a, const Issue& b) {
    return std::pair(a.location.line, a.location.column) <
           std::pair(b.location.line, b.location.column);
  });
  std::string out;
  for (const Issue& issue : issues) {
    if (!out.empty()) out += '\n';
    out += FormatIssue(source, issue);
  }
  if (count > kIssuesMax) {
    out += "\n" + std::to_string(count - kIssuesMax) + " more errors were truncated";
  }
  return out;
}

std::size_t CountCodePoints(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

char32_t DecodeUtf8(std::string_view text, std::size_t* offset) {
  const auto byte = [&](std::size_t i) -> unsigned char {
    return *offset + i < text.size() ? static_cast<unsigned char>(text[*offset + i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  char32_t code_point = 0xFFFD;
  std::size_t size = 1;
  if (first < 0x80) {
    code_point = first;
  } else if (first >= 0xC2 && first < 0xE0 && continues(1)) {
    code_point = ((first & 0x1Fu) << 6) | (byte(1) & 0x3Fu);
    size = 2;
  } else if (first >= 0xE0 && first < 0xF0 && continues(1) && continues(2)) {
    const char32_t value = ((first & 0x0Fu) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu);
    if (value >= 0x800 && (value < 0xD800 || value > 0xDFFF)) {
      code_point = value;
      size = 3;
    }
  } else if (first >= 0xF0 && first < 0xF5 && continues(1) && continues(2) && continues(3)) {
    const char32_t value = ((first & 0x07u) << 18) | ((byte(1) & 0x3Fu) << 12) |
                           ((byte(2) & 0x3Fu) << 6) | (byte(3) & 0x3Fu);
    if (value >= 0x10000 && value <= 0x10FFFF) {
      code_point = value;
      size = 4;
    }
  }
  *offset += size;
  return code_point;
}

void AppendUtf8(char32_t c, std::string& out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::string ToValidUtf8(std::string_view text) {
  // Nearly all texts are ASCII: nothing to do then.
  if (std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; })) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) AppendUtf8(DecodeUtf8(text, &at), out);
  return out;
}

}  // namespace drachma::cel
