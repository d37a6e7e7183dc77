#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/pod_owners.h"
#include "controllers/workload.h"

namespace drachma::controllers {

// Keeps as many pods of a ReplicaSet as it asks for (k8s.io/kubernetes/pkg/controller/replicaset).
// Keys are "NAMESPACE/NAME".
class ReplicaSetController final : public Controller {
 public:
  // Pods created or deleted in one look at most.
  static constexpr std::size_t kBurst = 500;

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<ReplicaSetController>(host);
  }
  explicit ReplicaSetController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void ManageReplicas(const json::Value& set, const std::vector<const json::Value*>& active,
                      Work& work);
  void Create(const json::Value& set, std::size_t count, Work& work);
  void Delete(const json::Value& set, const std::vector<const json::Value*>& active,
              std::size_t count, Work& work);
  void UpdateStatus(const json::Value& set, const std::vector<const json::Value*>& owned,
                    Work& work);

  Cache& sets_;
  Cache& pods_;
  PodOwners owners_;
  // What the API said when pods could not be made or deleted, by uid of the set.
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> failures_;
};

}  // namespace drachma::controllers
