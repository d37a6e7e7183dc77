#include "scheduler/nominations.h"

#include <utility>

namespace drachma::scheduler {

void Nominations::Put(Nomination nomination) {
  const std::string uid = nomination.pod->uid;
  by_uid_.insert_or_assign(uid, std::move(nomination));
}

void Nominations::Refresh(const state::PodPtr& pod) {
  const auto found = by_uid_.find(pod->uid);
  if (found != by_uid_.end()) found->second.pod = pod;
}

void Nominations::Remove(std::string_view uid) { by_uid_.erase(std::string(uid)); }

const Nomination* Nominations::Find(std::string_view uid) const {
  const auto found = by_uid_.find(std::string(uid));
  return found == by_uid_.end() ? nullptr : &found->second;
}

Nominations::Claims Nominations::OnNode(std::string_view node, const state::PodView& pod) const {
  Claims claims;
  for (const auto& [uid, nomination] : by_uid_) {
    if (nomination.node != node || uid == pod.uid || nomination.pod->priority < pod.priority) {
      continue;
    }
    claims.amounts.Add(nomination.pod->requests);
    ++claims.pods;
    for (const auto& allocation : nomination.allocations) claims.overlay.Take(allocation);
  }
  return claims;
}

}  // namespace drachma::scheduler
