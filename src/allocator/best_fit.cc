#include "allocator/best_fit.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace drachma::allocator {
namespace {

// What taking one device costs, in the order of importance.
struct Cost {
  double group = 0;      // devices left over in the constraint group that it breaks
  double partition = 0;  // partitions that become impossible, large ones much more
  double slack = 0;      // what it has beyond what was asked
  std::uint32_t position = 0;

  friend auto operator<=>(const Cost&, const Cost&) = default;
};

// For one number per choice: groups count before partitions, partitions before slack.
constexpr double kGroupWeight = 1e4;
constexpr double kPartitionWeight = 1e2;

class BestFit {
 public:
  BestFit(Attempt& attempt, Search& search) : attempt_(attempt), search_(search) {}

  double Choose(std::uint64_t& work) {
    attempt_.TakeBackTo(0);
    const Problem::Impl& problem = attempt_.problem();
    const Alternatives& alternatives = search_.alternatives();
    for (std::uint32_t c = 0; c < problem.claims.size(); ++c) {
      const auto& requests = problem.plans_by_claim[c].requests;
      for (std::uint32_t r = 0; r < requests.size(); ++r) {
        const auto chosen = static_cast<std::size_t>(
            std::max(alternatives[problem.plans_by_claim[c].first_request + r], 0));
        ChooseFor({.claim = c, .request = r, .plan = requests[r].plans[chosen], .chosen = true},
                  alternatives, work);
      }
    }
    attempt_.SortPicks();
    return total_;
  }

 private:
  void ChooseFor(Place place, const Alternatives& alternatives, std::uint64_t& work) {
    const Demand& demand = search_.demands()[place.plan];
    for (; place.device < demand.devices; ++place.device) {
      if (attempt_.plan(place.plan).all) {
        static_cast<void>(attempt_.Take(
            place.plan, demand.all[static_cast<std::size_t>(place.device)], Attempt::Mode::kMust));
        continue;
      }
      ChooseOne(place, alternatives, work);
    }
  }

  // The cheapest device with which the rest can still be found.
  void ChooseOne(const Place& place, const Alternatives& alternatives, std::uint64_t& work) {
    std::vector<std::uint32_t> candidates;
    for (const NodeSlice& slice : attempt_.view().slices) {
      for (std::uint32_t i = 0; i < slice.devices; ++i) {
        const std::uint32_t position = slice.first_position + i;
        if (IsCandidate(place, position)) candidates.push_back(position);
      }
    }
    std::vector<Cost> costs;
    for (const std::uint32_t position : candidates) {
      costs.push_back(CostOf(place.plan, position, candidates));
    }
    std::ranges::sort(costs);
    Place next = place;
    ++next.device;
    for (const Cost& cost : costs) {
      if (attempt_.Take(place.plan, cost.position, Attempt::Mode::kMay) != Verdict::kYes) continue;
      const std::size_t picks = attempt_.picks().size();
      Search rest(attempt_, search_.demands());
      rest.FixAlternatives(alternatives);
      const Found found = rest.RunFrom(next);
      work += rest.work();
      if (found == Found::kYes) {
        attempt_.TakeBackTo(picks);
        total_ += cost.group * kGroupWeight + cost.partition * kPartitionWeight + cost.slack;
        return;
      }
      attempt_.TakeBack();
    }
  }

  bool IsCandidate(const Place& place, std::uint32_t position) {
    const RequestPlan& plan = attempt_.plan(place.plan);
    if (plan.admin ? attempt_.MarkedBy(position, place.claim) : attempt_.Busy(position)) {
      return false;
    }
    // A share of a device that this request already has would be a second one.
    const auto picks = attempt_.picks();
    const bool taken = std::ranges::any_of(picks, [&](const Pick& pick) {
      return pick.plan == place.plan && pick.position == position;
    });
    return !taken && attempt_.Selectable(plan, position) == Verdict::kYes &&
           attempt_.HasCapacity(place.plan, position, Attempt::CapacityUse::kCurrent) ==
               Verdict::kYes;
  }

  Cost CostOf(std::uint32_t plan, std::uint32_t position,
              const std::vector<std::uint32_t>& candidates) {
    return {.group = GroupCost(plan, position, candidates),
            .partition = PartitionCost(position),
            .slack = Slack(plan, position, candidates),
            .position = position};
  }

  // How many free devices share the value that the device brings: the smallest group that will do
  // leaves the larger ones whole.
  double GroupCost(std::uint32_t plan_index, std::uint32_t position,
                   const std::vector<std::uint32_t>& candidates) {
    const RequestPlan& plan = attempt_.plan(plan_index);
    const auto members = [&](const ConstraintUse& use) {
      const ValueId own = attempt_.ValueOf(use, position);
      if (own < kValueFirst) return 0.0;
      return static_cast<double>(std::ranges::count_if(
          candidates, [&](std::uint32_t other) { return attempt_.ValueOf(use, other) == own; }));
    };
    for (const ConstraintUse& use : plan.constraints) {
      const auto& constraint =
          attempt_.problem().plans_by_claim[plan.claim].constraints[use.constraint];
      if (!constraint.distinct && attempt_.constraint(plan.claim, use.constraint).empty()) {
        return members(use);
      }
    }
    const auto natural = attempt_.problem().natural_group;
    return natural && plan.constraints.empty() ? members({.column = *natural}) : 0.0;
  }

  // Free devices on the same counters that are possible now and would not be any more.
  double PartitionCost(std::uint32_t position) {
    const auto uses = attempt_.UsesOf(position);
    if (uses.empty() || (attempt_.AllowsMultiple(position) && attempt_.InShare(position))) return 0;
    const std::uint32_t pool = attempt_.view().SliceAt(position).pool;
    const std::vector<Amount>& available = attempt_.Available(pool);
    const std::vector<Amount>& consumed = attempt_.Consumed(pool);
    double cost = 0;
    for (const NodeSlice& slice : attempt_.view().slices) {
      if (slice.pool != pool || slice.view->first.empty()) continue;
      for (std::uint32_t i = 0; i < slice.devices; ++i) {
        const std::uint32_t other = slice.first_position + i;
        if (other == position || attempt_.Busy(other)) continue;
        bool possible = true;
        bool lost = false;
        double size = 0;
        for (const CounterUse& use : attempt_.UsesOf(other)) {
          const Amount free = available[use.counter] - consumed[use.counter];
          possible = possible && use.amount <= free;
          for (const CounterUse& own : uses) {
            lost |= own.counter == use.counter && own.amount + use.amount > free;
          }
          const Amount& all = attempt_.view().pools[pool]->counters[use.counter];
          if (all.IsPositive()) {
            size = std::max(size, use.amount.ToDouble() / all.ToDouble());
          }
        }
        // The fourth power puts one whole device before any number of its small parts.
        if (possible && lost) cost += size * size * size * size;
      }
    }
    return cost;
  }

  // The part of its capacities that the request leaves unused, against the largest candidate's.
  double Slack(std::uint32_t plan, std::uint32_t position,
               const std::vector<std::uint32_t>& candidates) {
    std::map<std::string_view, double> largest;
    for (const std::uint32_t candidate : candidates) {
      for (const auto& [name, capacity] : attempt_.CapacitiesOf(candidate)) {
        double& most = largest[name];
        most = std::max(most, Amount::Of(capacity.value).ToDouble());
      }
    }
    double slack = 0;
    std::size_t index = 0;
    for (const auto& [name, capacity] : attempt_.CapacitiesOf(position)) {
      Amount left = Amount::Of(capacity.value);
      if (attempt_.AllowsMultiple(position)) {
        const Consumption& consumption = attempt_.ConsumptionOf(plan, position);
        left -= consumption.amounts[index];
        const auto& taken = attempt_.BaseUsage(position).consumed;
        if (const auto found = taken.find(name); found != taken.end()) left -= found->second;
        if (const ShareState* share = attempt_.FindShare(position)) left -= share->consumed[index];
      }
      if (largest[name] > 0) slack += left.ToDouble() / largest[name];
      ++index;
    }
    return slack;
  }

  Attempt& attempt_;
  Search& search_;
  double total_ = 0;
};

}  // namespace

double PreferBestFit(Attempt& attempt, Search& search, std::uint64_t& work) {
  return BestFit(attempt, search).Choose(work);
}

}  // namespace drachma::allocator
