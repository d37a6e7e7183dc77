#include "webhook/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "client/informer.h"
#include "client/objects.h"

namespace drachma::webhook {
namespace {

using allocator::DeviceId;
using api::DeviceResult;
using json::Value;

// Whom the inventory knows as the claim that is being judged.
constexpr std::string_view kJudged = "judged";

DeviceId IdOf(const DeviceResult& result) { return {result.driver, result.pool, result.device}; }

std::int64_t RevisionOf(const Value& object) {
  const std::string_view text = client::ResourceVersionOf(object);
  std::int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

// The devices that an allocation takes from others.
Result<std::vector<DeviceResult>> TakenBy(const Value& claim) {
  const Value& allocation = claim["status"]["allocation"];
  if (allocation.IsNull()) return std::vector<DeviceResult>();
  DRA_ASSIGN(api::AllocationResult read, api::AllocationResult::FromJson(allocation));
  std::erase_if(read.results,
                [](const DeviceResult& result) { return result.admin_access.value_or(false); });
  return std::move(read.results);
}

// Every slice counts, whatever features its devices need: somebody has allocated them.
allocator::Options EveryFeature() {
  allocator::Options options;
  options.features.compatibility_groups = true;
  options.features.derived_attributes = true;
  options.features.fractional_capacity_range = true;
  options.features.list_type_attributes = true;
  options.features.optional_node_operations = true;
  return options;
}

}  // namespace

Ledger::Ledger(const Clock& clock, Duration admitted_max)
    : clock_(clock), admitted_max_(admitted_max), inventory_(EveryFeature()) {}

void Ledger::PutSlice(const Value& slice) {
  // One that cannot be read is not there: whoever allocates sees no device of it, either.
  static_cast<void>(inventory_.SetSlice(slice));
}

void Ledger::RemoveSlice(const Value& slice) { inventory_.RemoveSlice(client::NameOf(slice)); }

void Ledger::PutClaim(const Value& claim) {
  const std::string uid(client::UidOf(claim));
  std::string key = client::KeyOf(claim);
  const std::int64_t revision = RevisionOf(claim);
  Seen& known = seen_[key];
  if (!known.uid.empty() && known.uid != uid) Forget(known.uid);
  known = {uid, revision};
  DropPending([&](const Pending& one) { return one.uid == uid && one.replaces < revision; });
  Result<Results> results = TakenBy(claim);
  Drop(uid);
  if (results && !results->empty()) Hold(uid, {uid, std::move(key), *std::move(results)});
}

void Ledger::RemoveClaim(const Value& claim) {
  Forget(client::UidOf(claim));
  const auto known = seen_.find(client::KeyOf(claim));
  if (known != seen_.end() && known->second.uid == client::UidOf(claim)) seen_.erase(known);
}

void Ledger::Forget(std::string_view uid) {
  DropPending([&](const Pending& one) { return one.uid == uid; });
  Drop(std::string(uid));
}

template <typename Predicate>
void Ledger::DropPending(const Predicate& decided) {
  for (auto one = pending_.begin(); one != pending_.end();) {
    if (!decided(one->second)) {
      ++one;
      continue;
    }
    Drop(one->first);
    one = pending_.erase(one);
  }
}

void Ledger::Hold(const std::string& key, Holding holding) {
  inventory_.SetClaim(key, holding.claim, {.results = holding.results});
  for (const DeviceResult& result : holding.results) {
    std::vector<std::string>& keys = holders_[IdOf(result)];
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  holdings_.insert_or_assign(key, std::move(holding));
}

void Ledger::Drop(const std::string& key) {
  const auto found = holdings_.find(key);
  if (found == holdings_.end()) return;
  inventory_.RemoveClaim(key);
  for (const DeviceResult& result : found->second.results) {
    const auto keys = holders_.find(IdOf(result));
    if (keys == holders_.end()) continue;
    std::erase(keys->second, key);
    if (keys->second.empty()) holders_.erase(keys);
  }
  holdings_.erase(found);
}

Status Ledger::Admit(const Value& old_claim, const Value& new_claim, DryRun dry_run) {
  const Value& allocation = new_claim["status"]["allocation"];
  if (allocation.IsNull() || allocation == old_claim["status"]["allocation"]) return {};
  const Duration now = clock_.Monotonic();
  DropPending([&](const Pending& one) { return one.until <= now; });
  Holding wanted{.uid = std::string(client::UidOf(new_claim)),
                 .claim = client::KeyOf(new_claim),
                 .results = {}};
  DRA_ASSIGN(wanted.results, TakenBy(new_claim));
  if (wanted.results.empty()) return {};
  DRA_TRY(Check(wanted));
  if (dry_run == DryRun::kYes) return {};
  const std::int64_t replaces = RevisionOf(old_claim);
  // An API server tries its own copy first: what is not the newest cannot be replaced any more.
  const auto known = seen_.find(wanted.claim);
  if (known != seen_.end() && known->second.uid == wanted.uid &&
      known->second.revision > replaces) {
    return {};
  }
  // The same once more: a try that failed after it was admitted.
  for (auto& [key, one] : pending_) {
    if (one.uid != wanted.uid || one.replaces != replaces) continue;
    const bool same = std::ranges::equal(holdings_.at(key).results, wanted.results, {}, IdOf, IdOf);
    if (!same) continue;
    one.until = now + admitted_max_;
    return {};
  }
  if (pending_.size() >= kPendingMax) {
    return Fail(Code::kTooManyRequests, "too many allocations are under way");
  }
  const std::string key = fmt::format("{}@{}", wanted.uid, ++next_);
  pending_.emplace(key, Pending{wanted.uid, replaces, now + admitted_max_});
  Hold(key, std::move(wanted));
  return {};
}

Status Ledger::Check(const Holding& wanted) {
  // What the claim itself had, or tried to get, is no obstacle.
  std::vector<std::pair<std::string, Holding>> own;
  for (const auto& [key, holding] : holdings_) {
    if (holding.uid == wanted.uid) own.emplace_back(key, holding);
  }
  for (const auto& [key, holding] : own) inventory_.RemoveClaim(key);
  Status status;
  api::AllocationResult taken;
  for (std::size_t i = 0; i < wanted.results.size() && status; ++i) {
    status = CheckDevice(wanted, i);
    // Its devices draw on the same counters one after the other.
    taken.results.push_back(wanted.results[i]);
    inventory_.SetClaim(kJudged, wanted.claim, taken);
  }
  inventory_.RemoveClaim(kJudged);
  for (const auto& [key, holding] : own) {
    inventory_.SetClaim(key, holding.claim, {.results = holding.results});
  }
  return status;
}

std::vector<const Ledger::Holding*> Ledger::OthersOn(const DeviceId& id,
                                                     std::string_view uid) const {
  std::vector<const Holding*> others;
  const auto keys = holders_.find(id);
  if (keys == holders_.end()) return others;
  for (const std::string& key : keys->second) {
    const Holding& holding = holdings_.at(key);
    if (holding.uid != uid) others.push_back(&holding);
  }
  return others;
}

Status Ledger::CheckDevice(const Holding& wanted, std::size_t index) {
  const DeviceResult& result = wanted.results[index];
  const DeviceId id = IdOf(result);
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kForbidden, fmt::format("device {} cannot be allocated to claim {}: {}",
                                              id.ToString(), wanted.claim, why));
  };
  const std::span before = std::span(wanted.results).first(index);
  const bool again = std::ranges::find(before, id, IdOf) != before.end();
  const std::vector<const Holding*> others = OthersOn(id, wanted.uid);
  for (const Holding* other : others) {
    const bool exclusive =
        !result.share_id || std::ranges::any_of(other->results, [&](const DeviceResult& held) {
          return IdOf(held) == id && !held.share_id;
        });
    if (exclusive) return refuse(fmt::format("it is allocated to claim {}", other->claim));
  }
  if (again && !result.share_id) return refuse("the allocation names it twice");
  if (result.share_id) DRA_TRY(CheckCapacity(wanted, index, others));
  if (again || !others.empty()) return {};  // its counters are charged already
  const std::vector<allocator::ShortCounter> missing = inventory_.ShortCountersOf(id);
  if (missing.empty()) return {};
  const allocator::ShortCounter& first = missing.front();
  return refuse(fmt::format("it needs {} of counter {} of set {}, of which {} is left; {}",
                            first.needed, first.counter, first.set, first.free,
                            UsersOfCounters(id, wanted.uid)));
}

Status Ledger::CheckCapacity(const Holding& wanted, std::size_t index,
                             const std::vector<const Holding*>& sharers) const {
  const DeviceResult& result = wanted.results[index];
  const DeviceId id = IdOf(result);
  const Value* device = inventory_.FindDevice(id);
  if (device == nullptr) return {};  // nobody knows what it had
  DRA_ASSIGN(const auto capacity, api::CapacityOf(*device));
  for (const auto& [name, amount] : result.consumed_capacity) {
    const auto there = capacity.find(name);
    if (there == capacity.end()) continue;
    Quantity used = amount;
    const auto add = [&](const DeviceResult& other) {
      if (!(IdOf(other) == id)) return;
      const auto taken = other.consumed_capacity.find(name);
      if (taken != other.consumed_capacity.end()) used.Add(taken->second);
    };
    std::vector<std::string_view> names;
    for (const Holding* sharer : sharers) {
      std::ranges::for_each(sharer->results, add);
      names.push_back(sharer->claim);
    }
    std::ranges::for_each(std::span(wanted.results).first(index), add);
    if (used.Compare(there->second.value) <= 0) continue;
    return Fail(
        Code::kForbidden,
        fmt::format("device {} cannot be allocated to claim {}: {} of its {} {} would be "
                    "in use; it is shared with {}",
                    id.ToString(), wanted.claim, used.ToString(), there->second.value.ToString(),
                    name,
                    names.empty() ? "nobody else" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return {};
}

std::string Ledger::UsersOfCounters(const DeviceId& id, std::string_view uid) const {
  const auto sets_of = [&](const DeviceId& device) {
    std::set<std::string> sets;
    const Value* json = inventory_.FindDevice(device);
    if (json == nullptr) return sets;
    for (const Value& consumption : (*json)["consumesCounters"].Items()) {
      sets.emplace(consumption["counterSet"].AsString());
    }
    return sets;
  };
  const std::set<std::string> wanted = sets_of(id);
  std::set<std::string> users;
  const DeviceId begin{id.driver, id.pool, ""};
  for (auto at = holders_.lower_bound(begin); at != holders_.end(); ++at) {
    const DeviceId& other = at->first;
    if (other.driver != id.driver || other.pool != id.pool) break;
    const std::set<std::string> sets = sets_of(other);
    if (std::ranges::none_of(sets, [&](const auto& set) { return wanted.contains(set); })) continue;
    for (const Holding* holding : OthersOn(other, uid)) {
      users.insert(fmt::format("{} is allocated to claim {}", other.device, holding->claim));
    }
  }
  return users.empty() ? "this claim takes the rest" : fmt::format("{}", fmt::join(users, ", "));
}

}  // namespace drachma::webhook
