#include <algorithm>
#include <utility>

#include "allocator/attempt.h"

// How an attempt looks at a device for a request.
namespace drachma::allocator {

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

}  // namespace drachma::allocator
