#include "cluster/role_clients.h"

#include <array>

#include "apiserver/fleet_authorizer.h"
#include "apiserver/user.h"
#include "net/certificates.h"

namespace drachma::cluster {
namespace {

constexpr const char* kScheduler = "system:kube-scheduler";
constexpr const char* kControllerManager = "system:kube-controller-manager";

struct RoleUser {
  const char* file;
  const char* user;
};
constexpr auto kRoleUsers = std::to_array<RoleUser>({
    {"scheduler.kubeconfig", kScheduler},
    {"controllers.kubeconfig", kControllerManager},
    {"node.kubeconfig", apiserver::kFleetUser},
});

}  // namespace

RoleClients::RoleClients(apiserver::Server& server)
    : server_(server),
      scheduler_(server.NewClientFactory(apiserver::ComponentUser(kScheduler))),
      controllers_(server.NewClientFactory(apiserver::ComponentUser(kControllerManager))),
      nodes_(server.NewClientFactory(apiserver::ComponentUser(apiserver::kFleetUser))) {}

std::unique_ptr<client::Client> RoleClients::OfAccount(Executor& executor,
                                                       std::string_view account) {
  return server_
      .NewClientFactory(apiserver::ServiceAccountUser("kube-system", std::string(account)))
      ->NewClient(executor, "drachma-controllers");
}

Status WriteRoleKubeconfigs(const apiserver::Server& server, const std::string& folder) {
  for (const RoleUser& role : kRoleUsers) {
    DRA_ASSIGN(const std::string text, server.KubeconfigFor(apiserver::ComponentUser(role.user)));
    DRA_TRY(net::WritePrivateFile(folder + "/" + role.file, text));
  }
  return {};
}

}  // namespace drachma::cluster
