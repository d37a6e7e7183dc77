#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::lint {

// How a manifest spells flow style: {name: c}, {"name": "c"}, {"name":"c"}.
enum class FlowStyle : std::uint8_t { kPlain, kJson, kCompactJson };

// `value` in one line.
[[nodiscard]] std::string WriteFlow(const json::Value& value, FlowStyle style);
// "key: value".
[[nodiscard]] std::string WriteFlowMember(std::string_view key, const json::Value& value,
                                          FlowStyle style);
// Between items.
[[nodiscard]] std::string Comma(FlowStyle style);

}  // namespace drachma::lint
