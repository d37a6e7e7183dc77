#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace drachma::lint {

// A step of a path: a member's key, or an item's index.
using Step = std::variant<std::string, std::size_t>;

// "spec.requests[0].name" as steps. Keys with dots cannot be told apart; the paths of rules have
// none.
[[nodiscard]] std::vector<Step> ParsePath(std::string_view path);
[[nodiscard]] std::string FormatPath(const std::vector<Step>& steps);
// "spec" + "devices" = "spec.devices"; "" + "spec" = "spec".
[[nodiscard]] std::string Child(std::string_view parent, std::string_view key);
[[nodiscard]] std::string Item(std::string_view parent, std::size_t index);
// "spec.devices" of "spec.devices.requests" and of "spec.devices[0]"; "" at the root.
[[nodiscard]] std::string Parent(std::string_view path);
// Whether `path` is `ancestor` or below it.
[[nodiscard]] bool IsWithin(std::string_view path, std::string_view ancestor);

}  // namespace drachma::lint
