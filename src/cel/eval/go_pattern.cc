#include "cel/eval/go_pattern.h"

#include <algorithm>
#include <array>

namespace drachma::cel {
namespace {

struct Category {
  std::string_view name;         // in lower case, without _, - and spaces
  std::string_view re2;          // members of a character class
  std::string_view others = {};  // the same for all other characters
};
constexpr auto kCategories = std::to_array<Category>({
    {"any", "Any"},
    {"ascii", "\\x{0}-\\x{7F}", "\\x{80}-\\x{10FFFF}"},
    {"lc", "\\p{Lu}\\p{Ll}\\p{Lt}", {}},
    {"casedletter", "\\p{Lu}\\p{Ll}\\p{Lt}", {}},
    {"other", "C"},
    {"control", "Cc"},
    {"cntrl", "Cc"},
    {"format", "Cf"},
    {"privateuse", "Co"},
    {"surrogate", "Cs"},
    {"letter", "L"},
    {"lowercaseletter", "Ll"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"titlecaseletter", "Lt"},
    {"uppercaseletter", "Lu"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"nonspacingmark", "Mn"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"digit", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"closepunctuation", "Pe"},
    {"finalpunctuation", "Pf"},
    {"initialpunctuation", "Pi"},
    {"otherpunctuation", "Po"},
    {"openpunctuation", "Ps"},
    {"symbol", "S"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"mathsymbol", "Sm"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"spaceseparator", "Zs"},
});

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::optional<std::string> Run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        if (!Escape()) return std::nullopt;
        continue;
      }
      if (in_class_) {
        if (c == ']' && at_ > class_begin_) in_class_ = false;
      } else if (c == '[') {
        in_class_ = true;
        class_begin_ = at_ + (StartsWith("[^") ? 2 : 1);
        out_ += pattern_.substr(at_, class_begin_ - at_);
        at_ = class_begin_;
        Copy(at_ < pattern_.size() && pattern_[at_] == ']' ? 1 : 0);
        continue;
      } else if (StartsWith("(?<")) {
        out_ += "(?P<";
        at_ += 3;
        continue;
      }
      // [:alpha:] does not end a class.
      const bool named = in_class_ && StartsWith("[:");
      const std::size_t end = named ? pattern_.find(":]", at_) : kNone;
      Copy(end == kNone ? 1 : end + 2 - at_);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool StartsWith(std::string_view prefix) const {
    return pattern_.substr(at_).starts_with(prefix);
  }
  void Copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ = std::min(at_ + count, pattern_.size());
  }

  // False for an escape that Go does not know.
  bool Escape() {
    if (StartsWith("\\C")) return false;
    if (StartsWith("\\Q") && !in_class_) {
      const std::size_t end = pattern_.find("\\E", at_);
      Copy(end == std::string_view::npos ? pattern_.size() : end + 2 - at_);
    } else if ((StartsWith("\\p{") || StartsWith("\\P{")) && pattern_.find('}', at_) < kNone) {
      Class();
    } else {
      Copy(2);
    }
    return true;
  }

  // \p{name}, \P{name}, \p{^name}
  void Class() {
    const std::size_t end = pattern_.find('}', at_);
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    bool negated = pattern_[at_ + 1] == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    std::string key;
    for (const char c : name) {
      if (c != '_' && c != '-' && c != ' ') key += Lower(c);
    }
    at_ = end + 1;
    const auto category = std::ranges::find(kCategories, key, &Category::name);
    if (category == kCategories.end()) {
      out_ += (negated ? "\\P{" : "\\p{") + Capitalised(name) + "}";
    } else if (!category->re2.starts_with('\\')) {
      out_ += (negated ? "\\P{" : "\\p{") + std::string(category->re2) + "}";
    } else if (!in_class_) {
      out_ += (negated ? "[^" : "[") + std::string(category->re2) + "]";
    } else {
      // Negated and without a class of its own: RE2 refuses it.
      const bool unknown = negated && category->others.empty();
      out_ += unknown ? "\\P{LC}" : negated ? category->others : category->re2;
    }
  }

  // Names of scripts and short names of categories as RE2 writes them: Old_Italic, Lu.
  static std::string Capitalised(std::string_view name) {
    std::string out;
    for (const char c : name) {
      out += out.empty() || out.back() == '_' ? Upper(c) : c;
    }
    return out;
  }

  static constexpr std::size_t kNone = std::string_view::npos;

  std::string_view pattern_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::size_t class_begin_ = 0;
};

}  // namespace

std::optional<std::string> FromGoPattern(std::string_view pattern) {
  const bool same = !pattern.contains("\\C") && !pattern.contains("(?<") &&
                    !pattern.contains("\\p{") && !pattern.contains("\\P{");
  return same ? std::string(pattern) : Translator(pattern).Run();
}

}  // namespace drachma::cel
