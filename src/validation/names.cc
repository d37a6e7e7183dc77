#include "validation/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "validation/ip_families.h"

namespace drachma::validation {
namespace {

constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSubdomainMax = 253;

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainPattern =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character";
constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character";
constexpr std::string_view kCaselessWords =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character";
constexpr std::string_view kKeyPattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kKeyWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character";

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlnum(char c) { return IsLower(c) || IsUpper(c) || IsDigit(c); }
bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }

std::string Characters(std::size_t max) {
  return fmt::format("must be no more than {} characters", max);
}
std::string Bytes(std::size_t max) { return fmt::format("must be no more than {} bytes", max); }

// RegexError of upstream: the words, examples and the pattern.
std::string Pattern(std::string_view words, std::string_view pattern,
                    std::initializer_list<std::string_view> examples) {
  std::string out(words);
  if (examples.size() == 0)
    return out + fmt::format(" (regex used for validation is '{}')", pattern);
  out += " (e.g. ";
  bool first = true;
  for (const std::string_view example : examples) {
    if (!first) out += " or ";
    first = false;
    out += fmt::format("'{}', ", example);
  }
  return out + fmt::format("regex used for validation is '{}')", pattern);
}

bool MatchesLabel(std::string_view text) {
  return !text.empty() && IsLowerAlnum(text.front()) && IsLowerAlnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

bool MatchesSubdomain(std::string_view text) {
  return std::ranges::all_of(Split(text, '.'), MatchesLabel);
}

bool MatchesKeyName(std::string_view text) {
  return !text.empty() && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

Faults Label(std::string_view text, std::string too_long) {
  Faults faults;
  if (text.size() > kLabelMax) faults.push_back(std::move(too_long));
  if (!MatchesLabel(text)) {
    faults.push_back(MatchesSubdomain(text)
                         ? "must not contain dots"
                         : Pattern(kLabelWords, kLabelPattern, {"my-name", "123-abc"}));
  }
  return faults;
}

Faults Subdomain(std::string_view text, std::string too_long) {
  Faults faults;
  if (text.size() > kSubdomainMax) faults.push_back(std::move(too_long));
  if (!MatchesSubdomain(text)) {
    faults.push_back(Pattern(kSubdomainWords, kSubdomainPattern, {"example.com"}));
  }
  return faults;
}

Faults DotsFault(std::string_view text) {
  if (text == ".") return {"must not be '.'"};
  if (text == "..") return {"must not be '..'"};
  if (text.starts_with("..")) return {"must not start with '..'"};
  return {};
}

std::string MaskTrailingDash(std::string_view name, NamePart part) {
  if (part == NamePart::kPrefix && name.size() > 1 && name.ends_with('-')) {
    return std::string(name.substr(0, name.size() - 2)) + "a";
  }
  return std::string(name);
}

// An address as Go's ParseIPSloppy reads it (leading zeros in IPv4 are decimal), canonical form.
struct Ip {
  bool v4 = false;        // also of IPv4-mapped IPv6 addresses, as net.IP.To4
  bool mapped = false;    // written as IPv6
  std::string canonical;  // net.IP.String
  bool leading_zero = false;
};

std::optional<Ip> ParseIpv4(std::string_view text) {
  const auto parts = Split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  Ip ip{.v4 = true};
  for (const std::string_view part : parts) {
    if (part.empty() || !std::ranges::all_of(part, IsDigit)) return std::nullopt;
    if (part.size() > 1 && part.front() == '0') ip.leading_zero = true;
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || value > 255) return std::nullopt;
    if (!ip.canonical.empty()) ip.canonical += '.';
    ip.canonical += std::to_string(value);
  }
  return ip;
}

std::optional<Ip> ParseIp(std::string_view text) {
  if (!text.contains(':')) return ParseIpv4(text);
  std::array<unsigned char, 16> bytes = {};
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  Ip ip;
  static constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  if (std::ranges::equal(std::span(bytes).first(12), kMapped)) {
    ip.v4 = true;
    ip.mapped = true;
    ip.canonical = fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
    return ip;
  }
  std::array<char, INET6_ADDRSTRLEN> out = {};
  inet_ntop(AF_INET6, bytes.data(), out.data(), out.size());
  ip.canonical = out.data();
  // inet_ntop writes IPv4-compatible addresses with dots, Go does not; both are out of use.
  return ip;
}

// Whether any bit behind the first `bits` is set.
bool HasBitsFrom(const Ip& ip, std::size_t bits) {
  std::array<unsigned char, 16> bytes = {};
  const std::size_t size = ip.v4 ? 32 : 128;
  if (inet_pton(ip.v4 ? AF_INET : AF_INET6, ip.canonical.c_str(), bytes.data()) != 1) return false;
  for (std::size_t bit = bits; bit < size; ++bit) {
    if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string AsciiLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (IsUpper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::size_t RuneCount(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

Faults IsDns1123Label(std::string_view text) { return Label(text, Characters(kLabelMax)); }
Faults IsShortName(std::string_view text) { return Label(text, Bytes(kLabelMax)); }
Faults IsDns1123Subdomain(std::string_view text) {
  return Subdomain(text, Characters(kSubdomainMax));
}
Faults IsLongName(std::string_view text) { return Subdomain(text, Bytes(kSubdomainMax)); }

Faults IsLongNameCaseless(std::string_view text) {
  Faults faults;
  if (text.size() > kSubdomainMax) faults.push_back(Bytes(kSubdomainMax));
  if (!MatchesSubdomain(AsciiLower(text))) {
    faults.push_back(Pattern(kCaselessWords, kSubdomainPattern, {"Example.com"}));
  }
  return faults;
}

Faults IsDns1035Label(std::string_view text) {
  Faults faults;
  if (text.size() > kLabelMax) faults.push_back(Characters(kLabelMax));
  if (!MatchesLabel(text) || !IsLower(text.front())) {
    faults.push_back(Pattern(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return faults;
}

Faults IsLabelKey(std::string_view text) {
  const auto parts = Split(text, '/');
  if (parts.size() > 2) {
    return {"a valid label key " +
            Pattern(kKeyWords, kKeyPattern, {"MyName", "my.name", "123-abc"}) +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  Faults faults;
  if (parts.size() == 2) {
    if (parts[0].empty()) faults.emplace_back("prefix part must be non-empty");
    if (!parts[0].empty()) {
      for (const std::string& fault : IsLongName(parts[0]))
        faults.push_back("prefix part " + fault);
    }
  }
  const std::string_view name = parts.back();
  if (name.empty()) {
    faults.emplace_back("name part must be non-empty");
  } else if (name.size() > kLabelMax) {
    faults.push_back("name part " + Bytes(kLabelMax));
  }
  if (!MatchesKeyName(name)) {
    faults.push_back("name part " +
                     Pattern(kKeyWords, kKeyPattern, {"MyName", "my.name", "123-abc"}));
  }
  return faults;
}

Faults IsLabelValue(std::string_view text) {
  Faults faults;
  if (text.size() > kLabelMax) faults.push_back(Bytes(kLabelMax));
  if (!text.empty() && !MatchesKeyName(text)) {
    faults.push_back(Pattern(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", {"MyValue", "my_value", "12345"}));
  }
  return faults;
}

Faults IsCIdentifier(std::string_view text) {
  const auto part = [](char c) { return IsAlnum(c) || c == '_'; };
  if (!text.empty() && !IsDigit(text.front()) && std::ranges::all_of(text, part)) return {};
  return {Pattern(
      "a valid C identifier must start with alphabetic character or '_', followed by a string of "
      "alphanumeric characters or '_'",
      "[A-Za-z_][A-Za-z0-9_]*", {"my_name", "MY_NAME", "MyName"})};
}

Faults IsPathSegmentPrefix(std::string_view text) {
  Faults faults;
  for (const char c : {'/', '%'}) {
    if (text.contains(c)) faults.push_back(fmt::format("may not contain '{}'", c));
  }
  return faults;
}

Faults IsPathSegmentName(std::string_view text) {
  if (text == "." || text == "..") return {fmt::format("may not be '{}'", text)};
  return IsPathSegmentPrefix(text);
}

Faults IsPortNumber(std::int64_t port) {
  if (port >= 1 && port <= 65535) return {};
  return {"must be between 1 and 65535, inclusive"};
}

Faults IsPortName(std::string_view text) {
  Faults faults;
  if (text.size() > 15) faults.push_back(Characters(15));
  if (text.empty() ||
      !std::ranges::all_of(text, [](char c) { return IsLowerAlnum(c) || c == '-'; })) {
    faults.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::ranges::none_of(text, IsLower)) {
    faults.emplace_back("must contain at least one letter (a-z)");
  }
  if (text.contains("--")) faults.emplace_back("must not contain consecutive hyphens");
  if (!text.empty() && (text.front() == '-' || text.back() == '-')) {
    faults.emplace_back("must not begin or end with a hyphen");
  }
  return faults;
}

Faults IsEnvVarName(std::string_view text) {
  const auto part = [](char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_'; };
  Faults faults;
  if (text.empty() || IsDigit(text.front()) || !std::ranges::all_of(text, part)) {
    faults.push_back(
        Pattern("a valid environment variable name must consist of alphabetic characters, digits, "
                "'_', '-', or '.', and must not start with a digit",
                "[-._a-zA-Z][-._a-zA-Z0-9]*", {"my.env-name", "MY_ENV.NAME", "MyEnvName1"}));
  }
  std::ranges::move(DotsFault(text), std::back_inserter(faults));
  return faults;
}

Faults IsRelaxedEnvVarName(std::string_view text) {
  if (text.empty()) return {"environment variable name must be non-empty"};
  const auto bad = [](char c) { return c < 0x20 || c >= 0x7F || c == '='; };
  if (std::ranges::none_of(text, bad)) return {};
  return {
      "a valid environment variable name must consist only of printable ASCII characters other "
      "than '='"};
}

Faults IsConfigMapKey(std::string_view text) {
  const auto part = [](char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_'; };
  Faults faults;
  if (text.size() > kSubdomainMax) faults.push_back(Characters(kSubdomainMax));
  if (text.empty() || !std::ranges::all_of(text, part)) {
    faults.push_back(
        Pattern("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  }
  std::ranges::move(DotsFault(text), std::back_inserter(faults));
  return faults;
}

Faults IsHttpHeaderName(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, [](char c) { return IsAlnum(c) || c == '-'; })) {
    return {};
  }
  return {Pattern("a valid HTTP header must consist of alphanumeric characters or '-'",
                  "[-A-Za-z0-9]+", {"X-Header-Name"})};
}

Faults IsPercent(std::string_view text) {
  if (text.size() > 1 && text.back() == '%' &&
      std::ranges::all_of(text.substr(0, text.size() - 1), IsDigit)) {
    return {};
  }
  return {Pattern("a valid percent string must be a numeric string followed by an ending '%'",
                  "[0-9]+%", {"1%", "93%"})};
}

Faults NameIsDnsSubdomain(std::string_view name, NamePart part) {
  return IsDns1123Subdomain(MaskTrailingDash(name, part));
}
Faults NameIsDnsLabel(std::string_view name, NamePart part) {
  return IsDns1123Label(MaskTrailingDash(name, part));
}
Faults NameIsDns1035Label(std::string_view name, NamePart part) {
  return IsDns1035Label(MaskTrailingDash(name, part));
}
Faults NameIsPathSegment(std::string_view name, NamePart part) {
  return part == NamePart::kPrefix ? IsPathSegmentPrefix(name) : IsPathSegmentName(name);
}

ErrorList InvalidEach(std::string_view path, std::string_view text, const Faults& faults,
                      std::string_view origin) {
  ErrorList errors;
  for (const std::string& fault : faults) {
    errors.push_back(Invalid(std::string(path), ShownText(text), fault));
    errors.back().origin = origin;
  }
  return errors;
}

bool IsNativeResource(std::string_view name) {
  return !name.contains('/') || name.contains("kubernetes.io/");
}

bool IsExtendedResourceName(std::string_view name) {
  if (IsNativeResource(name) || name.starts_with("requests.")) return false;
  return IsLabelKey("requests." + std::string(name)).empty();
}

bool IsHugePageResourceName(std::string_view name) { return name.starts_with("hugepages-"); }

bool IsStandardQuotaName(std::string_view name) {
  static constexpr std::array<std::string_view, 19> kStandard = {"cpu",
                                                                 "memory",
                                                                 "ephemeral-storage",
                                                                 "requests.cpu",
                                                                 "requests.memory",
                                                                 "requests.storage",
                                                                 "requests.ephemeral-storage",
                                                                 "limits.cpu",
                                                                 "limits.memory",
                                                                 "limits.ephemeral-storage",
                                                                 "pods",
                                                                 "resourcequotas",
                                                                 "services",
                                                                 "replicationcontrollers",
                                                                 "secrets",
                                                                 "persistentvolumeclaims",
                                                                 "configmaps",
                                                                 "services.nodeports",
                                                                 "services.loadbalancers"};
  return std::ranges::find(kStandard, name) != kStandard.end() || IsHugePageResourceName(name) ||
         name.starts_with("requests.hugepages-");
}

std::string IpFault(std::string_view text) {
  const auto ip = ParseIp(text);
  if (!ip) return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  if (ip->leading_zero) return "must not have leading 0s";
  if (ip->mapped) return "must not be an IPv4-mapped IPv6 address";
  if (text != ip->canonical)
    return fmt::format("must be in canonical form (\"{}\")", ip->canonical);
  return {};
}

std::string InterfaceAddressFault(std::string_view text) {
  static constexpr std::string_view kForm =
      "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::string(kForm);
  const std::string_view prefix = text.substr(slash + 1);
  const auto ip = ParseIp(text.substr(0, slash));
  if (!ip || prefix.empty() || !std::ranges::all_of(prefix, IsDigit)) return std::string(kForm);
  int bits = 0;
  const auto parsed = std::from_chars(prefix.data(), prefix.data() + prefix.size(), bits);
  const bool written_as_v6 = !ip->v4 || ip->mapped;
  if (parsed.ec != std::errc() || bits > (written_as_v6 ? 128 : 32)) return std::string(kForm);
  if (ip->mapped && bits > 32) bits -= 96;
  const std::string canonical = fmt::format("{}/{}", ip->canonical, bits);
  if (text != canonical) return fmt::format("must be in canonical form (\"{}\")", canonical);
  return {};
}

IpFamily FamilyOfIp(std::string_view text) {
  const auto ip = ParseIp(text);
  if (!ip) return IpFamily::kNone;
  return ip->v4 ? IpFamily::kV4 : IpFamily::kV6;
}

Cidr ReadCidr(std::string_view text) {
  const Cidr none{.fault = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return none;
  const std::string_view prefix = text.substr(slash + 1);
  const auto ip = ParseIp(text.substr(0, slash));
  if (!ip || prefix.empty() || !std::ranges::all_of(prefix, IsDigit)) return none;
  std::size_t bits = 0;
  const auto parsed = std::from_chars(prefix.data(), prefix.data() + prefix.size(), bits);
  const bool written_as_v6 = !ip->v4 || ip->mapped;
  if (parsed.ec != std::errc() || bits > (written_as_v6 ? 128U : 32U)) return none;
  Cidr cidr{.family = written_as_v6 ? IpFamily::kV6 : IpFamily::kV4, .fault = {}};
  if (ip->leading_zero || (prefix.size() > 1 && prefix.front() == '0')) {
    cidr.fault = "must not have leading 0s in IP or prefix length";
  } else if (ip->mapped) {
    cidr.fault = "must not have an IPv4-mapped IPv6 address";
  } else if (HasBitsFrom(*ip, bits)) {
    cidr.fault = "must not have bits set beyond the prefix length";
  }
  return cidr;
}

ErrorList ValidateDualStack(const std::vector<IpFamily>& families, const std::string& unread,
                            const json::Value& list, const std::string& path,
                            std::string_view noun) {
  if (families.size() < 2) return {};
  ErrorList errors;
  if (!unread.empty()) errors.push_back(InternalError(path, unread));
  const bool dual = std::ranges::find(families, IpFamily::kV4) != families.end() &&
                    std::ranges::find(families, IpFamily::kV6) != families.end();
  if (!unread.empty() || !dual || families.size() > 2) {
    errors.push_back(
        Invalid(path, Shown(list),
                fmt::format("may specify no more than one {} for each IP family", noun)));
  }
  return errors;
}

}  // namespace drachma::validation
