#include "num/semver.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace drachma {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsIdentifier(char c) {
  return IsDigit(c) || c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Go's %q for what can be in a version.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Result<std::uint64_t> ReadUint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return BadInput("strconv.ParseUint: parsing " + Quoted(text) + ": value out of range");
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadInput("strconv.ParseUint: parsing " + Quoted(text) + ": invalid syntax");
  }
  return value;
}

struct NumberName {
  std::string_view in_sentence;
  std::string_view capitalized;
};

Result<std::uint64_t> ReadNumber(std::string_view text, const NumberName& name) {
  if (!std::ranges::all_of(text, IsDigit)) {
    return BadInput("Invalid character(s) found in " + std::string(name.in_sentence) + " number " +
                    Quoted(text));
  }
  if (text.size() > 1 && text[0] == '0') {
    return BadInput(std::string(name.capitalized) + " number must not contain leading zeroes " +
                    Quoted(text));
  }
  return ReadUint(text);
}

Result<Semver::PreRelease> ReadPreRelease(std::string_view text) {
  if (text.empty()) return BadInput("Prerelease is empty");
  if (std::ranges::all_of(text, IsDigit)) {
    if (text.size() > 1 && text[0] == '0') {
      return BadInput("Numeric PreRelease version must not contain leading zeroes " + Quoted(text));
    }
    DRA_ASSIGN(const std::uint64_t number, ReadUint(text));
    return Semver::PreRelease{.is_number = true, .number = number, .text = {}};
  }
  if (!std::ranges::all_of(text, IsIdentifier)) {
    return BadInput("Invalid character(s) found in prerelease " + Quoted(text));
  }
  return Semver::PreRelease{.is_number = false, .number = 0, .text = std::string(text)};
}

// Cuts `text` at the first `separator`; what follows it, or nothing without one.
std::optional<std::string_view> CutTail(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view tail = text.substr(at + 1);
  text = text.substr(0, at);
  return tail;
}

std::vector<std::string_view> SplitDots(std::optional<std::string_view> text) {
  std::vector<std::string_view> parts;
  while (text) {
    auto rest = CutTail(*text, '.');
    parts.push_back(*text);
    text = rest;
  }
  return parts;
}

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int ComparePreRelease(const Semver::PreRelease& a, const Semver::PreRelease& b) {
  if (a.is_number != b.is_number) return a.is_number ? -1 : 1;
  return a.is_number ? Order(a.number, b.number) : Order(a.text, b.text);
}

}  // namespace

Result<Semver> Semver::Parse(std::string_view text) {
  if (text.empty()) return BadInput("Version string empty");
  std::string_view major = text;
  auto minor = CutTail(major, '.');
  auto patch = minor ? CutTail(*minor, '.') : std::nullopt;
  if (!patch) return BadInput("No Major.Minor.Patch elements found");

  Semver version;
  DRA_ASSIGN(version.major, ReadNumber(major, {"major", "Major"}));
  DRA_ASSIGN(version.minor, ReadNumber(*minor, {"minor", "Minor"}));
  const auto build = CutTail(*patch, '+');
  const auto pre = CutTail(*patch, '-');
  DRA_ASSIGN(version.patch, ReadNumber(*patch, {"patch", "Patch"}));
  for (const std::string_view part : SplitDots(pre)) {
    DRA_ASSIGN(PreRelease parsed, ReadPreRelease(part));
    version.pre.push_back(std::move(parsed));
  }
  for (const std::string_view part : SplitDots(build)) {
    if (part.empty()) return BadInput("Build meta data is empty");
    if (!std::ranges::all_of(part, IsIdentifier)) {
      return BadInput("Invalid character(s) found in build meta data " + Quoted(part));
    }
    version.build.emplace_back(part);
  }
  return version;
}

std::string Semver::ToString() const {
  std::string out =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  char separator = '-';
  for (const PreRelease& part : pre) {
    out += separator;
    out += part.is_number ? std::to_string(part.number) : part.text;
    separator = '.';
  }
  separator = '+';
  for (const std::string& part : build) {
    out += separator;
    out += part;
    separator = '.';
  }
  return out;
}

int Semver::Compare(const Semver& other) const {
  if (const int order = Order(major, other.major)) return order;
  if (const int order = Order(minor, other.minor)) return order;
  if (const int order = Order(patch, other.patch)) return order;
  // A release comes after its pre-releases.
  if (pre.empty() || other.pre.empty()) return Order(pre.empty(), other.pre.empty());
  for (std::size_t i = 0; i < pre.size() && i < other.pre.size(); ++i) {
    if (const int order = ComparePreRelease(pre[i], other.pre[i])) return order;
  }
  return Order(pre.size(), other.pre.size());
}

}  // namespace drachma
