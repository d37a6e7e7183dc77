#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/rollout.h"

namespace drachma::controllers {

// Brings a Deployment's pods to its template through ReplicaSets
// (k8s.io/kubernetes/pkg/controller/deployment). Each Sync takes one step. Keys are
// "NAMESPACE/NAME".
class DeploymentController final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<DeploymentController>(host);
  }
  explicit DeploymentController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  // A Deployment with its ReplicaSets, oldest first.
  struct Rollout {
    const json::Value& deployment;
    Sets all;
    Sets old;
    const json::Value* newest = nullptr;  // of the present template; null when yet to be made

    // Those that have or want pods.
    [[nodiscard]] Sets Active() const;
    // One more than that of the newest old set.
    [[nodiscard]] std::int64_t NextRevision() const;
  };

  void OnReplicaSet(const client::Change& change);
  void OnPod(const client::Change& change);
  void AdoptAndRelease(const json::Value& deployment, Work& work);

  // Each returns true when it has put a step into `work`.
  bool SyncAnnotations(Rollout& rollout, Work& work);
  bool CreateNewSet(Rollout& rollout, Work& work);
  bool SyncPausedCondition(Rollout& rollout, Work& work);
  bool ScaleAsOneWhole(Rollout& rollout, Work& work);
  bool RollingStep(Rollout& rollout, Work& work);
  bool RecreateStep(Rollout& rollout, Work& work);
  bool ScaleUpNew(Rollout& rollout, Work& work);
  bool ScaleDownOld(Rollout& rollout, Work& work);
  bool CleanUpOld(Rollout& rollout, Work& work);
  void ScaleSet(Rollout& rollout, const json::Value& set, std::int64_t replicas, Work& work);
  void SyncStatus(const Rollout& rollout, Work& work);
  void NoteProgress(const Rollout& rollout, json::Value& status, Work& work) const;
  static void NoteFailure(const Rollout& rollout, json::Value& status);
  [[nodiscard]] bool OldPodsRun(const Rollout& rollout) const;

  Cache& deployments_;
  Cache& sets_;
  Cache& pods_;
};

}  // namespace drachma::controllers
