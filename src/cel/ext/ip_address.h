#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace drachma::cel {

// An address as Go's netip.Addr: 4 or 16 bytes.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // IPv4 in the first four
  bool v4 = false;
  std::string zone;

  // netip.ParseAddr, with its texts ("ParseAddr("x"): unable to parse IP").
  [[nodiscard]] static std::expected<IpAddress, std::string> Parse(std::string_view text);
  [[nodiscard]] std::string ToString() const;
  [[nodiscard]] int bit_count() const { return v4 ? 32 : 128; }
  [[nodiscard]] bool Is4In6() const;
  [[nodiscard]] bool IsUnspecified() const;
  [[nodiscard]] bool IsLoopback() const;
  [[nodiscard]] bool IsMulticast() const;
  [[nodiscard]] bool IsLinkLocalMulticast() const;
  [[nodiscard]] bool IsLinkLocalUnicast() const;
  [[nodiscard]] bool IsGlobalUnicast() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// A range as Go's netip.Prefix.
struct IpPrefix {
  IpAddress address;
  int bits = 0;

  // netip.ParsePrefix.
  [[nodiscard]] static std::expected<IpPrefix, std::string> Parse(std::string_view text);
  [[nodiscard]] std::string ToString() const;
  // The address with the bits behind the prefix cleared.
  [[nodiscard]] IpPrefix Masked() const;
  [[nodiscard]] bool Contains(const IpAddress& other) const;
  [[nodiscard]] bool Overlaps(const IpPrefix& other) const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
};

}  // namespace drachma::cel
