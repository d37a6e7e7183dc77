#include "controllers/pod_owners.h"

#include <fmt/format.h>

#include "client/objects.h"

namespace drachma::controllers {

using client::Change;
using json::Value;

void PodOwners::OnPod(const Change& change) {
  const Value& pod = change.object;
  const std::string_view ns = client::NamespaceOf(pod);
  for (const Value* version : {&change.old_object, &change.object}) {
    const Value* owner = client::ControllerOf(*version);
    if (owner != nullptr && (*owner)["kind"].AsString() == kind_.kind) {
      enqueue_(fmt::format("{}/{}", ns, (*owner)["name"].AsString()));
    }
  }
  const bool orphan = change.type != Change::Type::kDeleted && client::ControllerOf(pod) == nullptr;
  if (!orphan) {
    orphans_.erase(client::KeyOf(pod));
    return;
  }
  orphans_.insert(client::KeyOf(pod));
  if (pod["metadata"]["labels"].empty()) return;
  for (const Value* owner : owners_.InNamespace(ns)) {
    if (client::MatchesSelector((*owner)["spec"]["selector"], pod["metadata"]["labels"])) {
      enqueue_(client::KeyOf(*owner));
    }
  }
}

std::vector<Action> PodOwners::Ownership(const Value& owner) const {
  std::vector<Action> actions;
  if (client::IsBeingDeleted(owner)) return actions;
  const Value& selector = owner["spec"]["selector"];
  for (const Value* pod : pods_.OwnedBy(client::UidOf(owner))) {
    if (!client::MatchesSelector(selector, (*pod)["metadata"]["labels"])) {
      actions.push_back(Release(client::resources::kPods, *pod, owner));
    }
  }
  const std::string prefix = fmt::format("{}/", client::NamespaceOf(owner));
  for (auto key = orphans_.lower_bound(prefix); key != orphans_.end() && key->starts_with(prefix);
       ++key) {
    const Value* pod = pods_.Get(*key);
    if (pod != nullptr && IsPodActive(*pod) &&
        client::MatchesSelector(selector, (*pod)["metadata"]["labels"])) {
      actions.push_back(Adopt(client::resources::kPods, *pod, kind_, owner));
    }
  }
  return actions;
}

}  // namespace drachma::controllers
