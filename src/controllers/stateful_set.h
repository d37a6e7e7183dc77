#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "controllers/controller.h"
#include "controllers/pod_owners.h"

namespace drachma::controllers {

// Keeps the pods NAME-0 … NAME-(replicas-1) of a StatefulSet (k8s.io/kubernetes/pkg/controller/
// statefulset): in order and one at a time unless podManagementPolicy is Parallel; updates go from
// the highest ordinal down to the partition; claims of volumeClaimTemplates are made before their
// pod. The hash of the template is in the label controller-revision-hash of the pods. Keys are
// "NAMESPACE/NAME".
class StatefulSetController final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<StatefulSetController>(host);
  }
  explicit StatefulSetController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  using Ordinals = std::map<std::int64_t, const json::Value*>;

  [[nodiscard]] Ordinals PodsOf(const json::Value& set) const;
  void Create(const json::Value& set, std::int64_t ordinal, Work& work) const;
  void Manage(const json::Value& set, const Ordinals& pods, Work& work) const;
  void Update(const json::Value& set, const Ordinals& pods, Work& work) const;
  void UpdateStatus(const json::Value& set, const Ordinals& pods, Work& work) const;

  Cache& sets_;
  Cache& pods_;
  Cache& volume_claims_;
  PodOwners owners_;
};

}  // namespace drachma::controllers
