#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allocator/outcome.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "state/group_table.h"
#include "state/pod_view.h"

namespace drachma::scheduler {

// Why a pod was not scheduled: the reasons of its PodScheduled condition.
enum class Reason : std::uint8_t { kUnschedulable, kSchedulerError };

// Tells people about pods that wait: PodScheduled conditions, nominated nodes, FailedScheduling
// events. Writes only what differs from what was written before, and repeats an equal event of a
// pod at most every kRepeat, so that ten thousand waiting pods do not occupy the API. Belongs to
// the client's executor.
class Reporter {
 public:
  static constexpr Duration kRepeat = std::chrono::seconds(30);
  // Groups whose conditions are remembered; then all are forgotten, and written once more.
  static constexpr std::size_t kGroupsMax = 4096;

  // Both must outlive the reporter.
  Reporter(client::Client& client, client::EventRecorder& recorder)
      : client_(client), recorder_(recorder) {}

  // The pod has no node: condition and event. `nominated` replaces status.nominatedNodeName; null
  // leaves it.
  void NotScheduled(const state::PodView& pod, Reason reason, const std::string& message,
                    const std::string* nominated);
  // The conditions PodGroupInitiallyScheduled: once true it stays so.
  void GroupNotScheduled(const state::GroupView& group, Reason reason, const std::string& message);
  void GroupScheduled(const state::GroupView& group);
  // The pod is held before any attempt: only the condition.
  void Held(const state::PodView& pod, const std::string& message);
  // Whether the pod's condition says that already.
  [[nodiscard]] bool HasTold(const state::PodView& pod, const std::string& message) const;
  // Selectors that failed on devices while the pod was looked at: one warning per expression and
  // attribute of a pod.
  void SelectorFaults(const state::PodView& pod,
                      const std::vector<allocator::SelectorFault>& faults);
  // The pod is bound or gone.
  void Forget(std::string_view uid) { told_.erase(std::string(uid)); }

  // Whether no condition is on its way.
  [[nodiscard]] bool idle() const { return writes_ == 0; }

 private:
  struct Told {
    std::string condition;  // reason and message that were written
    std::string nominated;
    std::string event;
    Duration event_at{};
    std::unordered_set<std::string> faults;
  };

  void WriteCondition(const state::PodView& pod, std::string_view reason,
                      const std::string& message, const std::string* nominated);

  void WriteGroupCondition(const state::GroupView& group, std::string_view status,
                           std::string_view reason, const std::string& message);

  client::Client& client_;
  client::EventRecorder& recorder_;
  std::unordered_map<std::string, Told> told_;                // by uid
  std::unordered_map<std::string, std::string> told_groups_;  // what was written, by uid
  std::size_t writes_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::scheduler
