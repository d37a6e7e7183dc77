#include "allocator/kinds.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "allocator/search.h"

namespace drachma::allocator {
namespace {

// A finaliser with good avalanche (splitmix64's).
std::uint64_t Scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void Append(std::string& out, std::uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void MixAmount(StateKey& key, const Amount& value) {
  const auto [low, high] = value.Hash();
  key.Mix(low);
  key.Mix(high);
}

// Numbers equal texts equally.
class Numbers {
 public:
  std::uint32_t Of(const std::string& text) {
    return numbers_.emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

// Sets that belong together.
class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t Find(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(std::uint32_t a, std::uint32_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

void StateKey::Mix(std::uint64_t value) {
  a = Scramble(a ^ value);
  b = Scramble(b + std::rotl(value, 29) + 0x5851f42d4c957f2d);
}

Kinds::Kinds(Attempt& attempt, const Order& order) : attempt_(attempt), order_(order) {
  const NodeView& view = attempt.view();
  kind_.resize(view.words * kWordBits, kNone);
  block_.resize(view.words * kWordBits, kNone);
  const std::string before = attempt.error();
  Numbers kinds;
  for (const NodeSlice& slice : view.slices) {
    for (std::uint32_t i = 0; i < slice.devices; ++i) {
      const std::uint32_t position = slice.first_position + i;
      const std::string signature = Signature(position);
      if (signature.empty()) continue;
      kind_[position] = kinds.Of(signature);
      positions_.push_back(position);
    }
  }
  attempt.set_error(before);
  FindBlocks();
  // Within a block a device's kind also says what it takes of which of the block's counters.
  Numbers block_kinds;
  Numbers local_kinds;
  for (Block& block : blocks_) {
    for (const std::uint32_t position : block.positions) {
      std::string local;
      Append(local, std::uint64_t{kind_[position]});
      for (const CounterUse& use : attempt.UsesOf(position)) {
        const auto place = std::ranges::find(block.counters, use.counter);
        Append(local, static_cast<std::uint64_t>(place - block.counters.begin()));
        use.amount.AppendTo(local);
      }
      for (const GroupUse& use : attempt.GroupsOf(position)) {
        Append(local, static_cast<std::uint64_t>(std::ranges::find(block.sets, use.set) -
                                                 block.sets.begin()));
        for (const std::string& group : use.groups) local += group + ';';
      }
      kind_[position] = local_kinds.Of(local);
    }
    block.kind = block_kinds.Of(BlockSignature(block));
  }
}

// All that distinguishes a device without its counters; empty when no request can have it or fail
// on it.
std::string Kinds::Signature(std::uint32_t position) {
  const Problem::Impl& problem = attempt_.problem();
  std::string signature;
  bool relevant = false;
  for (std::uint32_t p = 0; p < problem.plans.size(); ++p) {
    const RequestPlan& plan = problem.plans[p];
    const Verdict selectable = attempt_.Selectable(plan, position);
    signature += static_cast<char>(selectable);
    if (selectable == Verdict::kNo) continue;
    relevant = true;
    if (selectable == Verdict::kError) continue;
    // Mode All takes its devices in order and ends at the first in use, or with an error at the
    // first that a constraint refuses: then it matters where a device stands.
    if (plan.all && !plan.constraints.empty()) Append(signature, std::uint64_t{position});
    signature += attempt_.TaintsTolerated(plan, position) ? 't' : 'f';
    if (!problem.features().consumable_capacity) continue;
    if (!plan.requirements->capacity_requests && !attempt_.AllowsMultiple(position) &&
        attempt_.HasCapacity(p, position, Attempt::CapacityUse::kCurrent) == Verdict::kYes) {
      signature += 'c';
      continue;
    }
    const Consumption& consumption = attempt_.ConsumptionOf(p, position);
    signature += static_cast<char>(consumption.verdict);
    for (std::size_t i = 0; i < consumption.amounts.size(); ++i) {
      consumption.amounts[i].AppendTo(signature);
      consumption.values[i].AppendTo(signature);
    }
  }
  if (!relevant) return {};
  for (const ColumnIndex column : problem.columns) {
    Append(signature, std::uint64_t{attempt_.ValueOf({.column = column}, position)});
  }
  signature += attempt_.AllowsMultiple(position) ? 'm' : 's';
  signature += attempt_.BaseExclusive(position) ? 'x' : '-';
  signature += attempt_.FeaturesAllow(position) ? 'a' : '-';
  if (attempt_.BaseUsage(position).shared) {
    signature += 'S';
    for (const auto& [name, amount] : attempt_.BaseUsage(position).consumed) {
      signature += name + '=';
      amount.AppendTo(signature);
    }
  }
  return signature;
}

void Kinds::FindBlocks() {
  const NodeView& view = attempt_.view();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> index;  // pool, root set
  std::vector<UnionFind> ties;
  for (std::uint32_t p = 0; p < view.pools.size(); ++p) {
    const std::size_t sets = view.pools[p]->sets.size();
    ties.emplace_back(sets);
    if (sets == 0 || !attempt_.CountersNeedFullCheck(p)) continue;
    for (std::uint32_t s = 1; s < sets; ++s) ties[p].Join(0, s);
  }
  const auto sets_of = [&](std::uint32_t position) {
    std::vector<std::uint32_t> sets;
    const PoolView& pool = *view.pools[view.SliceAt(position).pool];
    for (const CounterUse& use : attempt_.UsesOf(position)) {
      sets.push_back(pool.counter_sets[use.counter]);
    }
    for (const GroupUse& use : attempt_.GroupsOf(position)) sets.push_back(use.set);
    return sets;
  };
  for (const std::uint32_t position : positions_) {
    const auto sets = sets_of(position);
    for (std::size_t i = 1; i < sets.size(); ++i) {
      ties[view.SliceAt(position).pool].Join(sets[0], sets[i]);
    }
  }
  for (const std::uint32_t position : positions_) {
    const auto sets = sets_of(position);
    if (sets.empty()) continue;
    const std::uint32_t pool = view.SliceAt(position).pool;
    const std::uint32_t root = ties[pool].Find(sets[0]);
    const auto [place, added] =
        index.emplace(std::pair(pool, root), static_cast<std::uint32_t>(blocks_.size()));
    if (added) {
      Block block{.pool = pool, .positions = {}, .counters = {}, .sets = {}};
      const PoolView& pool_view = *view.pools[pool];
      for (std::uint32_t s = 0; s < pool_view.sets.size(); ++s) {
        if (ties[pool].Find(s) != root) continue;
        block.sets.push_back(s);
        for (std::uint32_t c = 0; c < pool_view.sets[s].count; ++c) {
          block.counters.push_back(pool_view.sets[s].first + c);
        }
      }
      blocks_.push_back(std::move(block));
    }
    block_[position] = place->second;
    blocks_[place->second].positions.push_back(position);
  }
}

std::string Kinds::BlockSignature(const Block& block) const {
  std::string signature;
  Append(signature, std::uint64_t{block.sets.size()});
  for (const std::uint32_t counter : block.counters) {
    attempt_.Available(block.pool)[counter].AppendTo(signature);
  }
  if (attempt_.problem().features().compatibility_groups) {
    for (const std::uint32_t set : block.sets) {
      const GroupState& state = attempt_.GroupOf(block.pool, set);
      signature += state.members ? state.without ? '0' : '1' : '-';
      for (const std::string& group : state.groups) signature += group + ';';
    }
  }
  for (const std::uint32_t position : block.positions) {
    Append(signature, std::uint64_t{kind_[position]});
  }
  return signature;
}

// A device with what the search did to it.
StateKey Kinds::LocalKey(std::uint32_t position) const {
  StateKey key;
  key.Mix(kind_[position]);
  key.Mix(attempt_.Busy(position) ? 1 : 0);
  if (attempt_.problem().any_admin) {
    // Only for requests with admin access does it matter which claim took a device.
    std::uint64_t claims = 0;
    for (const auto& [marked, claim] : attempt_.marks()) {
      if (marked == position) claims += Scramble(claim);
    }
    key.Mix(claims);
  }
  if (const ShareState* share = attempt_.FindShare(position)) {
    key.Mix(share->count > 0 ? 1 : 0);
    for (const Amount& amount : share->consumed) MixAmount(key, amount);
  }
  return key;
}

// A block with its state. Devices before `start` are told apart from those from it on.
StateKey Kinds::BlockKey(const Block& block, std::uint32_t start) const {
  StateKey devices;
  for (const std::uint32_t position : block.positions) {
    StateKey local = LocalKey(position);
    local.Mix(position >= start ? 1 : 0);
    devices += local;
  }
  StateKey key;
  key.Mix(block.kind);
  key.Mix(devices.a);
  key.Mix(devices.b);
  for (const std::uint32_t counter : block.counters) {
    MixAmount(key, attempt_.Consumed(block.pool)[counter]);
  }
  if (attempt_.problem().features().compatibility_groups) {
    for (const std::uint32_t set : block.sets) {
      const GroupState& state = attempt_.GroupOf(block.pool, set);
      key.Mix(state.members ? state.without ? 1 : 2 : 3);
      for (const std::string& group : state.groups) key.Mix(std::hash<std::string>()(group));
    }
  }
  return key;
}

StateKey Kinds::DeviceKey(std::uint32_t position) const {
  StateKey key = LocalKey(position);
  if (block_[position] != kNone) {
    const StateKey block = BlockKey(blocks_[block_[position]], 0);
    key.Mix(block.a);
    key.Mix(block.b);
  }
  return key;
}

StateKey Kinds::SearchKey(const Place& place) const {
  StateKey sum;
  for (const std::uint32_t position : positions_) {
    if (block_[position] != kNone) continue;
    StateKey key = LocalKey(position);
    key.Mix(position >= place.start ? 1 : 0);
    sum += key;
  }
  for (const Block& block : blocks_) sum += BlockKey(block, place.start);
  StateKey key;
  key.Mix(sum.a);
  key.Mix(sum.b);
  key.Mix(place.turn);
  key.Mix(place.plan);
  key.Mix(static_cast<std::uint64_t>(place.device));
  // Only claims that want more devices matter.
  std::vector<std::uint32_t> claims;
  for (std::uint32_t t = place.turn; t < order_.size(); ++t) {
    if (std::ranges::find(claims, order_[t].claim) != claims.end()) continue;
    claims.push_back(order_[t].claim);
    MixClaim(key, order_[t].claim);
  }
  return key;
}

void Kinds::MixClaim(StateKey& key, std::uint32_t claim) const {
  key.Mix(attempt_.ResultsOf(claim));
  const auto& constraints = attempt_.problem().plans_by_claim[claim].constraints;
  for (std::uint32_t i = 0; i < constraints.size(); ++i) {
    const ConstraintState& state = attempt_.constraint(claim, i);
    key.Mix(state.size() + 1);
    if (constraints[i].distinct) {
      StateKey values;
      for (const ValueId value : state) {
        StateKey one;
        one.Mix(value);
        values += one;
      }
      key.Mix(values.a);
      key.Mix(values.b);
    } else if (!state.empty()) {
      key.Mix(state.back());
    }
  }
}

}  // namespace drachma::allocator
