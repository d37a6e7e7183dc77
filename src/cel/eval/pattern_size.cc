#include "cel/eval/pattern_size.h"

#include <algorithm>
#include <vector>

namespace drachma::cel {
namespace {

constexpr std::size_t kUnicodeClassWeight = 1200;
constexpr std::size_t kRepeatMax = 1000;

// An open group: the pieces of its last alternative, and those before.
struct Group {
  bool captures = false;
  std::size_t weight = 0;
  std::size_t height = 0;  // of the highest piece
  std::size_t pieces = 0;
  std::size_t letters = 0;       // of the last piece, when that is text, which more text joins
  std::size_t alternatives = 0;  // that have ended
  std::size_t highest = 0;       // of these

  void Add(std::size_t piece_height) {
    height = std::max(height, piece_height);
    ++pieces;
    letters = 0;
  }
  void AddLiteral() {
    if (letters++ > 0) return;
    Add(1);
    letters = 1;
  }
  // Repeats the last piece; of a text only its last letter.
  void Repeat(std::size_t piece_height) {
    height = std::max(height, piece_height);
    if (letters > 1) ++pieces;
    letters = 0;
  }
  void EndAlternative() {
    highest = std::max(highest, pieces == 0 ? 1 : height + (pieces > 1 ? 1 : 0));
    ++alternatives;
    height = pieces = 0;
    letters = 0;
  }
  // REQUIRES: nothing is added afterwards.
  [[nodiscard]] std::size_t Height() {
    EndAlternative();
    return highest + (alternatives > 1 ? 1 : 0) + (captures ? 1 : 0);
  }
};

class Measure {
 public:
  explicit Measure(std::string_view pattern) : pattern_(pattern), groups_{Group{}} {}

  PatternSize Run() {
    for (; at_ < pattern_.size() && Weight() <= kPatternWeightMax; ++at_) Read(pattern_[at_]);
    while (groups_.size() > 1) Close();
    return {.weight = Weight(), .height = groups_.front().Height()};
  }

 private:
  [[nodiscard]] std::size_t Weight() const { return groups_.back().weight; }

  void Read(char c) {
    switch (c) {
      case '(':
        return Open();
      case ')':
        if (groups_.size() > 1) Close();
        return;
      case '|':
        return groups_.back().EndAlternative();
      case '{':
        return Repeat();
      case '*':
      case '+':
      case '?':
        return groups_.back().Repeat(++last_height_);
      case '[':
        at_ = std::min(pattern_.find(']', at_ + 2), pattern_.size());
        return AddAtom(1);
      case '\\':
        return ReadEscape();
      case '.':
      case '^':
      case '$':
        return AddAtom(1);
      default:
        groups_.back().AddLiteral();
        SetLast(1, 1);
    }
  }

  void Open() {
    const bool flags = pattern_.substr(at_).starts_with("(?");
    const bool named =
        pattern_.substr(at_).starts_with("(?P<") || pattern_.substr(at_).starts_with("(?<");
    // Flags end at a colon or, alone, with the group.
    if (flags && !named) at_ = std::min(pattern_.find_first_of(":)", at_), pattern_.size());
    if (flags && !named && at_ < pattern_.size() && pattern_[at_] == ')') return;
    groups_.push_back({.captures = !flags || named});
  }

  void Close() {
    Group group = groups_.back();
    groups_.pop_back();
    SetLast(group.weight, group.Height());
    groups_.back().Add(last_height_);
  }

  // {n}, {n,} and {n,m}
  void Repeat() {
    std::size_t count = 0;
    for (std::size_t number = 0; ++at_ < pattern_.size() && pattern_[at_] != '}';) {
      const bool digit = pattern_[at_] >= '0' && pattern_[at_] <= '9';
      number = digit ? std::min<std::size_t>(number * 10 + (pattern_[at_] - '0'), kRepeatMax) : 0;
      count = std::max(count, number);
    }
    const std::size_t weight = last_weight_ * std::max<std::size_t>(count, 1);
    groups_.back().weight += weight - last_weight_;
    last_weight_ = weight;
    groups_.back().Repeat(++last_height_);
  }

  void ReadEscape() {
    if (++at_ >= pattern_.size()) return;
    const bool unicode = pattern_[at_] == 'p' || pattern_[at_] == 'P';
    // The name of the class: a letter, or more in braces.
    if (unicode && ++at_ < pattern_.size() && pattern_[at_] == '{') {
      at_ = std::min(pattern_.find('}', at_), pattern_.size());
    }
    AddAtom(unicode ? kUnicodeClassWeight : 1);
  }

  void AddAtom(std::size_t weight) {
    groups_.back().Add(1);
    SetLast(weight, 1);
  }
  void SetLast(std::size_t weight, std::size_t height) {
    last_weight_ = weight;
    last_height_ = height;
    groups_.back().weight += weight;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::vector<Group> groups_;
  std::size_t last_weight_ = 0;  // of the last piece, which a repetition repeats
  std::size_t last_height_ = 0;
};

}  // namespace

PatternSize MeasurePattern(std::string_view pattern) { return Measure(pattern).Run(); }

}  // namespace drachma::cel
