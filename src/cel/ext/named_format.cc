#include "cel/ext/named_format.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cel/eval/format.h"
#include "cel/ext/url.h"

namespace drachma::cel {
namespace {

using Errors = std::vector<std::string>;

constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSubdomainMax = 253;
constexpr std::string_view kLabelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kLabel1035Format = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kKeyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlnum(char c) { return IsLower(c) || IsDigit(c) || (c >= 'A' && c <= 'Z'); }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLabelEnd(char c) { return IsLower(c) || IsDigit(c); }

bool IsLabel(std::string_view text) {
  return !text.empty() && IsLabelEnd(text.front()) && IsLabelEnd(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLabelEnd(c) || c == '-'; });
}
bool IsSubdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}
bool IsKey(std::string_view text) {
  return !text.empty() && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

// "… (e.g. 'a',  or 'b', regex used for validation is '…')", commas as upstream has them.
std::string RegexError(std::string_view what, std::string_view regex,
                       std::initializer_list<std::string_view> examples) {
  std::string out = std::string(what) + " (e.g. ";
  bool first = true;
  for (const std::string_view example : examples) {
    if (!first) out += " or ";
    first = false;
    out += "'" + std::string(example) + "', ";
  }
  return out + "regex used for validation is '" + std::string(regex) + "')";
}
std::string TooLong(std::size_t max, std::string_view unit) {
  return "must be no more than " + std::to_string(max) + " " + std::string(unit);
}
std::string SubdomainFormat() {
  return std::string(kLabelFormat) + "(\\." + std::string(kLabelFormat) + ")*";
}

Errors Label(std::string_view text) {
  Errors errors;
  if (text.size() > kLabelMax) errors.push_back(TooLong(kLabelMax, "characters"));
  if (IsLabel(text)) return errors;
  errors.push_back(
      IsSubdomain(text)
          ? "must not contain dots"
          : RegexError("a lowercase RFC 1123 label must consist of lower case alphanumeric "
                       "characters or '-', and must start and end with an alphanumeric character",
                       kLabelFormat, {"my-name", "123-abc"}));
  return errors;
}

Errors SubdomainIn(std::string_view text, std::string_view unit) {
  Errors errors;
  if (text.size() > kSubdomainMax) errors.push_back(TooLong(kSubdomainMax, unit));
  if (!IsSubdomain(text)) {
    errors.push_back(
        RegexError("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                   "characters, '-' or '.', and must start and end with an alphanumeric character",
                   SubdomainFormat(), {"example.com"}));
  }
  return errors;
}
Errors Subdomain(std::string_view text) { return SubdomainIn(text, "characters"); }

Errors Label1035(std::string_view text) {
  Errors errors;
  if (text.size() > kLabelMax) errors.push_back(TooLong(kLabelMax, "characters"));
  if (!IsLabel(text) || !IsLower(text.front())) {
    errors.push_back(
        RegexError("a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                   "start with an alphabetic character, and end with an alphanumeric character",
                   kLabel1035Format, {"my-name", "abc-123"}));
  }
  return errors;
}

// A name's prefix may end with a dash, since more follows.
template <Errors (*kFormat)(std::string_view)>
Errors Prefix(std::string_view text) {
  if (text.size() <= 1 || !text.ends_with('-')) return kFormat(text);
  return kFormat(std::string(text.substr(0, text.size() - 2)) + "a");
}

Errors QualifiedName(std::string_view text) {
  constexpr std::string_view kWhat =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character";
  const std::string regex_error = RegexError(kWhat, kKeyFormat, {"MyName", "my.name", "123-abc"});
  Errors errors;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.contains('/')) {
      return {"a valid label key " + regex_error +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& error : SubdomainIn(prefix, "bytes")) {
        errors.push_back("prefix part " + error);
      }
    }
  }
  if (name.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (name.size() > kLabelMax) {
    errors.push_back("name part " + TooLong(kLabelMax, "bytes"));
  }
  if (!IsKey(name)) errors.push_back("name part " + regex_error);
  return errors;
}

Errors LabelValue(std::string_view text) {
  Errors errors;
  if (text.size() > kLabelMax) errors.push_back(TooLong(kLabelMax, "bytes"));
  if (!text.empty() && !IsKey(text)) {
    errors.push_back(RegexError(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        "(" + std::string(kKeyFormat) + ")?", {"MyValue", "my_value", "12345"}));
  }
  return errors;
}

Errors Uri(std::string_view text) {
  const auto url = Url::ParseRequest(text);
  return url ? Errors() : Errors{url.error()};
}

Errors Uuid(std::string_view text) {
  std::string_view rest = text;
  for (const std::size_t digits : {8, 4, 4, 4, 12}) {
    if (digits != 8 && rest.starts_with('-')) rest.remove_prefix(1);
    if (rest.size() < digits || !std::ranges::all_of(rest.substr(0, digits), IsHex)) {
      return {"does not match the UUID format"};
    }
    rest.remove_prefix(digits);
  }
  return rest.empty() ? Errors() : Errors{"does not match the UUID format"};
}

Errors Byte(std::string_view text) {
  std::string_view digits = text;
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) digits.remove_suffix(1);
  const bool valid =
      !digits.empty() && text.size() % 4 == 0 &&
      std::ranges::all_of(digits, [](char c) { return IsAlnum(c) || c == '+' || c == '/'; });
  return valid ? Errors() : Errors{"invalid base64"};
}

bool IsDate(std::string_view text) {
  // A date is what makes a timestamp valid at midnight.
  return text.size() == 10 && ParseTimestamp(std::string(text) + "T00:00:00Z").has_value();
}
Errors Date(std::string_view text) { return IsDate(text) ? Errors() : Errors{"invalid date"}; }

// "23:59:59.5z" or "…+01:00", in lower case.
bool IsTime(std::string_view text) {
  const auto two = [&](std::size_t at, int max) {
    return text.size() >= at + 2 && IsDigit(text[at]) && IsDigit(text[at + 1]) &&
           (text[at] - '0') * 10 + (text[at + 1] - '0') <= max;
  };
  if (!two(0, 23) || !two(3, 59) || !two(6, 59) || text[2] != ':' || text[5] != ':') return false;
  const auto is_zone = [](std::string_view zone) {
    return zone == "z" ||
           (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && IsDigit(zone[1]) &&
            IsDigit(zone[2]) && zone[3] == ':' && IsDigit(zone[4]) && IsDigit(zone[5]));
  };
  text.remove_prefix(8);
  if (is_zone(text)) return true;
  // Any one character stands before a fraction.
  std::size_t digits = 1;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  return digits > 1 && is_zone(text.substr(digits));
}

Errors DateTime(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  const std::size_t t = lower.find('t');
  if (text.size() >= 4 && t != std::string::npos && IsDate(std::string_view(lower).substr(0, t))) {
    const std::string_view time = std::string_view(lower).substr(t + 1);
    if (IsTime(time.substr(0, time.find('t')))) return {};
  }
  return {"invalid datetime"};
}

constexpr std::array<NamedFormat, kNamedFormatCount> kFormats = {{
    {"dns1123Label", "DNS1123Label", Label, 30},
    {"dns1123Subdomain", "DNS1123Subdomain", Subdomain, 60},
    {"dns1035Label", "DNS1035Label", Label1035, 30},
    {"qualifiedName", "QualifiedName", QualifiedName, 60},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", Prefix<Label>, 30},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", Prefix<Subdomain>, 60},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", Prefix<Label1035>, 30},
    {"labelValue", "LabelValue", LabelValue, 40},
    {"uri", "URI", Uri, 1103},
    {"uuid", "uuid", Uuid, 70},
    {"byte", "byte", Byte, 84},
    {"date", "date", Date, 71},
    {"datetime", "datetime", DateTime, 71},
}};

}  // namespace

std::span<const NamedFormat> NamedFormats() { return kFormats; }

const NamedFormat* FindNamedFormat(std::string_view key) {
  const auto found = std::ranges::find(kFormats, key, &NamedFormat::key);
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace drachma::cel
