#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "state/pod_view.h"

namespace drachma::scheduler {

// What kept a pod from being scheduled; an event wakes the pods that were kept by what it changes.
enum class Rejector : std::uint8_t {
  kPlacement,  // names, labels, taints of nodes
  kPorts,
  kResources,
  kSpread,
  kPodAffinity,
  kDevices,    // no free devices that fit
  kClaimNode,  // an allocated claim is not usable on the node
  kClaim,      // a claim that is missing, in flight, …
  kClass,      // a DeviceClass that is missing
  kVolumes,
  kGroup,  // other members of the pod group
  kCount,
};

// A set of rejectors.
class Rejectors {
 public:
  constexpr Rejectors() = default;
  constexpr Rejectors(std::initializer_list<Rejector> rejectors) {
    for (const Rejector rejector : rejectors) Add(rejector);
  }
  constexpr void Add(Rejector rejector) { bits_ |= 1U << static_cast<unsigned>(rejector); }
  constexpr void Add(Rejectors other) { bits_ |= other.bits_; }
  [[nodiscard]] constexpr bool Has(Rejector rejector) const {
    return (bits_ >> static_cast<unsigned>(rejector) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool Meets(Rejectors other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

 private:
  std::uint32_t bits_ = 0;
};

// A pod with what the queue remembers about its attempts.
struct QueuedPod {
  state::PodPtr pod;
  Time added;             // first time in the queue
  int attempts = 0;       // scheduling cycles
  int unschedulable = 0;  // of those in a row that found no node: sets the back-off
  int errors = 0;         // attempts in a row that failed
  std::string last_error;
  bool same_error = false;  // the last two errors were the same
  Rejectors rejectors;
  Time attempted;  // end of the last attempt
  std::uint64_t sequence = 0;
};

// The pods that wait to be scheduled (upstream's PriorityQueue): active ones by priority, then
// first come first served; ones in back-off; ones that wait for an event that can help them; ones
// that are held until something they need exists. Single-threaded.
class SchedulingQueue {
 public:
  struct Options {
    Duration backoff_initial = std::chrono::seconds(1);
    Duration backoff_max = std::chrono::seconds(10);
    Duration unschedulable_max = std::chrono::minutes(5);
  };

  explicit SchedulingQueue(Options options) : options_(options) {}

  // Why a pod may not be tried yet ("" if it may): scheduling gates, claims that do not exist.
  using Hold = std::function<std::string(const state::PodView&)>;
  void SetHold(Hold hold) { hold_ = std::move(hold); }

  // A pod that is new, or a new revision of one. A revision wakes its pod when it changes what the
  // pod asks for.
  void Put(const state::PodPtr& pod, Time now);
  void Remove(std::string_view uid);
  // Looks again at a held pod, after what it may wait for has changed.
  void Recheck(std::string_view uid, Time now);

  // The next pod to try, or null. With nothing active it is one in back-off whose last attempt
  // found no node, so that a pod woken by an event does not wait while the scheduler idles
  // (upstream's SchedulerPopFromBackoffQ). The pod is out of the queue until it is put back.
  [[nodiscard]] std::unique_ptr<QueuedPod> Pop(Time now);

  // All pods of a group ("namespace/name") that are not held, in the order in which they would be
  // popped; they are out of the queue until they are put back.
  [[nodiscard]] std::vector<std::unique_ptr<QueuedPod>> TakeMembers(std::string_view group_key);

  // Puts back a pod whose attempt found no node: it waits for an event that concerns `rejectors`.
  void PutUnschedulable(std::unique_ptr<QueuedPod> pod, Rejectors rejectors, Time now);
  // Puts back a pod whose attempt or binding failed: it is tried again after its back-off.
  void PutFailed(std::unique_ptr<QueuedPod> pod, std::string error, Time now);
  // Puts back a pod whose attempt depends on a write under way: it waits without a back-off.
  void PutPostponed(std::unique_ptr<QueuedPod> pod, Rejectors rejectors, Time now);

  // Wakes the waiting pods kept by one of `rejectors` for which `helps` holds.
  using Helps = std::function<bool(const state::PodView&)>;
  void Wake(Rejectors rejectors, const Helps& helps, Time now);

  // The same for one pod: something of its own changed.
  void WakeOne(std::string_view uid, Rejectors rejectors, Time now);

  // Moves what is due: back-offs that ended, pods that waited longer than unschedulable_max.
  void Advance(Time now);
  // When Advance has something to do next; Time::max() if never.
  [[nodiscard]] Time NextDue() const;

  // Calls `visit` with each held pod, why it is held and since when.
  void ForEachHeld(
      const std::function<void(const state::PodView&, const std::string&, Time)>& visit) const;
  // The reason that holds a pod; empty when it is not held.
  [[nodiscard]] std::string HeldBy(std::string_view uid) const;
  [[nodiscard]] state::PodPtr Find(std::string_view uid) const;
  [[nodiscard]] std::size_t active() const { return active_.size(); }
  [[nodiscard]] std::size_t backoff() const { return backoff_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  // Whether trying again would only repeat what is known: nothing is active, and what is in
  // back-off failed twice with the same error.
  [[nodiscard]] bool AtRest() const;

 private:
  enum class Place : std::uint8_t { kActive, kBackoff, kWaiting, kHeld };
  struct Entry {
    std::unique_ptr<QueuedPod> queued;
    Place place = Place::kActive;
    Time due;          // of a back-off; since when it waits or is held
    std::string hold;  // why it is held
  };
  struct ActiveKey {
    std::int64_t priority;
    Time added;
    std::uint64_t sequence;
    const std::string* uid;
    bool operator<(const ActiveKey& other) const;
  };
  using DueKey = std::pair<Time, std::uint64_t>;

  static ActiveKey KeyOf(const QueuedPod& queued);
  void Insert(std::unique_ptr<QueuedPod> queued, Place place, Time due);
  void Leave(Entry& entry);
  void Enter(Entry& entry, Place place, Time due);
  void Activate(Entry& entry, Time now);
  [[nodiscard]] Time BackoffEnd(const QueuedPod& queued) const;
  std::unique_ptr<QueuedPod> Take(const std::string& uid);

  const Options options_;
  Hold hold_;
  std::unordered_map<std::string, Entry> entries_;  // by uid
  std::set<ActiveKey> active_;
  std::map<DueKey, std::string> backoff_;
  std::set<ActiveKey> impatient_;          // those of backoff_ whose last attempt found no node
  std::map<DueKey, std::string> waiting_;  // by the time of the last attempt
  std::unordered_set<std::string> held_;
  std::unordered_map<std::string, std::unordered_set<std::string>> members_;  // uids by group
  std::uint64_t next_sequence_ = 1;
};

}  // namespace drachma::scheduler
