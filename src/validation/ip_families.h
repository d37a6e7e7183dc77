#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// Which of the two kinds an address is; none when it is no address.
enum class IpFamily : std::uint8_t { kNone, kV4, kV6 };
// Of "10.9.8.7" or "2001:db8::1", leading zeros allowed (k8s.io/utils/net's ParseIPSloppy).
[[nodiscard]] IpFamily FamilyOfIp(std::string_view text);

// A network in CIDR form as older fields take it.
struct Cidr {
  IpFamily family = IpFamily::kNone;
  std::string fault;  // empty: good; a family may be known all the same
};
[[nodiscard]] Cidr ReadCidr(std::string_view text);

// What is wrong with the families of a list: of more than one `noun` ("IP", "CIDR") there is at
// most one of each. `unread` says why the first that has no family has none; empty when all have
// one.
[[nodiscard]] ErrorList ValidateDualStack(const std::vector<IpFamily>& families,
                                          const std::string& unread, const json::Value& list,
                                          const std::string& path, std::string_view noun);

}  // namespace drachma::validation
