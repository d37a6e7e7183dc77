#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "allocator/allocator.h"
#include "allocator/change.h"
#include "allocator/prepare.h"
#include "allocator/search.h"

namespace drachma::allocator {
namespace {

std::string TextOf(const Amount& amount, QuantityFormat format) {
  return (amount.IsNegative() ? Amount() : amount).ToQuantity(format).ToString();
}

// Finds the first cause for which a device is lost to a request, in the order of Cause.
class Losses {
 public:
  explicit Losses(Attempt& attempt) : attempt_(attempt) {}

  RequestAccount AccountOf(std::uint32_t index, const Demand& demand) {
    const RequestPlan& plan = attempt_.plan(index);
    RequestAccount account{.claim = attempt_.problem().claims[plan.claim].Ref(),
                           .request = plan.name,
                           .all = plan.all,
                           .needed = demand.devices};
    for (const NodeSlice& slice : attempt_.view().slices) {
      for (std::uint32_t i = 0; i < slice.devices; ++i) {
        ++account.considered;
        if (auto loss = LossOf(index, slice.first_position + i)) {
          Add(account.losses, std::move(*loss));
        } else {
          ++account.usable;
        }
      }
    }
    std::ranges::sort(account.losses, [](const Loss& a, const Loss& b) {
      return std::tie(a.cause, a.detail, a.what, a.free, a.needed) <
             std::tie(b.cause, b.detail, b.what, b.free, b.needed);
    });
    return account;
  }

  std::optional<Loss> LossOf(std::uint32_t index, std::uint32_t position) {
    const RequestPlan& plan = attempt_.plan(index);
    const NodeSlice& slice = attempt_.view().SliceAt(position);
    const std::size_t device = position - slice.first_position;
    const bool unsupported =
        !attempt_.problem().features().binding_conditions && slice.slice->devices[device].binding;
    if (unsupported || !attempt_.FeaturesAllow(position)) return Loss{.cause = Cause::kFeatureOff};
    if (auto loss = SelectorLoss(plan, slice, device)) return loss;
    if (!slice.node_mask.empty() && !TestBit(slice.node_mask, device)) {
      return Loss{.cause = Cause::kOtherNode};
    }
    if (auto loss = CapacityLoss(index, position)) return loss;
    if (!plan.admin && attempt_.Busy(position)) {
      return Loss{.cause = Cause::kInUse, .what = HoldersOf(slice, device)};
    }
    if (auto loss = TaintLoss(plan, slice, device)) return loss;
    if (auto loss = CounterLoss(position)) return loss;
    return ConstraintLoss(plan, position);
  }

 private:
  static void Add(std::vector<Loss>& losses, Loss loss) {
    const auto same = std::ranges::find_if(losses, [&](const Loss& other) {
      return other.cause == loss.cause && other.detail == loss.detail && other.what == loss.what &&
             other.free == loss.free && other.needed == loss.needed;
    });
    if (same != losses.end()) {
      ++same->devices;
      return;
    }
    loss.devices = 1;
    losses.push_back(std::move(loss));
  }

  std::optional<Loss> SelectorLoss(const RequestPlan& plan, const NodeSlice& slice,
                                   std::size_t device) {
    const Memo& memo = attempt_.problem().table->memo;
    memo.Fill(attempt_.problem().expressions, *slice.slice);
    const std::size_t word = slice.slice->first_word + device / kWordBits;
    const std::uint64_t bit = std::uint64_t{1} << (device % kWordBits);
    for (std::size_t i = 0; i < plan.expressions.size(); ++i) {
      const Expression& expression = memo.expression(plan.expressions[i]);
      if (!expression.program) return Loss{.cause = Cause::kSelectorFault, .detail = Detail(i)};
      if ((expression.match[word].load(std::memory_order_relaxed) & bit) != 0) continue;
      if ((expression.failed[word].load(std::memory_order_relaxed) & bit) != 0) {
        return Loss{.cause = Cause::kSelectorFault, .detail = Detail(i)};
      }
      const bool of_class = i < plan.class_expressions;
      return Loss{.cause = of_class ? Cause::kClassSelector : Cause::kRequestSelector,
                  .detail = Detail(of_class ? i : i - plan.class_expressions),
                  .what = of_class ? plan.device_class.name : std::string()};
    }
    return std::nullopt;
  }
  static int Detail(std::size_t index) { return static_cast<int>(index); }

  std::optional<Loss> CapacityLoss(std::uint32_t index, std::uint32_t position) {
    if (!attempt_.problem().features().consumable_capacity ||
        attempt_.HasCapacity(index, position, Attempt::CapacityUse::kCurrent) == Verdict::kYes) {
      return std::nullopt;
    }
    const Consumption& consumption = attempt_.ConsumptionOf(index, position);
    if (consumption.verdict != Consumption::Verdict::kPossible) {
      return Loss{.cause = Cause::kCapacity, .what = consumption.capacity};
    }
    const Capacities& capacities = attempt_.CapacitiesOf(position);
    const CapacityFit fit =
        Fits(consumption, capacities, attempt_.BaseUsage(position).consumed, nullptr);
    const auto name = std::next(capacities.begin(), static_cast<std::ptrdiff_t>(fit.capacity));
    return Loss{.cause = Cause::kCapacity,
                .what = name->first,
                .free = TextOf(fit.free, name->second.value.format()),
                .needed = consumption.quantities[fit.capacity].ToString()};
  }

  std::string HoldersOf(const NodeSlice& slice, std::size_t device) const {
    std::string text;
    for (const std::string& holder :
         attempt_.problem().inventory->HoldersOf(slice.slice->Id(device))) {
      if (!text.empty()) text += ", ";
      text += holder;
    }
    return text;
  }

  std::optional<Loss> TaintLoss(const RequestPlan& plan, const NodeSlice& slice,
                                std::size_t device) const {
    if (attempt_.TaintsTolerated(plan, slice.first_position + static_cast<std::uint32_t>(device))) {
      return std::nullopt;
    }
    for (const auto& [tainted, taint] : slice.slice->taints) {
      const bool tolerated = std::ranges::any_of(plan.requirements->tolerations,
                                                 [&](const auto& t) { return t.Tolerates(taint); });
      if (tainted != device || !taint.PreventsAllocation() || tolerated) continue;
      return Loss{
          .cause = Cause::kTaint,
          .what = taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect};
    }
    return std::nullopt;
  }

  std::optional<Loss> CounterLoss(std::uint32_t position) {
    if (attempt_.AllowsMultiple(position) && attempt_.InShare(position)) return std::nullopt;
    const std::uint32_t pool = attempt_.view().SliceAt(position).pool;
    for (const CounterUse& use : attempt_.UsesOf(position)) {
      const Amount free =
          attempt_.Available(pool)[use.counter] - attempt_.Consumed(pool)[use.counter];
      if (use.amount <= free) continue;
      const QuantityFormat format = attempt_.view().pools[pool]->counter_formats[use.counter];
      return Loss{.cause = Cause::kCounter,
                  .what = attempt_.CounterName(pool, use.counter),
                  .free = TextOf(free, format),
                  .needed = TextOf(use.amount, format)};
    }
    if (!attempt_.problem().features().compatibility_groups) return std::nullopt;
    for (const GroupUse& use : attempt_.GroupsOf(position)) {
      if (!attempt_.GroupOf(pool, use.set).Admits(use.groups)) {
        return Loss{.cause = Cause::kGroups,
                    .what = attempt_.view().pools[pool]->sets[use.set].name};
      }
    }
    return std::nullopt;
  }

  std::optional<Loss> ConstraintLoss(const RequestPlan& plan, std::uint32_t position) const {
    for (const ConstraintUse& use : plan.constraints) {
      if (attempt_.Admits(plan.claim, use.constraint, attempt_.ValueOf(use, position))) continue;
      return Loss{
          .cause = Cause::kConstraint,
          .detail = static_cast<int>(use.constraint),
          .what =
              attempt_.problem().plans_by_claim[plan.claim].constraints[use.constraint].attribute};
    }
    return std::nullopt;
  }

  Attempt& attempt_;
};

std::vector<std::string> UnusablePools(const NodeView& view) {
  std::vector<std::string> pools;
  for (const PoolView* pool : view.pools) {
    if (pool->state == PoolView::State::kIncomplete) {
      pools.push_back(pool->pool->Id() + " is being updated");
    } else if (pool->state == PoolView::State::kInvalid) {
      pools.push_back(pool->pool->Id() + " is invalid: " + pool->invalid_reason);
    }
  }
  return pools;
}

}  // namespace

Misfit Explain(const Problem& problem, NodeIndex node, const Overlay& overlay) {
  Attempt attempt(problem.impl(), node, overlay);
  Misfit misfit;
  misfit.pools = UnusablePools(attempt.view());
  auto demands = PrepareDemands(attempt);
  if (!demands) return misfit;
  Losses losses(attempt);
  bool each_possible = true;
  for (const ClaimPlan& claim : problem.impl().plans_by_claim) {
    for (const RequestGroup& group : claim.requests) {
      bool possible = false;
      for (const std::uint32_t p : group.plans) {
        misfit.requests.push_back(losses.AccountOf(p, (*demands)[p]));
        const RequestAccount& account = misfit.requests.back();
        possible |= static_cast<std::int64_t>(account.usable) >= account.needed &&
                    (!account.all || account.needed > 0);
      }
      each_possible = each_possible && possible;
    }
  }
  // Together they may lack what each alone would find.
  if (each_possible) {
    const Search search(attempt, *demands);
    const Kinds kinds(attempt, search.order());
    Bounds bounds(attempt, kinds, *demands, search.order());
    if (auto shortage = bounds.FirstShortage({})) {
      misfit.shortages.push_back(std::move(*shortage));
    } else {
      misfit.shortages.push_back(
          {.kind = Shortage::Kind::kCombination, .requests = {}, .what = {}});
    }
  }
  misfit.change = SmallestChange(problem, node, overlay, misfit);
  return misfit;
}

}  // namespace drachma::allocator
