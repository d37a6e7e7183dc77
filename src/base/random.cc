#include "base/random.h"

#include <fmt/format.h>

#include <string_view>

namespace drachma {

Random Random::FromSystem() {
  std::random_device device;
  return Random((static_cast<std::uint64_t>(device()) << 32U) | device());
}

std::string Random::Uuid() {
  constexpr std::uint64_t kVersion4 = 0x4000;
  constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000;
  const std::uint64_t high = (Next() & ~std::uint64_t{0xF000}) | kVersion4;
  const std::uint64_t low = (Next() & ~(std::uint64_t{3} << 62U)) | kVariant;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFF,
                     high & 0xFFFF, low >> 48U, low & 0xFFFF'FFFF'FFFF);
}

std::string Random::NameSuffix(int length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < length; ++i) suffix += kAlphabet[Below(kAlphabet.size())];
  return suffix;
}

}  // namespace drachma
