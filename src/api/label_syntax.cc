#include "api/label_syntax.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::api {

namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kSubdomainMax = 253;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlnum(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || IsDigit(c); }

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool IsName(std::string_view text) {
  return !text.empty() && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?(\.…)*
bool IsSubdomain(std::string_view text) {
  const auto edge = [](char c) { return IsLower(c) || IsDigit(c); };
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !edge(part.front()) || !edge(part.back())) return false;
    if (!std::ranges::all_of(part, [&](char c) { return edge(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr std::string_view kNameFault =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

}  // namespace

std::vector<std::string> LabelKeyFaults(std::string_view key) {
  std::vector<std::string> faults;
  if (std::ranges::count(key, '/') > 1) {
    faults.push_back(
        fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
                    "'example.com/MyName')",
                    kNameFault));
    return faults;
  }
  std::string_view name = key;
  if (const std::size_t slash = key.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) {
      faults.emplace_back("prefix part must be non-empty");
    } else {
      if (prefix.size() > kSubdomainMax) {
        faults.push_back(fmt::format("prefix part must be no more than {} bytes", kSubdomainMax));
      }
      if (!IsSubdomain(prefix)) {
        faults.emplace_back(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
      }
    }
  }
  if (name.empty()) {
    faults.emplace_back("name part must be non-empty");
  } else if (name.size() > kNameMax) {
    faults.push_back(fmt::format("name part must be no more than {} bytes", kNameMax));
  }
  if (!IsName(name)) faults.push_back(fmt::format("name part {}", kNameFault));
  return faults;
}

std::vector<std::string> LabelValueFaults(std::string_view value) {
  std::vector<std::string> faults;
  if (value.size() > kNameMax) {
    faults.push_back(fmt::format("must be no more than {} bytes", kNameMax));
  }
  if (!value.empty() && !IsName(value)) {
    faults.emplace_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  }
  return faults;
}

}  // namespace drachma::api
