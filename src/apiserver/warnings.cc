#include "apiserver/warnings.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace drachma::apiserver {
namespace {

constexpr std::size_t kTotalMax = 4096;  // code points of all texts
constexpr std::size_t kItemMax = 256;    // of one, once there are too many

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t CodePoints(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, StartsCodePoint));
}

std::string_view Cut(std::string_view text) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (StartsCodePoint(text[i]) && seen++ == kItemMax) return text.substr(0, i);
  }
  return text;
}

bool HasControl(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string Header(std::string_view text) {
  std::string quoted = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::vector<std::string> WarningHeaders(const std::vector<std::string>& texts) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> kept;
  std::size_t total = 0;
  for (const std::string& text : texts) {
    if (text.empty() || HasControl(text) || !seen.insert(text).second) continue;
    kept.push_back(text);
    total += CodePoints(text);
  }
  const bool cut = total > kTotalMax;
  std::vector<std::string> headers;
  std::size_t written = 0;
  for (const std::string_view text : kept) {
    if (cut && written >= kTotalMax) break;
    const std::string_view shown = cut ? Cut(text) : text;
    written += CodePoints(shown);
    headers.push_back(Header(shown));
  }
  return headers;
}

}  // namespace drachma::apiserver
