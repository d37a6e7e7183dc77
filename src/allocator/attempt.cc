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

// --- The overlay.

void Attempt::SetBaseUsage(std::uint32_t position, UsageSum usage) {
  usage.exclusive ? SetBit(busy_, position) : ClearBit(busy_, position);
  overrides_.insert_or_assign(position, std::move(usage));
}

void Attempt::ApplyOverlay(const Overlay& overlay) {
  std::vector<std::uint32_t> released;
  for (const std::string& uid : overlay.released()) {
    if (const std::uint32_t claim = table_.FindClaim(uid); claim != kNoClaim) {
      released.push_back(claim);
    }
  }
  const auto for_each_of = [&](const Pool* pool, std::string_view device, const auto& change) {
    for (const NodeSlice& slice : view_.slices) {
      if (slice.slice->pool != pool) continue;
      for (std::uint32_t i = 0; i < slice.devices; ++i) {
        if (slice.slice->devices[i].name == device) change(slice.first_position + i);
      }
    }
  };
  for (const std::uint32_t claim : released) {
    for (const auto& held : table_.claims[claim].held) {
      for_each_of(held.pool, held.device, [&](std::uint32_t position) {
        SetBaseUsage(position, Inventory::Impl::Sum(held.pool->usage.at(held.device), released));
      });
    }
  }
  for (const api::AllocationResult& allocation : overlay.taken()) {
    for (const api::DeviceResult& result : allocation.results) {
      if (result.admin_access.value_or(false)) continue;
      const Pool* pool = table_.FindPool(result.driver, result.pool);
      for_each_of(pool, result.device, [&](std::uint32_t position) {
        UsageSum usage = BaseUsage(position);
        usage.exclusive |= !result.share_id;
        usage.shared |= result.share_id.has_value();
        for (const auto& [name, amount] : result.consumed_capacity) {
          usage.consumed[name] += amount.Nano();
        }
        SetBaseUsage(position, std::move(usage));
      });
    }
  }
  // Counters of pools that the overlay touches are summed anew. Devices of other nodes in the same
  // pool keep their usage unless a released claim held them.
  for (std::uint32_t p = 0; p < view_.pools.size(); ++p) {
    const PoolView& pool = *view_.pools[p];
    if (pool.counters.empty()) continue;
    PoolState& state = pools_[p];
    state.own_available = AvailableCounters(pool, [&](const Slice& slice, std::size_t device) {
      for (const NodeSlice& own : view_.slices) {
        if (own.slice != &slice) continue;
        const auto changed =
            overrides_.find(own.first_position + static_cast<std::uint32_t>(device));
        if (changed != overrides_.end()) return changed->second.allocated();
      }
      const auto usage = slice.pool->usage.find(std::string(slice.devices[device].name));
      return usage != slice.pool->usage.end() &&
             Inventory::Impl::Sum(usage->second, released).allocated();
    });
    state.available = &state.own_available;
    state.full_check = pool.negative_use ||
                       std::ranges::any_of(state.own_available, [](Amount a) { return a < 0; });
    state.consumed.assign(pool.counters.size(), 0);
  }
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

// --- Looks at a device.

std::uint64_t Attempt::CandidateBits(const RequestPlan& plan, const NodeSlice& slice,
                                     std::size_t word) const {
  const std::size_t in_table = slice.slice->first_word + word;
  const std::size_t left = slice.devices - word * kWordBits;
  std::uint64_t bits = left >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
  if (!features_.binding_conditions) bits &= ~slice.slice->binding_mask[word];
  Conjunction conjunction(bits);
  for (const ExpressionIndex index : plan.expressions) {
    const Expression& expression = table_.memo.expression(index);
    if (!expression.program) return bits;  // the compile error must come out
    conjunction.Add(expression, in_table);
  }
  return conjunction.bits();
}

std::string Attempt::SelectorFailure(const RequestPlan& plan, std::size_t selector,
                                     const NodeSlice& slice, std::size_t device,
                                     const std::string& error, bool compile) const {
  const bool of_class = selector < plan.class_expressions;
  std::string text =
      of_class ? "class " + plan.device_class.name + ": selector #" + std::to_string(selector)
               : "claim " + problem_.claims[plan.claim].Ref() + ": selector #" +
                     std::to_string(selector - plan.class_expressions);
  if (compile) return text + ": CEL compile error: " + error;
  return text + " on device " + slice.slice->Id(device).ToString() +
         ": CEL runtime error: " + error;
}

Verdict Attempt::Selectable(const RequestPlan& plan, std::uint32_t position) {
  const NodeSlice& slice = view_.SliceAt(position);
  const std::size_t device = position - slice.first_position;
  if (!features_.binding_conditions && slice.slice->devices[device].binding) return Verdict::kNo;
  const std::size_t word = slice.slice->first_word + device / kWordBits;
  const std::uint64_t bit = std::uint64_t{1} << (device % kWordBits);
  for (std::size_t i = 0; i < plan.expressions.size(); ++i) {
    const Expression& expression = table_.memo.expression(plan.expressions[i]);
    if (!expression.program) {
      error_ = SelectorFailure(plan, i, slice, device, expression.compile_error, true);
      return Verdict::kError;
    }
    if ((expression.known[word].load(std::memory_order_acquire) & bit) == 0) {
      table_.memo.Fill(problem_.expressions, *slice.slice);
    }
    if ((expression.match[word].load(std::memory_order_relaxed) & bit) != 0) continue;
    if ((expression.failed[word].load(std::memory_order_relaxed) & bit) == 0) return Verdict::kNo;
    if (table_.options.selector_errors == SelectorErrors::kFail) {
      error_ =
          SelectorFailure(plan, i, slice, device,
                          table_.memo.ErrorOf(plan.expressions[i], *slice.slice, device), false);
      return Verdict::kError;
    }
    const Fault fault{plan.expressions[i], slice.slice, static_cast<std::uint32_t>(device)};
    if (std::ranges::find(faults_, fault) == faults_.end()) faults_.push_back(fault);
    return Verdict::kNo;
  }
  if (!slice.node_mask.empty()) {
    if (TestBit(slice.node_fault, device)) {
      error_ = slice.slice->device_scopes[device].fault;
      return Verdict::kError;
    }
    if (!TestBit(slice.node_mask, device)) return Verdict::kNo;
  }
  return Verdict::kYes;
}

const Capacities& Attempt::CapacitiesOf(std::uint32_t position) {
  const NodeSlice& slice = view_.SliceAt(position);
  const std::size_t device = position - slice.first_position;
  if (!slice.slice->capacity.empty()) return slice.slice->capacity[device];
  if (const auto known = capacities_.find(position); known != capacities_.end()) {
    return known->second;
  }
  return capacities_
      .emplace(position, api::CapacityOf(slice.slice->DeviceJson(device)).value_or(Capacities()))
      .first->second;
}

const Consumption& Attempt::ConsumptionOf(std::uint32_t plan, std::uint32_t position) {
  const auto key = std::pair(plan, position);
  if (const auto known = consumption_.find(key); known != consumption_.end()) return known->second;
  return consumption_
      .emplace(key, Resolve(problem_.plans[plan].requirements->capacity_requests,
                            CapacitiesOf(position), features_.fractional_capacity_range))
      .first->second;
}

Verdict Attempt::HasCapacity(std::uint32_t plan, std::uint32_t position, CapacityUse use) {
  if (!features_.consumable_capacity) return Verdict::kYes;
  const NodeSlice& slice = view_.SliceAt(position);
  const std::size_t device = position - slice.first_position;
  const bool untouched = use == CapacityUse::kEmpty || !InShare(position);
  if (untouched && !problem_.plans[plan].requirements->capacity_requests &&
      TestBit(slice.slice->plain_capacity, device)) {
    return Verdict::kYes;
  }
  const Consumption& consumption = ConsumptionOf(plan, position);
  if (consumption.verdict == Consumption::Verdict::kUnsuitable) return Verdict::kNo;
  if (consumption.verdict == Consumption::Verdict::kError) {
    const RequestPlan& request = problem_.plans[plan];
    error_ = "claim " + problem_.claims[request.claim].Ref() + ", request " + request.own_name +
             ": checking capacity for device " + slice.slice->Id(device).ToString() + ": " +
             consumption.error;
    return Verdict::kError;
  }
  static const api::StringMap<Amount> kNothing;
  const ShareState* share = untouched ? nullptr : FindShare(position);
  const bool fits =
      Fits(consumption, CapacitiesOf(position), untouched ? kNothing : BaseUsage(position).consumed,
           share == nullptr ? nullptr : &share->consumed)
          .fits;
  return fits ? Verdict::kYes : Verdict::kNo;
}

bool Attempt::TaintsTolerated(const RequestPlan& plan, std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  const std::size_t device = position - slice.first_position;
  if (!features_.device_taints || !TestBit(slice.slice->blocking_taints, device)) return true;
  return std::ranges::all_of(slice.slice->taints, [&](const auto& entry) {
    return entry.first != device || !entry.second.PreventsAllocation() ||
           std::ranges::any_of(plan.requirements->tolerations, [&](const auto& toleration) {
             return toleration.Tolerates(entry.second);
           });
  });
}

bool Attempt::FeaturesAllow(std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  if (!slice.slice->skip_node_operations.empty() &&
      (!features_.optional_node_operations || !node_skips_operations_)) {
    return false;
  }
  return features_.partitionable_devices ||
         !slice.slice->devices[position - slice.first_position].consumes;
}

bool Attempt::AllowsMultiple(std::uint32_t position) const {
  const NodeSlice& slice = view_.SliceAt(position);
  return features_.consumable_capacity &&
         slice.slice->devices[position - slice.first_position].allow_multiple;
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
    state.consumed.assign(view.counters.size(), 0);
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
        const auto usage = slice.slice->pool->usage.find(std::string(slice.slice->devices[i].name));
        bool allocated = usage != slice.slice->pool->usage.end();
        for (const NodeSlice& own : view_.slices) {
          if (own.view != &slice) continue;
          allocated = BaseUsage(own.first_position + static_cast<std::uint32_t>(i)).allocated();
        }
        if (!allocated) continue;
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
