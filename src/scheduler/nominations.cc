#include "scheduler/nominations.h"

#include <algorithm>
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

namespace {

bool Precedes(const Nomination& nomination, std::string_view node, const state::PodView& pod) {
  return nomination.node == node && nomination.pod->uid != pod.uid &&
         nomination.pod->priority >= pod.priority;
}

}  // namespace

Nominations::Claims Nominations::OnNode(std::string_view node, const state::PodView& pod,
                                        const std::unordered_set<std::string>& gone) const {
  Claims claims;
  for (const auto& [uid, nomination] : by_uid_) {
    if (!Precedes(nomination, node, pod) || gone.contains(uid)) continue;
    claims.amounts.Add(nomination.pod->requests);
    ++claims.pods;
    for (const auto& allocation : nomination.allocations) claims.overlay.Take(allocation);
  }
  return claims;
}

std::vector<state::PodPtr> Nominations::PodsOnNode(std::string_view node,
                                                   const state::PodView& pod) const {
  std::vector<state::PodPtr> pods;
  for (const auto& [uid, nomination] : by_uid_) {
    if (Precedes(nomination, node, pod)) pods.push_back(nomination.pod);
  }
  std::ranges::sort(pods, {}, [](const state::PodPtr& one) { return one->key(); });
  return pods;
}

bool Nominations::IsToBeFreed(std::string_view claim_uid, const state::PodView& pod) const {
  return std::ranges::any_of(by_uid_, [&](const auto& entry) {
    const Nomination& nomination = entry.second;
    const state::PodView& taker = *nomination.pod;
    const bool together = !pod.group.empty() && taker.group_key() == pod.group_key();
    return taker.uid != pod.uid && taker.priority >= pod.priority && !together &&
           std::ranges::find(nomination.victim_claims, claim_uid, &state::ClaimView::uid) !=
               nomination.victim_claims.end();
  });
}

}  // namespace drachma::scheduler
