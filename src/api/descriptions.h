#pragma once

#include <string>
#include <string_view>

#include "api/types.h"

namespace drachma::api {

// What `kubectl explain` tells about a struct; our own words. Never empty.
[[nodiscard]] std::string DescriptionOf(const TypeInfo& type);
// What it tells about a field; "" where we have no words.
[[nodiscard]] std::string_view DescriptionOf(const TypeInfo& type, std::string_view field);

}  // namespace drachma::api
