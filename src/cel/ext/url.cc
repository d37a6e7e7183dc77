#include "cel/ext/url.h"

#include <algorithm>

#include "cel/eval/format.h"
#include "cel/ext/ip_address.h"

namespace drachma::cel {
namespace {

enum class Part : std::uint8_t { kPath, kHost, kZone, kUserPassword, kQuery, kFragment };

using Text = std::expected<std::string, std::string>;
constexpr std::size_t kQueryParametersMax = 10'000;  // Go's net/url gives up beyond

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool Among(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

bool ShouldEscape(char c, Part part) {
  if (IsAlnum(c)) return false;
  if ((part == Part::kHost || part == Part::kZone) && Among("!$&'()*+,;=:[]<>\"", c)) return false;
  if (Among("-_.~", c)) return false;
  if (Among("$&+,/:;=?@", c)) {
    switch (part) {
      case Part::kPath:
        return c == '?';
      case Part::kUserPassword:
        return Among("@/?:", c);
      case Part::kQuery:
        return true;
      case Part::kFragment:
        return false;
      default:
        break;
    }
  }
  return !(part == Part::kFragment && Among("!()*", c));
}

Text BadEscape(std::string_view text) {
  return std::unexpected("invalid URL escape " + QuoteGo(text.substr(0, 3)));
}

Text Unescape(std::string_view text, Part part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || HexValue(text[i + 1]) < 0 || HexValue(text[i + 2]) < 0) {
        return BadEscape(text.substr(i));
      }
      const std::string_view escape = text.substr(i, 3);
      if (part == Part::kHost && HexValue(text[i + 1]) < 8 && escape != "%25") {
        return BadEscape(escape);
      }
      const char value = static_cast<char>(HexValue(text[i + 1]) << 4 | HexValue(text[i + 2]));
      if (part == Part::kZone && escape != "%25" && value != ' ' &&
          ShouldEscape(value, Part::kHost)) {
        return BadEscape(escape);
      }
      out += value;
      i += 2;
    } else if (c == '+' && part == Part::kQuery) {
      out += ' ';
    } else {
      const bool host = part == Part::kHost || part == Part::kZone;
      if (host && static_cast<signed char>(c) >= 0 && ShouldEscape(c, part)) {
        return std::unexpected("invalid character " + QuoteGo(text.substr(i, 1)) + " in host name");
      }
      out += c;
    }
  }
  return out;
}

std::string Escape(std::string_view text, Part part) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (!ShouldEscape(c, part)) {
      out += c;
    } else {
      out += '%';
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

bool ValidEncoded(std::string_view text, Part part) {
  return std::ranges::all_of(
      text, [part](char c) { return Among("!$&'()*+,;=:@[]%", c) || !ShouldEscape(c, part); });
}

bool ValidPort(std::string_view port) {
  if (port.empty()) return true;
  return port[0] == ':' &&
         std::ranges::all_of(port.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

struct Cut {
  std::string_view before;
  std::string_view after;
};
Cut CutAt(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

Text InvalidPort(std::string_view port) {
  return std::unexpected("invalid port " + QuoteGo(port) + " after host");
}

Text ParseLiteralHost(std::string_view host) {
  const std::size_t close = host.rfind(']');
  if (close == std::string_view::npos) return std::unexpected("missing ']' in host");
  const std::string_view port = host.substr(close + 1);
  if (!ValidPort(port)) return InvalidPort(port);
  const std::string_view name = host.substr(1, close - 1);
  const std::size_t zone = std::min(name.find("%25"), name.size());
  Text address = Unescape(name.substr(0, zone), Part::kHost);
  if (!address) return address;
  const Text zone_text = Unescape(name.substr(zone), Part::kZone);
  if (!zone_text) return zone_text;
  *address += *zone_text;
  const auto ip = IpAddress::Parse(*address);
  if (!ip) return std::unexpected("invalid host: " + ip.error());
  if (ip->v4) return std::unexpected("invalid IP-literal");
  return "[" + *address + "]" + std::string(port);
}

Text ParseHost(std::string_view scheme, std::string_view host) {
  const std::size_t open = host.rfind('[');
  if (open == 0) return ParseLiteralHost(host);
  if (open != std::string_view::npos) return std::unexpected("invalid IP-literal");
  std::size_t colon = host.find(':');
  if (colon != std::string_view::npos) {
    if (scheme != "http" && scheme != "https") colon = host.rfind(':');
    if (!ValidPort(host.substr(colon))) return InvalidPort(host.substr(colon));
  }
  return Unescape(host, Part::kHost);
}

std::expected<void, std::string> ParseAuthority(std::string_view authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  const bool user = at != std::string_view::npos;
  const Text host = ParseHost(url.scheme, user ? authority.substr(at + 1) : authority);
  if (!host) return std::unexpected(host.error());
  url.host = *host;
  if (!user) return {};
  const std::string_view info = authority.substr(0, at);
  const bool valid = std::ranges::all_of(
      info, [](char c) { return IsAlnum(c) || Among("-._:~!$&'()*+,;=%@", c); });
  if (!valid) return std::unexpected("net/url: invalid userinfo");
  const Cut parts = CutAt(info, ':');
  const Text name = Unescape(parts.before, Part::kUserPassword);
  if (!name) return std::unexpected(name.error());
  const Text password = Unescape(parts.after, Part::kUserPassword);
  if (!password) return std::unexpected(password.error());
  url.has_user = true;
  url.user = *name;
  url.has_password = info.contains(':');
  url.password = *password;
  return {};
}

// The scheme before a colon; the rest stays in `text`.
Text TakeScheme(std::string_view& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
    if ((c >= '0' && c <= '9') || Among("+-.", c)) {
      if (i == 0) return "";
      continue;
    }
    if (c != ':') return "";
    if (i == 0) return std::unexpected("missing protocol scheme");
    std::string scheme(text.substr(0, i));
    text.remove_prefix(i + 1);
    std::ranges::transform(scheme, scheme.begin(), [](char upper) {
      return upper >= 'A' && upper <= 'Z' ? static_cast<char>(upper + 32) : upper;
    });
    return scheme;
  }
  return "";
}

enum class Via : std::uint8_t { kRequest, kReference };

std::expected<Url, std::string> ParseParts(std::string_view text, Via via) {
  const bool request = via == Via::kRequest;
  if (std::ranges::any_of(
          text, [](char c) { return (static_cast<unsigned char>(c) < ' ') || c == 0x7F; })) {
    return std::unexpected("net/url: invalid control character in URL");
  }
  if (text.empty() && request) return std::unexpected("empty url");
  Url url;
  if (text == "*") {
    url.path = "*";
    return url;
  }
  std::string_view rest = text;
  const Text scheme = TakeScheme(rest);
  if (!scheme) return std::unexpected(scheme.error());
  url.scheme = *scheme;
  if (rest.ends_with('?') && std::ranges::count(rest, '?') == 1) {
    url.force_query = true;
    rest.remove_suffix(1);
  } else {
    const Cut query = CutAt(rest, '?');
    rest = query.before;
    url.raw_query = query.after;
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return url;
    }
    if (request) return std::unexpected("invalid URI for request");
    if (CutAt(rest, '/').before.contains(':')) {
      return std::unexpected("first path segment in URL cannot contain colon");
    }
  }
  if ((!url.scheme.empty() || (!request && !rest.starts_with("///"))) && rest.starts_with("//")) {
    std::string_view authority = rest.substr(2);
    const std::size_t slash = std::min(authority.find('/'), authority.size());
    rest = authority.substr(slash);
    authority = authority.substr(0, slash);
    if (auto parsed = ParseAuthority(authority, url); !parsed) {
      return std::unexpected(parsed.error());
    }
  } else if (!url.scheme.empty() && rest.starts_with('/')) {
    url.omit_host = true;
  }
  const Text path = Unescape(rest, Part::kPath);
  if (!path) return std::unexpected(path.error());
  url.path = *path;
  if (Escape(url.path, Part::kPath) != rest) url.raw_path = rest;
  return url;
}

std::string Named(std::string_view text, const std::string& error) {
  return "parse " + QuoteGo(text) + ": " + error;
}

// Host and port of "host:port".
std::pair<std::string_view, std::string_view> SplitHost(std::string_view host) {
  std::string_view port;
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && ValidPort(host.substr(colon))) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, port};
}

std::string Reencoded(const std::string& raw, const std::string& decoded, Part part) {
  if (!raw.empty() && ValidEncoded(raw, part)) {
    const Text again = Unescape(raw, part);
    if (again && *again == decoded) return raw;
  }
  return Escape(decoded, part);
}

}  // namespace

std::expected<Url, std::string> Url::ParseRequest(std::string_view text) {
  auto url = ParseParts(text, Via::kRequest);
  if (!url) return std::unexpected(Named(text, url.error()));
  return url;
}

std::expected<Url, std::string> Url::Parse(std::string_view text) {
  if (auto request = ParseRequest(text); !request) return request;
  return ParseReference(text);
}

std::expected<Url, std::string> Url::ParseReference(std::string_view text) {
  const Cut parts = CutAt(text, '#');
  auto url = ParseParts(parts.before, Via::kReference);
  if (!url) return std::unexpected(Named(parts.before, url.error()));
  if (parts.after.empty()) return url;
  const Text fragment = Unescape(parts.after, Part::kFragment);
  if (!fragment) return std::unexpected(Named(text, fragment.error()));
  url->fragment = *fragment;
  if (Escape(url->fragment, Part::kFragment) != parts.after) url->raw_fragment = parts.after;
  return url;
}

std::string Url::Hostname() const { return std::string(SplitHost(host).first); }
std::string Url::Port() const { return std::string(SplitHost(host).second); }

std::string Url::EscapedPath() const {
  if (raw_path.empty() && path == "*") return "*";
  return Reencoded(raw_path, path, Part::kPath);
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::Query() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> query;
  if (static_cast<std::size_t>(std::ranges::count(raw_query, '&')) + 1 > kQueryParametersMax) {
    return query;
  }
  for (std::string_view rest = raw_query; !rest.empty();) {
    const Cut parts = CutAt(rest, '&');
    rest = parts.after;
    if (parts.before.empty() || parts.before.contains(';')) continue;
    const Cut pair = CutAt(parts.before, '=');
    const Text key = Unescape(pair.before, Part::kQuery);
    const Text value = Unescape(pair.after, Part::kQuery);
    if (!key || !value) continue;
    const auto known =
        std::ranges::find(query, *key, &std::pair<std::string, std::vector<std::string>>::first);
    if (known != query.end()) {
      known->second.push_back(*value);
    } else {
      query.push_back({*key, {*value}});
    }
  }
  return query;
}

std::string Url::ToString() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (!opaque.empty()) {
    out += opaque;
  } else {
    const bool authority = !scheme.empty() || !host.empty() || has_user;
    if (authority && !(omit_host && host.empty() && !has_user)) {
      if (!host.empty() || !path.empty() || has_user) out += "//";
      if (has_user) {
        out += Escape(user, Part::kUserPassword);
        if (has_password) out += ":" + Escape(password, Part::kUserPassword);
        out += '@';
      }
      out += Escape(host, Part::kHost);
    }
    const std::string escaped = EscapedPath();
    if (!escaped.empty() && escaped[0] != '/' && !host.empty()) out += '/';
    if (out.empty() && CutAt(escaped, '/').before.contains(':')) out += "./";
    out += escaped;
  }
  if (force_query || !raw_query.empty()) out += "?" + raw_query;
  if (!fragment.empty()) out += "#" + Reencoded(raw_fragment, fragment, Part::kFragment);
  return out;
}

}  // namespace drachma::cel
