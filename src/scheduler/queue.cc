#include "scheduler/queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace drachma::scheduler {
namespace {

// Whether a new revision asks for something else, so that an attempt may end otherwise. Writes of
// the scheduler itself (conditions, nominations) do not count.
bool AsksForSomethingElse(const state::PodView& a, const state::PodView& b) {
  const auto claim = [](const state::PodClaim& c) { return std::tie(c.claim_name, c.needed); };
  return a.placement_id != b.placement_id || !(a.requests == b.requests) || a.gated != b.gated ||
         a.priority != b.priority || a.claims.size() != b.claims.size() ||
         !std::ranges::equal(a.claims, b.claims, {}, claim, claim) ||
         !(a.object["metadata"]["labels"] == b.object["metadata"]["labels"]);
}

}  // namespace

bool SchedulingQueue::ActiveKey::operator<(const ActiveKey& other) const {
  return std::tie(other.priority, added, sequence) <
         std::tie(priority, other.added, other.sequence);
}

SchedulingQueue::ActiveKey SchedulingQueue::KeyOf(const QueuedPod& queued) {
  return {queued.pod->priority, queued.added, queued.sequence, &queued.pod->uid};
}

void SchedulingQueue::Put(const state::PodPtr& pod, Time now) {
  const auto found = entries_.find(pod->uid);
  if (found == entries_.end()) {
    auto queued = std::make_unique<QueuedPod>();
    queued->pod = pod;
    queued->added = now;
    queued->sequence = next_sequence_++;
    Insert(std::move(queued), Place::kHeld, now);
    Recheck(pod->uid, now);
    return;
  }
  Entry& entry = found->second;
  const bool woken = AsksForSomethingElse(*entry.queued->pod, *pod);
  const Place place = entry.place;
  const Time due = entry.due;
  Leave(entry);
  entry.queued->pod = pod;
  if (woken || place == Place::kHeld) {
    Activate(entry, now);
  } else {
    Enter(entry, place, due);
  }
}

void SchedulingQueue::Remove(std::string_view uid) { Take(std::string(uid)); }

void SchedulingQueue::Recheck(std::string_view uid, Time now) {
  const auto found = entries_.find(std::string(uid));
  if (found == entries_.end() || found->second.place != Place::kHeld) return;
  Leave(found->second);
  Activate(found->second, now);
}

std::unique_ptr<QueuedPod> SchedulingQueue::Pop(Time now) {
  Advance(now);
  while (true) {
    std::string uid;
    if (!active_.empty()) {
      uid = *active_.begin()->uid;
    } else {
      if (impatient_.empty()) return nullptr;
      uid = *impatient_.begin()->uid;
    }
    // What it needs may have gone since it became active.
    Entry& entry = entries_.find(uid)->second;
    entry.hold = hold_ ? hold_(*entry.queued->pod) : std::string();
    if (entry.hold.empty()) {
      auto queued = Take(uid);
      ++queued->attempts;
      return queued;
    }
    Leave(entry);
    Enter(entry, Place::kHeld, now);
  }
}

std::vector<std::unique_ptr<QueuedPod>> SchedulingQueue::TakeMembers(std::string_view group_key) {
  std::vector<std::unique_ptr<QueuedPod>> taken;
  const auto members = members_.find(std::string(group_key));
  if (members == members_.end()) return taken;
  const std::vector<std::string> uids(members->second.begin(), members->second.end());
  for (const std::string& uid : uids) {
    if (entries_.find(uid)->second.place == Place::kHeld) continue;
    taken.push_back(Take(uid));
    ++taken.back()->attempts;
  }
  std::ranges::sort(taken, [](const auto& a, const auto& b) { return KeyOf(*a) < KeyOf(*b); });
  return taken;
}

void SchedulingQueue::PutUnschedulable(std::unique_ptr<QueuedPod> pod, Rejectors rejectors,
                                       Time now) {
  pod->rejectors = rejectors;
  pod->attempted = now;
  ++pod->unschedulable;
  pod->errors = 0;
  pod->same_error = false;
  pod->last_error.clear();
  Insert(std::move(pod), Place::kWaiting, now);
}

void SchedulingQueue::PutFailed(std::unique_ptr<QueuedPod> pod, std::string error, Time now) {
  pod->attempted = now;
  ++pod->errors;
  pod->same_error = pod->last_error == error;
  pod->last_error = std::move(error);
  const Time due = BackoffEnd(*pod);
  Insert(std::move(pod), Place::kBackoff, due);
}

void SchedulingQueue::PutPostponed(std::unique_ptr<QueuedPod> pod, Rejectors rejectors, Time now) {
  --pod->attempts;
  pod->rejectors = rejectors;
  Insert(std::move(pod), Place::kWaiting, now);
}

void SchedulingQueue::Wake(Rejectors rejectors, const Helps& helps, Time now) {
  std::vector<std::string> woken;
  for (const auto& [due, uid] : waiting_) {
    const QueuedPod& queued = *entries_.find(uid)->second.queued;
    if (queued.rejectors.Meets(rejectors) && helps(*queued.pod)) woken.push_back(uid);
  }
  for (const std::string& uid : woken) {
    Entry& entry = entries_.find(uid)->second;
    Leave(entry);
    Activate(entry, now);
  }
}

void SchedulingQueue::WakeOne(std::string_view uid, Rejectors rejectors, Time now) {
  const auto found = entries_.find(std::string(uid));
  if (found == entries_.end() || found->second.place != Place::kWaiting ||
      !found->second.queued->rejectors.Meets(rejectors)) {
    return;
  }
  Leave(found->second);
  Activate(found->second, now);
}

void SchedulingQueue::ForEachHeld(
    const std::function<void(const state::PodView&, const std::string&, Time)>& visit) const {
  for (const std::string& uid : held_) {
    const Entry& entry = entries_.find(uid)->second;
    visit(*entry.queued->pod, entry.hold, entry.due);
  }
}

void SchedulingQueue::Advance(Time now) {
  const auto release = [&](std::map<DueKey, std::string>& places, Duration age) {
    while (!places.empty() && places.begin()->first.first + age <= now) {
      Entry& entry = entries_.find(places.begin()->second)->second;
      Leave(entry);
      Enter(entry, Place::kActive, {});
    }
  };
  release(backoff_, Duration(0));
  release(waiting_, options_.unschedulable_max);
}

Time SchedulingQueue::NextDue() const {
  Time due = Time::max();
  if (!backoff_.empty()) due = backoff_.begin()->first.first;
  if (!waiting_.empty()) {
    due = std::min(due, waiting_.begin()->first.first + options_.unschedulable_max);
  }
  return due;
}

std::string SchedulingQueue::HeldBy(std::string_view uid) const {
  const auto found = entries_.find(std::string(uid));
  if (found == entries_.end() || found->second.place != Place::kHeld) return {};
  return found->second.hold;
}

state::PodPtr SchedulingQueue::Find(std::string_view uid) const {
  const auto found = entries_.find(std::string(uid));
  return found == entries_.end() ? nullptr : found->second.queued->pod;
}

bool SchedulingQueue::AtRest() const {
  return active_.empty() && std::ranges::all_of(backoff_, [this](const auto& due) {
           return entries_.find(due.second)->second.queued->same_error;
         });
}

void SchedulingQueue::Insert(std::unique_ptr<QueuedPod> queued, Place place, Time due) {
  std::string uid = queued->pod->uid;
  if (!queued->pod->group.empty()) members_[queued->pod->group_key()].insert(uid);
  const auto [entry, added] = entries_.try_emplace(std::move(uid));
  DRA_CHECK(added);
  entry->second.queued = std::move(queued);
  Enter(entry->second, place, due);
}

void SchedulingQueue::Leave(Entry& entry) {
  const QueuedPod& queued = *entry.queued;
  switch (entry.place) {
    case Place::kActive:
      active_.erase(KeyOf(queued));
      break;
    case Place::kBackoff:
      backoff_.erase({entry.due, queued.sequence});
      impatient_.erase(KeyOf(queued));
      break;
    case Place::kWaiting:
      waiting_.erase({entry.due, queued.sequence});
      break;
    case Place::kHeld:
      held_.erase(queued.pod->uid);
      break;
  }
}

void SchedulingQueue::Enter(Entry& entry, Place place, Time due) {
  entry.place = place;
  entry.due = due;
  const QueuedPod& queued = *entry.queued;
  switch (place) {
    case Place::kActive:
      active_.insert(KeyOf(queued));
      break;
    case Place::kBackoff:
      backoff_.emplace(DueKey{due, queued.sequence}, queued.pod->uid);
      if (queued.errors == 0) impatient_.insert(KeyOf(queued));
      break;
    case Place::kWaiting:
      waiting_.emplace(DueKey{due, queued.sequence}, queued.pod->uid);
      break;
    case Place::kHeld:
      held_.insert(queued.pod->uid);
      break;
  }
}

// To the active pods, unless something holds it or its back-off has not ended.
void SchedulingQueue::Activate(Entry& entry, Time now) {
  entry.hold = hold_ ? hold_(*entry.queued->pod) : std::string();
  if (!entry.hold.empty()) {
    Enter(entry, Place::kHeld, entry.place == Place::kHeld ? entry.due : now);
    return;
  }
  const Time due = BackoffEnd(*entry.queued);
  if (due > now) {
    Enter(entry, Place::kBackoff, due);
  } else {
    Enter(entry, Place::kActive, {});
  }
}

// The end of the back-off after the last attempt: doubling from backoff_initial with each attempt
// that failed in the same way (upstream's calculateBackoffDuration).
Time SchedulingQueue::BackoffEnd(const QueuedPod& queued) const {
  const int failures = queued.errors > 0 ? queued.errors : queued.unschedulable;
  if (failures == 0) return Time::min();
  Duration backoff = options_.backoff_initial;
  for (int i = 1; i < failures && backoff < options_.backoff_max; ++i) backoff *= 2;
  return queued.attempted + std::min(backoff, options_.backoff_max);
}

std::unique_ptr<QueuedPod> SchedulingQueue::Take(const std::string& uid) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return nullptr;
  Leave(found->second);
  auto queued = std::move(found->second.queued);
  if (!queued->pod->group.empty()) {
    const auto members = members_.find(queued->pod->group_key());
    members->second.erase(uid);
    if (members->second.empty()) members_.erase(members);
  }
  entries_.erase(found);
  return queued;
}

}  // namespace drachma::scheduler
