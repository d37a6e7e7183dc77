#include "apiserver/user.h"

#include <algorithm>
#include <utility>

namespace drachma::apiserver {

bool User::InGroup(const std::string& group) const {
  return std::ranges::find(groups, group) != groups.end();
}

User AdminUser() {
  return {.name = "kubernetes-admin", .groups = {kMastersGroup, kAuthenticatedGroup}};
}

User ComponentUser(std::string name) {
  return {.name = std::move(name), .groups = {kAuthenticatedGroup}};
}

User ServiceAccountUser(const std::string& ns, const std::string& name) {
  return {
      .name = "system:serviceaccount:" + ns + ":" + name,
      .groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns, kAuthenticatedGroup}};
}

User NodeUser(const std::string& node) {
  return {.name = "system:node:" + node, .groups = {"system:nodes", kAuthenticatedGroup}};
}

}  // namespace drachma::apiserver
