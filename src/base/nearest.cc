#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace drachma {
namespace {

// Words up to this length differ in one letter at most; longer ones in two.
constexpr std::size_t kShortMax = 3;
constexpr std::size_t kTyposMax = 2;
constexpr std::size_t kPrefixMin = 3;

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string Nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string nearest;
  std::size_t best = (word.size() <= kShortMax ? 1 : kTyposMax) + 1;
  for (const std::string& candidate : candidates) {
    if (word.size() >= kPrefixMin && candidate.starts_with(word)) return candidate;
    if (const std::size_t distance = EditDistance(word, candidate); distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace drachma
