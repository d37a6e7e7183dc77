#include "cel/ext/ip_address.h"

#include <algorithm>
#include <charconv>

#include "cel/eval/format.h"

namespace drachma::cel {
namespace {

using Parsed = std::expected<IpAddress, std::string>;

// The error of a text, with the rest of it that could not be read.
std::unexpected<std::string> Wrong(std::string_view text, std::string_view what,
                                   std::string_view at = {}) {
  std::string message = "ParseAddr(" + QuoteGo(text) + "): " + std::string(what);
  if (!at.empty()) message += " (at " + QuoteGo(at) + ")";
  return std::unexpected(message);
}

std::expected<void, std::string> ReadV4(std::string_view text, std::string_view fields,
                                        std::uint8_t* out) {
  int value = 0;
  int field = 0;
  int digits = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const char c = fields[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) {
        return Wrong(text, "IPv4 field has octet with leading zero");
      }
      value = value * 10 + (c - '0');
      ++digits;
      if (value > 255) return Wrong(text, "IPv4 field has value >255");
    } else if (c == '.') {
      if (i == 0 || i + 1 == fields.size() || fields[i - 1] == '.') {
        return Wrong(text, "IPv4 field must have at least one digit", fields.substr(i));
      }
      if (field == 3) return Wrong(text, "IPv4 address too long");
      out[field++] = static_cast<std::uint8_t>(value);
      value = 0;
      digits = 0;
    } else {
      return Wrong(text, "unexpected character", fields.substr(i));
    }
  }
  if (field < 3) return Wrong(text, "IPv4 address too short");
  out[3] = static_cast<std::uint8_t>(value);
  return {};
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Parsed ReadV6(std::string_view text) {
  IpAddress address;
  std::string_view rest = text;
  if (const std::size_t percent = rest.find('%'); percent != std::string_view::npos) {
    address.zone = rest.substr(percent + 1);
    rest = rest.substr(0, percent);
    if (address.zone.empty()) return Wrong(text, "zone must be a non-empty string");
  }
  const std::string_view whole = rest;
  int ellipsis = -1;
  if (rest.starts_with("::")) {
    ellipsis = 0;
    rest.remove_prefix(2);
    if (rest.empty()) return address;
  }
  int at = 0;
  while (at < 16) {
    std::size_t size = 0;
    std::uint32_t value = 0;
    for (; size < rest.size() && HexValue(rest[size]) >= 0; ++size) {
      value = (value << 4) + static_cast<std::uint32_t>(HexValue(rest[size]));
      if (size > 3) return Wrong(text, "each group must have 4 or less digits", rest);
      if (value > 0xFFFF) return Wrong(text, "IPv6 field has value >=2^16", rest);
    }
    if (size == 0) {
      return Wrong(text, "each colon-separated field must have at least one digit", rest);
    }
    if (size < rest.size() && rest[size] == '.') {
      if (ellipsis < 0 && at != 12) {
        return Wrong(text, "embedded IPv4 address must replace the final 2 fields of the address",
                     rest);
      }
      if (at + 4 > 16) {
        return Wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address",
                     rest);
      }
      if (auto read =
              ReadV4(text, whole.substr(whole.size() - rest.size()), address.bytes.data() + at);
          !read) {
        return std::unexpected(read.error());
      }
      rest = {};
      at += 4;
      break;
    }
    address.bytes[at] = static_cast<std::uint8_t>(value >> 8);
    address.bytes[at + 1] = static_cast<std::uint8_t>(value);
    at += 2;
    rest.remove_prefix(size);
    if (rest.empty()) break;
    if (rest[0] != ':') return Wrong(text, "unexpected character, want colon", rest);
    if (rest.size() == 1) return Wrong(text, "colon must be followed by more characters", rest);
    rest.remove_prefix(1);
    if (rest[0] == ':') {
      if (ellipsis >= 0) return Wrong(text, "multiple :: in address", rest);
      ellipsis = at;
      rest.remove_prefix(1);
      if (rest.empty()) break;
    }
  }
  if (!rest.empty()) return Wrong(text, "trailing garbage after address", rest);
  if (at < 16) {
    if (ellipsis < 0) return Wrong(text, "address string too short");
    const auto begin = address.bytes.begin();
    std::copy_backward(begin + ellipsis, begin + at, address.bytes.end());
    std::fill(begin + ellipsis, begin + ellipsis + (16 - at), 0);
  } else if (ellipsis >= 0) {
    return Wrong(text, "the :: must expand to at least one field of zeros");
  }
  return address;
}

// An IPv4 address in IPv6's clothes, undressed.
IpAddress Unmap(const IpAddress& address) {
  if (!address.Is4In6()) return address;
  IpAddress plain{.v4 = true};
  std::copy(address.bytes.begin() + 12, address.bytes.end(), plain.bytes.begin());
  return plain;
}

}  // namespace

std::expected<IpAddress, std::string> IpAddress::Parse(std::string_view text) {
  for (const char c : text) {
    if (c == '.') {
      IpAddress address{.v4 = true};
      if (auto read = ReadV4(text, text, address.bytes.data()); !read) {
        return std::unexpected(read.error());
      }
      return address;
    }
    if (c == ':') return ReadV6(text);
    if (c == '%') return Wrong(text, "missing IPv6 address");
  }
  return Wrong(text, "unable to parse IP");
}

std::string IpAddress::ToString() const {
  if (v4) {
    std::string out;
    for (int i = 0; i < 4; ++i) out += (i > 0 ? "." : "") + std::to_string(bytes[i]);
    return out;
  }
  const auto group = [this](int i) { return bytes[2 * i] << 8 | bytes[2 * i + 1]; };
  if (Is4In6()) {
    const std::string address = "::ffff:" + Unmap(*this).ToString();
    return zone.empty() ? address : address + "%" + zone;
  }
  // The first longest run of two or more zero groups becomes "::".
  int zeros_begin = 8;
  int zeros_end = 8;
  for (int i = 0; i < 8; ++i) {
    int j = i;
    while (j < 8 && group(j) == 0) ++j;
    if (j - i >= 2 && j - i > zeros_end - zeros_begin) {
      zeros_begin = i;
      zeros_end = j;
    }
  }
  std::string out;
  for (int i = 0; i < 8; ++i) {
    if (i == zeros_begin) {
      out += "::";
      i = zeros_end;
      if (i >= 8) break;
    } else if (i > 0) {
      out += ':';
    }
    std::array<char, 4> hex;
    const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), group(i), 16);
    out.append(hex.data(), end.ptr);
  }
  if (!zone.empty()) out += "%" + zone;
  return out;
}

bool IpAddress::Is4In6() const {
  return !v4 && std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         bytes[10] == 0xFF && bytes[11] == 0xFF;
}
bool IpAddress::IsUnspecified() const {
  return zone.empty() && std::ranges::all_of(bytes, [](auto b) { return b == 0; });
}
bool IpAddress::IsLoopback() const {
  const IpAddress plain = Unmap(*this);
  if (plain.v4) return plain.bytes[0] == 127;
  return std::all_of(plain.bytes.begin(), plain.bytes.end() - 1, [](auto b) { return b == 0; }) &&
         plain.bytes[15] == 1;
}
bool IpAddress::IsMulticast() const {
  const IpAddress plain = Unmap(*this);
  return plain.v4 ? (plain.bytes[0] & 0xF0) == 0xE0 : plain.bytes[0] == 0xFF;
}
bool IpAddress::IsLinkLocalMulticast() const {
  const IpAddress plain = Unmap(*this);
  if (plain.v4) return plain.bytes[0] == 224 && plain.bytes[1] == 0 && plain.bytes[2] == 0;
  return plain.bytes[0] == 0xFF && (plain.bytes[1] & 0x0F) == 0x02;
}
bool IpAddress::IsLinkLocalUnicast() const {
  const IpAddress plain = Unmap(*this);
  if (plain.v4) return plain.bytes[0] == 169 && plain.bytes[1] == 254;
  return plain.bytes[0] == 0xFE && (plain.bytes[1] & 0xC0) == 0x80;
}
bool IpAddress::IsGlobalUnicast() const {
  const IpAddress plain = Unmap(*this);
  const bool broadcast = plain.v4 && std::all_of(plain.bytes.begin(), plain.bytes.begin() + 4,
                                                 [](auto b) { return b == 255; });
  return !broadcast && !plain.IsUnspecified() && !plain.IsLoopback() && !plain.IsMulticast() &&
         !plain.IsLinkLocalUnicast();
}

std::expected<IpPrefix, std::string> IpPrefix::Parse(std::string_view text) {
  const auto wrong = [text](const std::string& what) {
    return std::unexpected("netip.ParsePrefix(" + QuoteGo(text) + "): " + what);
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return wrong("no '/'");
  const auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return wrong(address.error());
  if (!address->zone.empty()) return wrong("IPv6 zones cannot be present in a prefix");
  const std::string_view digits = text.substr(slash + 1);
  const auto bits = ParseInt(digits);
  if (!bits || (digits.size() > 1 && (digits[0] < '1' || digits[0] > '9'))) {
    return wrong("bad bits after slash: " + QuoteGo(digits));
  }
  if (*bits < 0 || *bits > address->bit_count()) return wrong("prefix length out of range");
  return IpPrefix{.address = *address, .bits = static_cast<int>(*bits)};
}

std::string IpPrefix::ToString() const { return address.ToString() + "/" + std::to_string(bits); }

IpPrefix IpPrefix::Masked() const {
  IpPrefix masked = *this;
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    masked.address.bytes[i] &= static_cast<std::uint8_t>(0xFF00 >> kept);
  }
  return masked;
}

bool IpPrefix::Contains(const IpAddress& other) const {
  if (!other.zone.empty() || other.v4 != address.v4) return false;
  return IpPrefix{.address = other, .bits = bits}.Masked().address == Masked().address;
}

bool IpPrefix::Overlaps(const IpPrefix& other) const {
  if (address.v4 != other.address.v4) return false;
  const int common = std::min(bits, other.bits);
  return IpPrefix{.address = address, .bits = common}.Masked() ==
         IpPrefix{.address = other.address, .bits = common}.Masked();
}

}  // namespace drachma::cel
