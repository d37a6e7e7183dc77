#include "controllers/group_protection.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/objects.h"
#include "controllers/group_claims.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;

constexpr std::string_view kFinalizer = "scheduling.k8s.io/podgroup-protection";

bool WaitsToGo(const Value& group) {
  return client::IsBeingDeleted(group) && client::HasFinalizer(group, kFinalizer);
}

}  // namespace

GroupProtection::GroupProtection(Host& host)
    : Controller(host),
      groups_(Watch(kPodGroups,
                    [this](const Change& change) {
                      if (change.type != Change::Type::kDeleted && WaitsToGo(change.object)) {
                        Add(client::KeyOf(change.object));
                      }
                    })),
      pods_(Watch(client::resources::kPods, [this](const Change& change) { OnPod(change); })) {}

void GroupProtection::OnPod(const Change& change) {
  const std::string_view group = GroupNameOf(change.object);
  if (group.empty()) return;
  if (change.type == Change::Type::kDeleted || client::IsPodTerminal(change.object)) {
    Add(fmt::format("{}/{}", client::NamespaceOf(change.object), group));
  }
}

bool GroupProtection::IsUsed(const Value& group) const {
  const auto pods = pods_.InNamespace(client::NamespaceOf(group));
  return std::ranges::any_of(pods, [&group](const Value* pod) {
    return GroupNameOf(*pod) == client::NameOf(group) && !client::IsPodTerminal(*pod);
  });
}

Work GroupProtection::Sync(const std::string& key) {
  Work work;
  const Value* group = groups_.Get(key);
  if (group == nullptr || !WaitsToGo(*group) || IsUsed(*group)) return work;
  work.actions.push_back({.request = RemoveFinalizerRequest(kPodGroups, *group, kFinalizer)});
  return work;
}

}  // namespace drachma::controllers
