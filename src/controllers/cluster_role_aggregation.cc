#include "controllers/cluster_role_aggregation.h"

#include <algorithm>
#include <utility>

#include "client/objects.h"

namespace drachma::controllers {
namespace {

using json::Value;

const client::Resource kClusterRoles = {"rbac.authorization.k8s.io", "v1", "clusterroles"};

}  // namespace

ClusterRoleAggregation::ClusterRoleAggregation(Host& host)
    : Controller(host), roles_(Watch(kClusterRoles, [this](const client::Change&) {
        // Any role may be selected by any aggregated one, of which there are few.
        for (const auto& [key, role] : roles_.objects()) {
          if (role["aggregationRule"].IsObject()) Add(key);
        }
      })) {}

Work ClusterRoleAggregation::Sync(const std::string& key) {
  Work work;
  const Value* role = roles_.Get(key);
  if (role == nullptr || !(*role)["aggregationRule"].IsObject()) return work;
  Value rules = Value::Array();
  for (const Value& selector : (*role)["aggregationRule"]["clusterRoleSelectors"].Items()) {
    for (const auto& [name, other] : roles_.objects()) {
      if (name == key || !client::MatchesSelector(selector, other["metadata"]["labels"])) continue;
      for (const Value& rule : other["rules"].Items()) {
        const auto items = rules.Items();
        if (std::ranges::find(items, rule) == items.end()) rules.Append(rule);
      }
    }
  }
  if (rules == (*role)["rules"] || (rules.empty() && (*role)["rules"].empty())) return work;
  Value next = *role;
  next.Set("rules", std::move(rules));
  work.actions.push_back({.request = client::UpdateRequest(kClusterRoles, std::move(next))});
  return work;
}

}  // namespace drachma::controllers
