#include "cel/ext/network.h"

#include <array>
#include <string>

#include "cel/eval/format.h"
#include "cel/ext/library.h"

// IP addresses and ranges: cel-go's ext.Network and Kubernetes' ip and cidr libraries, which differ
// in a few texts and in what comparing with other kinds gives.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

enum class Flavor : std::uint8_t { kCelGo, kKubernetes };

struct IpData : OpaqueData {
  IpAddress address;
};
struct CidrData : OpaqueData {
  IpPrefix prefix;
};

std::uint64_t BytesFor(int bits) { return static_cast<std::uint64_t>(bits + 7) / 8; }

Value Different(Flavor flavor, const Value& other) {
  if (flavor == Flavor::kCelGo) return Value::Bool(false);
  return other.IsError() ? other : NoSuchOverload();
}

template <Flavor kFlavor>
class IpClass final : public OpaqueClass {
 public:
  static const IpClass kInstance;
  std::string_view name() const override { return "net.IP"; }
  std::string_view GoName(const OpaqueData&) const override { return "cel.IP"; }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type != this) {
      return Different(kFlavor, other);
    }
    return Value::Bool(static_cast<const IpData&>(self).address ==
                       static_cast<const IpData&>(other.AsOpaque()).address);
  }
  std::uint64_t Size(const OpaqueData& self) const override {
    if (kFlavor == Flavor::kCelGo) return 1;
    return BytesFor(static_cast<const IpData&>(self).address.bit_count());
  }
  std::string ToString(const OpaqueData& self) const override {
    return static_cast<const IpData&>(self).address.ToString();
  }
};
template <Flavor kFlavor>
const IpClass<kFlavor> IpClass<kFlavor>::kInstance;

template <Flavor kFlavor>
class CidrClass final : public OpaqueClass {
 public:
  static const CidrClass kInstance;
  std::string_view name() const override { return "net.CIDR"; }
  std::string_view GoName(const OpaqueData&) const override { return "cel.CIDR"; }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type != this) {
      return Different(kFlavor, other);
    }
    return Value::Bool(static_cast<const CidrData&>(self).prefix ==
                       static_cast<const CidrData&>(other.AsOpaque()).prefix);
  }
  std::uint64_t Size(const OpaqueData& self) const override {
    if (kFlavor == Flavor::kCelGo) return 1;
    return BytesFor(static_cast<const CidrData&>(self).prefix.bits);
  }
  std::string ToString(const OpaqueData& self) const override {
    return static_cast<const CidrData&>(self).prefix.ToString();
  }
};
template <Flavor kFlavor>
const CidrClass<kFlavor> CidrClass<kFlavor>::kInstance;

const IpAddress& AddressOf(const Value& value) {
  return static_cast<const IpData&>(value.AsOpaque()).address;
}
const IpPrefix& PrefixOf(const Value& value) {
  return static_cast<const CidrData&>(value.AsOpaque()).prefix;
}

template <Flavor kFlavor>
Value MakeIp(Arena& arena, IpAddress address) {
  IpData* data = arena.Own<IpData>();
  data->type = &IpClass<kFlavor>::kInstance;
  data->address = std::move(address);
  return Value::Opaque(data);
}
template <Flavor kFlavor>
Value MakeCidr(Arena& arena, IpPrefix prefix) {
  CidrData* data = arena.Own<CidrData>();
  data->type = &CidrClass<kFlavor>::kInstance;
  data->prefix = std::move(prefix);
  return Value::Opaque(data);
}

std::expected<IpPrefix, std::string> ReadCidr(std::string_view text, Flavor flavor) {
  auto prefix = IpPrefix::Parse(text);
  if (!prefix) {
    return std::unexpected(flavor == Flavor::kCelGo
                               ? "CIDR " + QuoteGo(text) +
                                     " parse error during conversion from string: " + prefix.error()
                               : "network address parse error during conversion from string: " +
                                     prefix.error());
  }
  if (prefix->address.Is4In6()) {
    return std::unexpected("IPv4-mapped IPv6 address " + QuoteGo(text) + " is not allowed");
  }
  return prefix;
}

template <Flavor kFlavor>
Value ToIp(Arena& arena, Args args) {
  auto address = ReadIpAddress(args[0].AsText());
  if (!address) return MakeError(arena, address.error());
  return MakeIp<kFlavor>(arena, *std::move(address));
}

template <Flavor kFlavor>
Value ToCidr(Arena& arena, Args args) {
  auto prefix = ReadCidr(args[0].AsText(), kFlavor);
  if (!prefix) {
    const bool doubled = kFlavor == Flavor::kKubernetes;
    return MakeError(arena, (doubled ? "network address parse error during conversion from "
                                       "string: "
                                     : "") +
                                prefix.error());
  }
  return MakeCidr<kFlavor>(arena, *std::move(prefix));
}

Value OpaqueToString(Arena& arena, Args args) {
  return MakeString(arena, args[0].AsOpaque().type->ToString(args[0].AsOpaque()));
}
Value IsIp(Arena&, Args args) { return Value::Bool(ReadIpAddress(args[0].AsText()).has_value()); }
template <Flavor kFlavor>
Value IsCidr(Arena&, Args args) {
  return Value::Bool(ReadCidr(args[0].AsText(), kFlavor).has_value());
}
Value IsCanonical(Arena& arena, Args args) {
  const auto address = ReadIpAddress(args[0].AsText());
  if (!address) return MakeError(arena, address.error());
  return Value::Bool(address->ToString() == args[0].AsText());
}
Value Family(Arena&, Args args) { return Value::Int(AddressOf(args[0]).v4 ? 4 : 6); }

using AddressTest = bool (IpAddress::*)() const;
template <AddressTest kTest>
Value TestIp(Arena&, Args args) {
  return Value::Bool((AddressOf(args[0]).*kTest)());
}

Value ContainsIp(Arena&, Args args) {
  return Value::Bool(PrefixOf(args[0]).Contains(AddressOf(args[1])));
}
template <Flavor kFlavor>
Value ContainsIpString(Arena& arena, Args args) {
  const auto address = ReadIpAddress(args[1].AsText());
  // Kubernetes loses the error on the way.
  if (!address)
    return kFlavor == Flavor::kCelGo ? MakeError(arena, address.error()) : NoSuchOverload();
  return Value::Bool(PrefixOf(args[0]).Contains(*address));
}

bool Within(const IpPrefix& outer, const IpPrefix& inner) {
  return outer.Overlaps(inner) && outer.bits <= inner.bits;
}
Value ContainsCidr(Arena&, Args args) {
  return Value::Bool(Within(PrefixOf(args[0]), PrefixOf(args[1])));
}
template <Flavor kFlavor>
Value ContainsCidrString(Arena& arena, Args args) {
  const std::array<Value, 1> text = {args[1]};
  const Value inner = ToCidr<kFlavor>(arena, text);
  if (inner.IsError()) return inner;
  return Value::Bool(Within(PrefixOf(args[0]), PrefixOf(inner)));
}
Value PrefixLength(Arena&, Args args) { return Value::Int(PrefixOf(args[0]).bits); }
Value IsMask(Arena&, Args args) {
  return Value::Bool(PrefixOf(args[0]).address == PrefixOf(args[0]).Masked().address);
}
template <Flavor kFlavor>
Value CidrIp(Arena& arena, Args args) {
  return MakeIp<kFlavor>(arena, PrefixOf(args[0]).address);
}
template <Flavor kFlavor>
Value Masked(Arena& arena, Args args) {
  return MakeCidr<kFlavor>(arena, PrefixOf(args[0]).Masked());
}

template <Flavor kFlavor>
constexpr auto kIpFunctions = std::to_array<LibraryFunction>({
    {"ip", "string_to_ip", "(string) -> net.IP", ToIp<kFlavor>},
    {"family", "ip_family", "net.IP.() -> int", Family},
    {"ip.isCanonical", "ip_is_canonical", "(string) -> bool", IsCanonical},
    {"isUnspecified", "ip_is_unspecified", "net.IP.() -> bool", TestIp<&IpAddress::IsUnspecified>},
    {"isLoopback", "ip_is_loopback", "net.IP.() -> bool", TestIp<&IpAddress::IsLoopback>},
    {"isLinkLocalMulticast", "ip_is_link_local_multicast", "net.IP.() -> bool",
     TestIp<&IpAddress::IsLinkLocalMulticast>},
    {"isLinkLocalUnicast", "ip_is_link_local_unicast", "net.IP.() -> bool",
     TestIp<&IpAddress::IsLinkLocalUnicast>},
    {"isGlobalUnicast", "ip_is_global_unicast", "net.IP.() -> bool",
     TestIp<&IpAddress::IsGlobalUnicast>},
    {"isIP", "is_ip", "(string) -> bool", IsIp},
    {"string", "ip_to_string", "(net.IP) -> string", OpaqueToString},
});

template <Flavor kFlavor>
constexpr auto kCidrFunctions = std::to_array<LibraryFunction>({
    {"cidr", "string_to_cidr", "(string) -> net.CIDR", ToCidr<kFlavor>},
    {"containsIP", "cidr_contains_ip_string", "net.CIDR.(string) -> bool",
     ContainsIpString<kFlavor>},
    {"containsIP", "cidr_contains_ip_ip", "net.CIDR.(net.IP) -> bool", ContainsIp},
    {"containsCIDR", "cidr_contains_cidr_string", "net.CIDR.(string) -> bool",
     ContainsCidrString<kFlavor>},
    {"containsCIDR", "cidr_contains_cidr", "net.CIDR.(net.CIDR) -> bool", ContainsCidr},
    {"ip", "cidr_ip", "net.CIDR.() -> net.IP", CidrIp<kFlavor>},
    {"prefixLength", "cidr_prefix_length", "net.CIDR.() -> int", PrefixLength},
    {"masked", "cidr_masked", "net.CIDR.() -> net.CIDR", Masked<kFlavor>},
    {"isCIDR", "is_cidr", "(string) -> bool", IsCidr<kFlavor>},
    {"string", "cidr_to_string", "(net.CIDR) -> string", OpaqueToString},
});

constexpr auto kIsMask = std::to_array<LibraryFunction>({
    {"isMask", "cidr_is_mask", "net.CIDR.() -> bool", IsMask},
});

void AddType(Environment& env, std::string_view name) {
  env.check.AddOpaqueName(name);
  env.check.AddTypeName(name, OpaqueType(env.check.arena(), name));
}

}  // namespace

std::expected<IpAddress, std::string> ReadIpAddress(std::string_view text) {
  auto address = IpAddress::Parse(text);
  if (!address) {
    return std::unexpected("IP Address " + QuoteGo(text) +
                           " parse error during conversion from string: " + address.error());
  }
  if (!address->zone.empty()) {
    return std::unexpected("IP address " + QuoteGo(text) + " with zone value is not allowed");
  }
  if (address->Is4In6()) {
    return std::unexpected("IPv4-mapped IPv6 address " + QuoteGo(text) + " is not allowed");
  }
  return address;
}

std::expected<IpPrefix, std::string> ReadIpPrefix(std::string_view text) {
  return ReadCidr(text, Flavor::kCelGo);
}

void AddNetwork(Environment& env) {
  AddType(env, "net.IP");
  AddType(env, "net.CIDR");
  env.Add(kIpFunctions<Flavor::kCelGo>);
  env.Add(kCidrFunctions<Flavor::kCelGo>);
  env.Add(kIsMask);
  env.validate_network = true;
}

void AddKubernetesIp(Environment& env) {
  AddType(env, "net.IP");
  env.Add(kIpFunctions<Flavor::kKubernetes>);
}

void AddKubernetesCidr(Environment& env) {
  AddType(env, "net.CIDR");
  env.Add(kCidrFunctions<Flavor::kKubernetes>);
}

}  // namespace drachma::cel
