#include "cel/syntax/ast.h"

namespace drachma::cel {

Location Ast::LocationOf(std::int32_t id) const {
  if (id < 0 || id >= static_cast<std::int32_t>(ranges.size()) || ranges[id].start < 0) return {};
  return source.LocationOf(static_cast<std::size_t>(ranges[id].start));
}

std::string_view Ast::TextOf(std::int32_t id) const {
  if (id < 0 || id >= static_cast<std::int32_t>(ranges.size())) return {};
  const SourceRange& range = ranges[id];
  if (range.begin < 0 || range.end < range.begin) return {};
  return source.text().substr(range.begin, range.end - range.begin);
}

}  // namespace drachma::cel
