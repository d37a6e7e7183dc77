#include "base/random_names.h"

#include <algorithm>
#include <cctype>

namespace drachma {
namespace {

// What Random::NameSuffix draws from, and how much for a name.
constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kLength = 5;

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

bool IsRandom(std::string_view part) {
  return part.size() == kLength && std::ranges::all_of(part, [](char c) {
           return kAlphabet.find(c) != std::string_view::npos;
         });
}

}  // namespace

std::string WithoutRandomEndings(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* const end = std::ranges::find_if_not(text, IsOfName);
    const auto length = static_cast<std::size_t>(end - text.begin());
    if (length == 0) {
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = text.substr(0, length);
    const std::size_t dash = word.rfind('-');
    if (dash != std::string_view::npos && dash > 0 && IsRandom(word.substr(dash + 1))) {
      result.append(word.substr(0, dash + 1)).append("…");
    } else {
      result += word;
    }
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace drachma
