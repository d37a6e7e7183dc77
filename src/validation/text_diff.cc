#include "validation/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json/json.h"
#include "validation/field_error.h"
#include "validation/shown_internal.h"

namespace drachma::validation {
namespace {

// From this many lines on those that stand in more than a hundredth of all places are not looked
// for (difflib's "autojunk").
constexpr std::size_t kPopularLinesMin = 200;
constexpr std::size_t kContext = 3;

using Lines = std::vector<std::string_view>;

Lines SplitLines(std::string_view text) {
  Lines lines;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

// Equal runs: a[i, i + size) is b[j, j + size).
struct Match {
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t size = 0;
};

struct Step {
  enum class Kind : std::uint8_t { kEqual, kChange } kind = Kind::kEqual;
  std::size_t i1 = 0;
  std::size_t i2 = 0;
  std::size_t j1 = 0;
  std::size_t j2 = 0;
};

class Matcher {
 public:
  Matcher(Lines a, Lines b) : a_(std::move(a)), b_(std::move(b)) {
    for (std::size_t j = 0; j < b_.size(); ++j) places_[b_[j]].push_back(j);
    if (b_.size() < kPopularLinesMin) return;
    const std::size_t often = b_.size() / 100 + 1;
    std::erase_if(places_, [&](const auto& entry) { return entry.second.size() > often; });
  }

  std::vector<Step> Steps() {
    std::vector<Match> matches;
    Collect(0, a_.size(), 0, b_.size(), matches);
    matches.push_back({a_.size(), b_.size(), 0});
    std::vector<Step> steps;
    std::size_t i = 0;
    std::size_t j = 0;
    for (const Match& match : matches) {
      if (i < match.i || j < match.j) {
        steps.push_back({Step::Kind::kChange, i, match.i, j, match.j});
      }
      i = match.i + match.size;
      j = match.j + match.size;
      if (match.size == 0) continue;
      // Runs that touch are one.
      if (!steps.empty() && steps.back().kind == Step::Kind::kEqual) {
        steps.back().i2 = i;
        steps.back().j2 = j;
      } else {
        steps.push_back({Step::Kind::kEqual, match.i, i, match.j, j});
      }
    }
    return steps;
  }

  const Lines& a() const { return a_; }
  const Lines& b() const { return b_; }

 private:
  Match Longest(std::size_t a_low, std::size_t a_high, std::size_t b_low,
                std::size_t b_high) const {
    Match best{a_low, b_low, 0};
    std::unordered_map<std::size_t, std::size_t> lengths;  // of runs that end at a place of b
    for (std::size_t i = a_low; i < a_high; ++i) {
      std::unordered_map<std::size_t, std::size_t> next;
      const auto found = places_.find(a_[i]);
      if (found != places_.end()) {
        for (const std::size_t j : found->second) {
          if (j < b_low) continue;
          if (j >= b_high) break;
          const auto before = j == 0 ? lengths.end() : lengths.find(j - 1);
          const std::size_t length = (before == lengths.end() ? 0 : before->second) + 1;
          next[j] = length;
          if (length > best.size) best = {i + 1 - length, j + 1 - length, length};
        }
      }
      lengths = std::move(next);
    }
    while (best.i > a_low && best.j > b_low && a_[best.i - 1] == b_[best.j - 1]) {
      --best.i;
      --best.j;
      ++best.size;
    }
    while (best.i + best.size < a_high && best.j + best.size < b_high &&
           a_[best.i + best.size] == b_[best.j + best.size]) {
      ++best.size;
    }
    return best;
  }

  void Collect(std::size_t a_low, std::size_t a_high, std::size_t b_low, std::size_t b_high,
               std::vector<Match>& matches) const {
    const Match match = Longest(a_low, a_high, b_low, b_high);
    if (match.size == 0) return;
    if (a_low < match.i && b_low < match.j) Collect(a_low, match.i, b_low, match.j, matches);
    matches.push_back(match);
    if (match.i + match.size < a_high && match.j + match.size < b_high) {
      Collect(match.i + match.size, a_high, match.j + match.size, b_high, matches);
    }
  }

  Lines a_;
  Lines b_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> places_;
};

// Changes that stand near each other, with their context.
std::vector<std::vector<Step>> Grouped(std::vector<Step> steps) {
  std::vector<std::vector<Step>> groups;
  if (steps.empty()) return groups;
  if (Step& first = steps.front(); first.kind == Step::Kind::kEqual) {
    first.i1 = std::max(first.i1, first.i2 - std::min(first.i2, kContext));
    first.j1 = std::max(first.j1, first.j2 - std::min(first.j2, kContext));
  }
  if (Step& last = steps.back(); last.kind == Step::Kind::kEqual) {
    last.i2 = std::min(last.i2, last.i1 + kContext);
    last.j2 = std::min(last.j2, last.j1 + kContext);
  }
  std::vector<Step> group;
  for (Step step : steps) {
    if (step.kind == Step::Kind::kEqual && step.i2 - step.i1 > 2 * kContext) {
      group.push_back({step.kind, step.i1, step.i1 + kContext, step.j1, step.j1 + kContext});
      groups.push_back(std::exchange(group, {}));
      step.i1 = step.i2 - kContext;
      step.j1 = step.j2 - kContext;
    }
    group.push_back(step);
  }
  if (!group.empty() && (group.size() > 1 || group[0].kind == Step::Kind::kChange)) {
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string Range(std::size_t start, std::size_t stop) {
  const std::size_t length = stop - start;
  if (length == 1) return fmt::format("{}", start + 1);
  return fmt::format("{},{}", length == 0 ? start : start + 1, length);
}

}  // namespace

std::string UnifiedDiff(std::string_view before, std::string_view after) {
  Matcher matcher(SplitLines(before), SplitLines(after));
  std::string diff;
  const auto add = [&](char sign, const Lines& lines, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) diff += fmt::format("{}{}\n", sign, lines[i]);
  };
  for (const std::vector<Step>& group : Grouped(matcher.Steps())) {
    diff += fmt::format("@@ -{} +{} @@\n", Range(group.front().i1, group.back().i2),
                        Range(group.front().j1, group.back().j2));
    for (const Step& step : group) {
      if (step.kind == Step::Kind::kEqual) {
        add(' ', matcher.a(), step.i1, step.i2);
      } else {
        add('-', matcher.a(), step.i1, step.i2);
        add('+', matcher.b(), step.j1, step.j2);
      }
    }
  }
  return diff;
}

std::string InternalDiff(const json::Value& before, const json::Value& after,
                         std::string_view go_type) {
  const auto text = [&](const json::Value& value) {
    return EscapeHtml(json::WritePretty(InternalForm(value, go_type), 1));
  };
  return UnifiedDiff(text(before), text(after));
}

}  // namespace drachma::validation
