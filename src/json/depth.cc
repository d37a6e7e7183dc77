#include "json/depth.h"

#include <algorithm>

namespace drachma::json {

bool NestsDeeperThan(const Value& value, std::size_t levels) {
  if (!value.IsArray() && !value.IsObject()) return false;
  if (levels == 0) return true;
  return std::ranges::any_of(
             value.Items(), [&](const Value& item) { return NestsDeeperThan(item, levels - 1); }) ||
         std::ranges::any_of(value.Members(), [&](const Member& member) {
           return NestsDeeperThan(member.value, levels - 1);
         });
}

}  // namespace drachma::json
