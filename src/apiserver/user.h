#pragma once

#include <map>
#include <string>
#include <vector>

namespace drachma::apiserver {

// Who asks: authentication's user.Info. Groups hold "system:authenticated" already.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  [[nodiscard]] bool InGroup(const std::string& group) const;
};

// The group whose members may do everything.
inline constexpr const char* kMastersGroup = "system:masters";
inline constexpr const char* kAuthenticatedGroup = "system:authenticated";
// Whoever shows no credentials.
inline constexpr const char* kAnonymousUser = "system:anonymous";
inline constexpr const char* kUnauthenticatedGroup = "system:unauthenticated";

// An administrator: what the kubeconfig's client certificate says.
[[nodiscard]] User AdminUser();
// A component of the control plane by its upstream name ("system:kube-scheduler").
[[nodiscard]] User ComponentUser(std::string name);
// A service account ("kube-system", "deployment-controller").
[[nodiscard]] User ServiceAccountUser(const std::string& ns, const std::string& name);
// A kubelet ("system:node:NAME" of group system:nodes).
[[nodiscard]] User NodeUser(const std::string& node);

}  // namespace drachma::apiserver
