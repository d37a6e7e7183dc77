#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drachma::cel {

// A place in an expression. Lines count from 1, columns from 0, both in code points; -1 is "no
// place" (as cel-go's NoLocation).
struct Location {
  int line = -1;
  int column = -1;
};

// One problem of an expression.
struct Issue {
  Location location;
  std::string message;
};

// The text of an expression with its lines. Bytes that are no UTF-8 become U+FFFD first, so all
// offsets are byte offsets into valid UTF-8.
class Source {
 public:
  explicit Source(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t code_points() const { return code_points_; }
  // The place of a byte offset; an offset past the end counts on in the last line.
  [[nodiscard]] Location LocationOf(std::size_t offset) const;
  // The text of line `line` (from 1) without its line end; nothing when there is no such line.
  [[nodiscard]] std::optional<std::string_view> Line(int line) const;

 private:
  // The code points in front of a byte offset. Takes a bounded time: expressions of thousands of
  // issues ask for the place of each.
  [[nodiscard]] std::size_t PointsBefore(std::size_t offset) const;

  std::string text_;
  std::size_t code_points_ = 0;
  std::vector<std::uint32_t> points_at_;  // code points before every kStride-th byte; not for ASCII
  std::vector<std::uint32_t> line_starts_;  // byte offsets, line 2 on
};

// What cel-go shows for a set of issues: sorted by place, each with source and caret line; at most
// kIssuesMax of them, then a count of the rest.
inline constexpr std::size_t kIssuesMax = 100;
[[nodiscard]] std::string FormatIssues(const Source& source, std::vector<Issue> issues);

// The number of code points of valid UTF-8.
[[nodiscard]] std::size_t CountCodePoints(std::string_view text);
// `text` with every byte that is no UTF-8 replaced by U+FFFD, as Go ranges over strings.
[[nodiscard]] std::string ToValidUtf8(std::string_view text);
// Reads one code point at `*offset` and moves it on; 0xFFFD and one byte for what is no UTF-8.
[[nodiscard]] char32_t DecodeUtf8(std::string_view text, std::size_t* offset);
void AppendUtf8(char32_t code_point, std::string& out);

}  // namespace drachma::cel
