#include "allocator/attempt.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace drachma::allocator {
namespace {

constexpr std::string_view kOptionalNodeOperations = "DRAOptionalNodeOperations";

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

}  // namespace

bool GroupState::Admits(const std::vector<std::string>& others) const {
  if (!members) return true;
  if (others.empty()) return without;
  return !without &&
         std::ranges::any_of(others, [&](const auto& group) { return Contains(groups, group); });
}

void GroupState::Add(const std::vector<std::string>& others) {
  if (!members) {
    members = true;
    without = others.empty();
    groups = others;
  } else if (!without && !others.empty()) {
    std::erase_if(groups, [&](const std::string& group) { return !Contains(others, group); });
  }
}

Attempt::Attempt(const Problem::Impl& problem, NodeIndex node, const Overlay& overlay)
    : problem_(problem),
      table_(*problem.table),
      node_(table_.nodes[node].node),
      view_(table_.ViewOf(node)),
      features_(problem.features()),
      node_skips_operations_(Contains(node_.declared_features, kOptionalNodeOperations)) {
  busy_.resize(view_.words);
  for (const NodeSlice& slice : view_.slices) {
    for (std::size_t w = 0; w < WordsFor(slice.devices); ++w) {
      busy_[slice.first_word + w] = table_.exclusive[slice.slice->first_word + w];
    }
  }
  pools_.resize(view_.pools.size());
  constraints_.resize(problem.claims.size());
  for (std::size_t c = 0; c < problem.claims.size(); ++c) {
    constraints_[c].resize(problem.plans_by_claim[c].constraints.size());
  }
  results_.resize(problem.claims.size());
  if (!overlay.empty()) ApplyOverlay(overlay);
}

const UsageSum& Attempt::BaseUsage(std::uint32_t position) const {
  if (const auto changed = overrides_.find(position); changed != overrides_.end()) {
    return changed->second;
  }
  if (const auto known = usage_.find(position); known != usage_.end()) return known->second;
  const NodeSlice& slice = view_.SliceAt(position);
  const auto& usage = slice.slice->pool->usage;
  const auto entry =
      usage.find(std::string(slice.slice->devices[position - slice.first_position].name));
  return usage_
      .emplace(position, entry == usage.end() ? UsageSum() : Inventory::Impl::Sum(entry->second))
      .first->second;
}

bool Attempt::BaseExclusive(std::uint32_t position) const {
  if (!overrides_.empty()) return BaseUsage(position).exclusive;
  const NodeSlice& slice = view_.SliceAt(position);
  return TestBit(table_.exclusive,
                 slice.slice->first_word * kWordBits + position - slice.first_position);
}

bool Attempt::InShare(std::uint32_t position) const {
  if (FindShare(position) != nullptr) return true;
  if (!overrides_.empty()) return BaseUsage(position).shared;
  const NodeSlice& slice = view_.SliceAt(position);
  return TestBit(table_.shared,
                 slice.slice->first_word * kWordBits + position - slice.first_position);
}

// --- State.

bool Attempt::MarkedBy(std::uint32_t position, std::uint32_t claim) const {
  return std::ranges::find(marks_, std::pair(position, claim)) != marks_.end();
}

const ShareState* Attempt::FindShare(std::uint32_t position) const {
  const auto share = std::ranges::find(shares_, position, &ShareState::position);
  return share == shares_.end() ? nullptr : &*share;
}

Attempt::PoolState& Attempt::StateOf(std::uint32_t pool) {
  PoolState& state = pools_[pool];
  if (state.available == nullptr) {
    const PoolView& view = *view_.pools[pool];
    state.available = &table_.AvailableOf(view);
    state.full_check = view.negative_use || view.any_negative;
    state.consumed.assign(view.counters.size(), {});
  }
  return state;
}

const std::vector<Amount>& Attempt::Available(std::uint32_t pool) {
  return *StateOf(pool).available;
}
const std::vector<Amount>& Attempt::Consumed(std::uint32_t pool) { return StateOf(pool).consumed; }
bool Attempt::CountersNeedFullCheck(std::uint32_t pool) { return StateOf(pool).full_check; }

std::span<const CounterUse> Attempt::UsesOf(std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  const ViewSlice& view = *slice.view;
  if (view.first.empty()) return {};
  const std::size_t device = position - slice.first_position;
  return std::span(view.uses).subspan(view.first[device],
                                      view.first[device + 1] - view.first[device]);
}

const std::vector<GroupUse>& Attempt::GroupsOf(std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  static const std::vector<GroupUse> kNone;
  if (slice.view->groups.empty()) return kNone;
  return view_.pools[slice.pool]->group_uses[slice.view->groups[position - slice.first_position]];
}

std::string Attempt::CounterName(std::uint32_t pool, std::uint32_t counter) const {
  const PoolView& view = *view_.pools[pool];
  return view.sets[view.counter_sets[counter]].name + "/" + view.counter_names[counter];
}

ValueId Attempt::ValueOf(const ConstraintUse& use, std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  return table_.memo.ValueOf(use.column, *slice.slice, position - slice.first_position);
}

bool Attempt::Admits(std::uint32_t claim, std::uint32_t constraint, ValueId value) const {
  const ConstraintState& state = constraints_[claim][constraint];
  if (value == kValueMissing || value == kValueFailed) return false;
  if (value == kValueUnknown) return !features_.list_type_attributes && state.empty();
  if (problem_.plans_by_claim[claim].constraints[constraint].distinct) {
    return std::ranges::none_of(state, [&](ValueId other) {
      return other >= kValueFirst && table_.memo.Intersect(other, value) != kValueMissing;
    });
  }
  return state.empty() || (state.back() >= kValueFirst &&
                           table_.memo.Intersect(state.back(), value) != kValueMissing);
}

std::vector<GroupState> Attempt::BaseGroups(std::uint32_t pool) const {
  const PoolView& view = *view_.pools[pool];
  std::vector<GroupState> base(view.sets.size());
  for (const auto* slices : {&view.slices, &view.others}) {
    for (const ViewSlice& slice : *slices) {
      if (slice.groups.empty()) continue;
      for (std::size_t i = 0; i < slice.slice->devices.size(); ++i) {
        if (!AllocatedBefore(*slice.slice, i)) continue;
        for (const GroupUse& use : view.group_uses[slice.groups[i]]) base[use.set].Add(use.groups);
      }
    }
  }
  return base;
}

const GroupState& Attempt::GroupOf(std::uint32_t pool, std::uint32_t set) {
  PoolState& state = StateOf(pool);
  if (!state.groups_ready) {
    state.groups = BaseGroups(pool);
    state.groups_ready = true;
  }
  return state.groups[set];
}

// --- Taking.

bool Attempt::CountersFit(std::uint32_t pool, std::span<const CounterUse> uses) {
  const PoolState& state = StateOf(pool);
  if (!state.full_check) {
    return std::ranges::all_of(uses, [&](const CounterUse& use) {
      return state.consumed[use.counter] + use.amount <= (*state.available)[use.counter];
    });
  }
  // Upstream compares every counter of the pool, so that one in the red blocks all of it.
  std::vector<Amount> consumed = state.consumed;
  for (const CounterUse& use : uses) consumed[use.counter] += use.amount;
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    if (consumed[i] > (*state.available)[i]) return false;
  }
  return true;
}

bool Attempt::TakeGroups(std::uint32_t position, std::uint32_t pool, Undo& undo) {
  for (const GroupUse& use : GroupsOf(position)) {
    if (!GroupOf(pool, use.set).Admits(use.groups)) return false;
    GroupState& state = pools_[pool].groups[use.set];
    undo.groups.emplace_back(use.set, state);
    state.Add(use.groups);
  }
  return true;
}

Verdict Attempt::Take(std::uint32_t plan_index, std::uint32_t position, Mode mode) {
  Undo undo;
  const RequestPlan& plan = problem_.plans[plan_index];
  const NodeSlice& slice = view_.SliceAt(position);
  const bool shares = AllowsMultiple(position);
  if (!shares && plan.admin && MarkedBy(position, plan.claim)) return Verdict::kNo;
  if (!plan.admin && Busy(position)) return Verdict::kNo;
  if (!FeaturesAllow(position)) return Verdict::kNo;

  const bool consumes = slice.slice->devices[position - slice.first_position].consumes;
  // A further share of a device must not charge its counters again.
  const bool charge = consumes && !(shares && InShare(position));
  if (charge) {
    if (features_.compatibility_groups && !TakeGroups(position, slice.pool, undo)) {
      Rollback(plan, position, undo);
      return Verdict::kNo;
    }
    const auto uses = UsesOf(position);
    if (!CountersFit(slice.pool, uses)) {
      Rollback(plan, position, undo);
      return Verdict::kNo;
    }
    for (const CounterUse& use : uses) pools_[slice.pool].consumed[use.counter] += use.amount;
    undo.counters = true;
  }
  if (!TaintsTolerated(plan, position)) {
    Rollback(plan, position, undo);
    return Verdict::kNo;
  }
  for (const ConstraintUse& use : plan.constraints) {
    const ValueId value = ValueOf(use, position);
    if (value == kValueFailed) {
      const std::size_t device = position - slice.first_position;
      const std::string& attribute =
          problem_.plans_by_claim[plan.claim].constraints[use.constraint].attribute;
      error_ = table_.memo.column(use.column).program
                   ? "evaluate derived attribute " + attribute + " on device " +
                         slice.slice->Id(device).ToString() +
                         " failed: " + table_.memo.DerivedErrorOf(use.column, *slice.slice, device)
                   : "compile derived attribute " + attribute +
                         " failed: " + table_.memo.column(use.column).compile_error;
      Rollback(plan, position, undo);
      return Verdict::kError;
    }
    if (!Admits(plan.claim, use.constraint, value)) {
      Rollback(plan, position, undo);
      if (mode == Mode::kMay) return Verdict::kNo;
      error_ = "claim " + problem_.claims[plan.claim].Ref() + ", request " + plan.own_name +
               ": cannot add device " +
               slice.slice->Id(position - slice.first_position).ToString() +
               " because a claim constraint would not be satisfied";
      return Verdict::kError;
    }
    ConstraintState& state = constraints_[plan.claim][use.constraint];
    const bool distinct = problem_.plans_by_claim[plan.claim].constraints[use.constraint].distinct;
    state.push_back(distinct || state.empty() ? value : table_.memo.Intersect(state.back(), value));
    ++undo.constraints;
  }
  if (!shares) {
    marks_.emplace_back(position, plan.claim);
    SetBit(busy_, position);
    undo.marked = true;
  }
  if (const Verdict capacity = HasCapacity(plan_index, position, CapacityUse::kCurrent);
      capacity != Verdict::kYes) {
    Rollback(plan, position, undo);
    return capacity;
  }
  if (shares) {
    const Consumption& consumption = ConsumptionOf(plan_index, position);
    auto share = std::ranges::find(shares_, position, &ShareState::position);
    if (share == shares_.end()) {
      shares_.push_back({.position = position, .consumed = {}});
      share = shares_.end() - 1;
      share->consumed.resize(consumption.amounts.size());
    }
    ++share->count;
    for (std::size_t i = 0; i < consumption.amounts.size(); ++i) {
      share->consumed[i] += consumption.amounts[i];
    }
    undo.shared = true;
  }
  picks_.push_back({.plan = plan_index, .position = position});
  undo_.push_back(std::move(undo));
  ++results_[plan.claim];
  return Verdict::kYes;
}

void Attempt::TakeBackTo(std::size_t picks) {
  while (picks_.size() > picks) TakeBack();
}

void Attempt::SortPicks() {
  for (auto first = picks_.begin(); first != picks_.end();) {
    const auto end = std::find_if(first, picks_.end(),
                                  [&](const Pick& pick) { return pick.plan != first->plan; });
    std::sort(first, end, [](const Pick& a, const Pick& b) { return a.position < b.position; });
    first = end;
  }
  undo_.clear();
}

void Attempt::TakeBack() {
  const Pick pick = picks_.back();
  picks_.pop_back();
  Undo undo = std::move(undo_.back());
  undo_.pop_back();
  const RequestPlan& plan = problem_.plans[pick.plan];
  --results_[plan.claim];
  if (undo.shared) {
    const Consumption& consumption = ConsumptionOf(pick.plan, pick.position);
    const auto share = std::ranges::find(shares_, pick.position, &ShareState::position);
    for (std::size_t i = 0; i < consumption.amounts.size(); ++i) {
      share->consumed[i] -= consumption.amounts[i];
    }
    if (--share->count == 0) shares_.erase(share);
  }
  Rollback(plan, pick.position, undo);
}

void Attempt::Rollback(const RequestPlan& plan, std::uint32_t position, Undo& undo) {
  if (undo.marked) {
    marks_.pop_back();
    const bool still =
        BaseExclusive(position) ||
        std::ranges::any_of(marks_, [&](const auto& mark) { return mark.first == position; });
    if (!still) ClearBit(busy_, position);
  }
  for (; undo.constraints > 0; --undo.constraints) {
    constraints_[plan.claim][plan.constraints[undo.constraints - 1].constraint].pop_back();
  }
  const std::uint32_t pool = view_.SliceAt(position).pool;
  for (auto saved = undo.groups.rbegin(); saved != undo.groups.rend(); ++saved) {
    pools_[pool].groups[saved->first] = std::move(saved->second);
  }
  if (undo.counters) {
    for (const CounterUse& use : UsesOf(position)) {
      pools_[pool].consumed[use.counter] -= use.amount;
    }
  }
  undo = {};
}

}  // namespace drachma::allocator
