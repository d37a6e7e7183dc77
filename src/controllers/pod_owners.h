#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/cache.h"
#include "controllers/controller.h"
#include "controllers/workload.h"

namespace drachma::controllers {

// Which objects of one kind a pod concerns: its controller, and those whose selector matches a pod
// that has none. What ReplicaSets, StatefulSets, DaemonSets and Jobs share.
class PodOwners {
 public:
  // `owners` are the objects of `kind`; `enqueue` hears the keys of those that a change concerns.
  PodOwners(OwnerKind kind, const Cache& owners, const Cache& pods,
            std::function<void(std::string key)> enqueue)
      : kind_(std::move(kind)), owners_(owners), pods_(pods), enqueue_(std::move(enqueue)) {}

  // To be called for every change of a pod.
  void OnPod(const client::Change& change);
  // Pods that `owner` should take, and own ones that do not match its selector any more, as
  // actions.
  [[nodiscard]] std::vector<Action> Ownership(const json::Value& owner) const;

 private:
  const OwnerKind kind_;
  const Cache& owners_;
  const Cache& pods_;
  std::function<void(std::string key)> enqueue_;
  std::set<std::string, std::less<>> orphans_;  // keys of pods without a controller
};

}  // namespace drachma::controllers
