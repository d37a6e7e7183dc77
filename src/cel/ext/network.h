#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "cel/ext/ip_address.h"

namespace drachma::cel {

// What ip() and cidr() take, with their texts for what they do not.
[[nodiscard]] std::expected<IpAddress, std::string> ReadIpAddress(std::string_view text);
[[nodiscard]] std::expected<IpPrefix, std::string> ReadIpPrefix(std::string_view text);

}  // namespace drachma::cel
