#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/objects.h"
#include "controllers/pod_owners.h"

namespace drachma::controllers {

// Runs the pods of a Job until enough of them succeeded (k8s.io/kubernetes/pkg/controller/job):
// counted and indexed completion, parallelism, back-off of failed pods and its limit, deadline,
// suspension.
//
// Each pod carries the finalizer batch.kubernetes.io/job-tracking until its end has been counted:
// first its uid goes into status.uncountedTerminatedPods, then the finalizer goes, then the counter
// grows. So no end is lost or counted twice, whenever the controller stops in between. A pod that
// no Job will count any more (its Job is gone, or let go of it) just loses the finalizer. Keys are
// "NAMESPACE/NAME" of Jobs and "pod:NAMESPACE/NAME" of pods that may be such orphans.
class JobController final : public Controller {
 public:
  // Pods created or deleted in one look at most.
  static constexpr std::size_t kBurst = 500;
  // Named limits of upstream: the wait after the first failed pod doubles with each further one.
  static constexpr Duration kBackoffMin = std::chrono::seconds(10);
  static constexpr Duration kBackoffMax = std::chrono::minutes(10);
  // Jobs known to be gone; an older one is asked for once more.
  static constexpr std::size_t kGoneJobsMax = 2000;

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<JobController>(host);
  }
  explicit JobController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  struct View;  // a Job and its pods at one moment

  void OnJob(const client::Change& change);
  void OnPod(const client::Change& change);
  // What to do about a pod that may be an orphan: upstream's syncOrphanPod.
  [[nodiscard]] Work SyncPod(const std::string& key, std::string_view pod_key);
  // Status after what the pods say; sets `work.again` for what time will change.
  [[nodiscard]] json::Value NextStatus(const View& view, Work& work) const;
  void ManagePods(const View& view, Work& work);
  void Create(const View& view, std::size_t count, Work& work);
  void Delete(const View& view, const std::vector<const json::Value*>& pods, Work& work);

  Cache& jobs_;
  Cache& pods_;
  PodOwners owners_;
  GoneUids gone_{kGoneJobsMax};
};

// "0-2,5" of indexes; and back.
[[nodiscard]] std::string FormatIndexes(const std::set<std::int64_t>& indexes);
[[nodiscard]] std::set<std::int64_t> ParseIndexes(std::string_view text);

}  // namespace drachma::controllers
