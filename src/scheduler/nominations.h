#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allocator/allocator.h"
#include "state/claim_table.h"
#include "state/pod_view.h"

namespace drachma::scheduler {

// A pod that waits for its victims to leave a node, with what it will take there.
struct Nomination {
  state::PodPtr pod;
  std::string node;
  // The devices it will get, and the claims of its victims that still hold them (KEP-5690's claim
  // nomination).
  std::vector<api::AllocationResult> allocations;
  std::vector<state::ClaimPtr> victim_claims;
};

// Which pods are to take the room that preemption makes. Until they are bound, pods of lower or
// equal priority may not take it. Single-threaded.
class Nominations {
 public:
  void Put(Nomination nomination);
  // The new revision of a nominated pod.
  void Refresh(const state::PodPtr& pod);
  void Remove(std::string_view uid);
  [[nodiscard]] const Nomination* Find(std::string_view uid) const;
  [[nodiscard]] bool empty() const { return by_uid_.empty(); }

  // What counts as taken on the node for `pod`, beside what really is: the room of nominations of
  // at least its priority, but of pods whose uid is in `gone`. The victims' claims hold their
  // devices until they are deallocated.
  struct Claims {
    state::Amounts amounts;
    std::size_t pods = 0;
    allocator::Overlay overlay;
  };
  [[nodiscard]] Claims OnNode(std::string_view node, const state::PodView& pod,
                              const std::unordered_set<std::string>& gone = {}) const;
  // The pods whose room that is.
  [[nodiscard]] std::vector<state::PodPtr> PodsOnNode(std::string_view node,
                                                      const state::PodView& pod) const;
  // Whether the claim is to give up its devices for a nominated pod of at least the priority of
  // `pod`. Whoever may not take the devices may not join the claim's users either: successors of
  // the victims would keep it allocated for ever.
  [[nodiscard]] bool IsToBeFreed(std::string_view claim_uid, const state::PodView& pod) const;

 private:
  std::unordered_map<std::string, Nomination> by_uid_;
};

}  // namespace drachma::scheduler
