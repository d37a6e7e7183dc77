#pragma once

#include <span>
#include <string_view>

namespace drachma::apiserver {

// The objects that upstream's API server makes at its start, as JSON: the RBAC policy
// (plugin/pkg/auth/authorizer/rbac/bootstrappolicy), PriorityClasses and flow control. Namespaces
// and the Service "kubernetes" are not among them, since they hold values of this server. Immutable,
// any thread.
[[nodiscard]] std::span<const std::string_view> BootstrapObjects();

}  // namespace drachma::apiserver
