#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/pod_owners.h"

namespace drachma::controllers {

// Keeps one pod of a DaemonSet on every node that it may run on (k8s.io/kubernetes/pkg/controller/
// daemon): pods are bound to their node by node affinity and placed by the scheduler; rolling
// updates replace up to maxUnavailable at a time, or with maxSurge start the new pod first. The
// hash of the template is in the label controller-revision-hash of the pods. Keys are
// "NAMESPACE/NAME".
class DaemonSetController final : public Controller {
 public:
  // Pods created or deleted in one look at most.
  static constexpr std::size_t kBurst = 250;

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<DaemonSetController>(host);
  }
  explicit DaemonSetController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  struct NodePods;

  [[nodiscard]] std::vector<NodePods> Place(const json::Value& set) const;
  void Manage(const json::Value& set, const std::vector<NodePods>& places, Work& work);
  void Replace(const json::Value& set, const std::vector<NodePods>& places, Work& work);
  void UpdateStatus(const json::Value& set, const std::vector<NodePods>& places, Work& work);

  Cache& sets_;
  Cache& pods_;
  Cache& nodes_;
  PodOwners owners_;
};

}  // namespace drachma::controllers
