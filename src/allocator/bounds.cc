#include "allocator/bounds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "allocator/flow.h"
#include "allocator/search.h"

namespace drachma::allocator {
namespace {

constexpr std::int64_t kUnlimited = FlowNetwork::kUnlimited;

}  // namespace

Bounds::Bounds(Attempt& attempt, const Kinds& kinds, const Demands& demands, const Order& order)
    : attempt_(attempt),
      kinds_(kinds),
      demands_(demands),
      order_(order),
      failing_(attempt.problem().plans.size()) {
  const std::string before = attempt.error();
  for (std::uint32_t p = 0; p < failing_.size(); ++p) FindFailing(p);
  attempt.set_error(before);
}

// What a look at a device comes to that does not depend on the search: a selector that fails, an
// amount that cannot be computed, a derived attribute that cannot.
void Bounds::FindFailing(std::uint32_t index) {
  const RequestPlan& plan = attempt_.plan(index);
  std::vector<std::uint32_t>& failing = failing_[index];
  if (plan.all) {
    // Its devices are taken in order: one that is not free ends it quietly, one that a constraint
    // refuses ends the attempt. Devices behind the first that is not free are not reached.
    for (const std::uint32_t position : demands_[index].all) {
      if (plan.constraints.empty() || (!plan.admin && attempt_.BaseExclusive(position)) ||
          !attempt_.FeaturesAllow(position) || !attempt_.TaintsTolerated(plan, position)) {
        break;
      }
      failing.push_back(position);
    }
  } else {
    for (const std::uint32_t position : kinds_.positions()) {
      if (!plan.admin && attempt_.BaseExclusive(position)) continue;
      const Verdict selectable = attempt_.Selectable(plan, position);
      const bool fails =
          selectable == Verdict::kError ||
          (selectable == Verdict::kYes &&
           (attempt_.HasCapacity(index, position, Attempt::CapacityUse::kEmpty) ==
                Verdict::kError ||
            (attempt_.FeaturesAllow(position) && attempt_.TaintsTolerated(plan, position) &&
             std::ranges::any_of(plan.constraints, [&](const ConstraintUse& use) {
               return attempt_.ValueOf(use, position) == kValueFailed;
             }))));
      if (fails) failing.push_back(position);
    }
  }
  any_failing_ |= !failing.empty();
}

bool Bounds::MayFail(std::uint32_t index, std::uint32_t start) const {
  const RequestPlan& plan = attempt_.plan(index);
  if (plan.all) {
    return !failing_[index].empty() && (plan.admin || !attempt_.Busy(failing_[index].front()));
  }
  return std::ranges::any_of(failing_[index], [&](std::uint32_t position) {
    return position >= start && (plan.admin || !attempt_.Busy(position));
  });
}

std::size_t Bounds::TurnsBeforeFailure() const {
  if (!any_failing_) return order_.size();
  const auto failing = std::ranges::find_if(order_, [&](const Turn& turn) {
    return std::ranges::any_of(
        attempt_.problem().plans_by_claim[turn.claim].requests[turn.request].plans,
        [&](std::uint32_t plan) { return MayFail(plan, 0); });
  });
  return static_cast<std::size_t>(failing - order_.begin());
}

bool Bounds::order_is_free() const {
  const Problem::Impl& problem = attempt_.problem();
  return std::ranges::none_of(attempt_.view().pools, &PoolView::negative_use) &&
         std::ranges::none_of(problem.columns, [&](ColumnIndex column) {
           // A value of an unknown type is admitted where it comes first.
           return std::ranges::any_of(kinds_.positions(), [&](std::uint32_t position) {
             return attempt_.ValueOf({.column = column}, position) == kValueUnknown;
           });
         });
}

double Bounds::Plenty(const Turn& turn) {
  std::int64_t usable = 0;
  std::int64_t needed = kUnlimited;
  std::size_t constraints = 0;
  for (const std::uint32_t p :
       attempt_.problem().plans_by_claim[turn.claim].requests[turn.request].plans) {
    usable += std::ranges::count_if(kinds_.positions(), [&](std::uint32_t position) {
      return !attempt_.Busy(position) && Usable(p, position);
    });
    needed = std::min(needed, demands_[p].devices);
    constraints = std::max(constraints, attempt_.plan(p).constraints.size());
  }
  return static_cast<double>(usable - needed) / static_cast<double>(1 + constraints);
}

// What is still to be found, in the order of the search.
std::vector<Bounds::Want> Bounds::Remaining(const Place& place) const {
  const Problem::Impl& problem = attempt_.problem();
  std::vector<Want> wants;
  for (std::uint32_t t = place.turn; t < order_.size(); ++t) {
    const auto& requests = problem.plans_by_claim[order_[t].claim].requests;
    Want want{.plans = requests[order_[t].request].plans, .claim = order_[t].claim};
    const bool current = t == place.turn && place.chosen;
    if (current) want.plans = {place.plan};
    want.devices = kUnlimited;
    for (const std::uint32_t plan : want.plans) {
      want.devices = std::min(want.devices, demands_[plan].devices);
    }
    if (current) {
      want.devices -= place.device;
      want.start = place.start;
    }
    for (const std::uint32_t plan : want.plans) {
      want.may_fail = want.may_fail || (any_failing_ && MayFail(plan, want.start));
    }
    want.competes = !problem.plans[want.plans[0]].admin;
    if (want.devices > 0 || want.may_fail) wants.push_back(std::move(want));
  }
  return wants;
}

void Bounds::CollectGroups() {
  groups_.clear();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> index;  // kind, block
  for (const std::uint32_t position : kinds_.positions()) {
    if (attempt_.Busy(position)) continue;
    const bool shared = attempt_.AllowsMultiple(position);
    const std::uint32_t block = kinds_.BlockOf(position);
    if (!shared) {
      const auto [place, added] =
          index.emplace(std::pair(kinds_.KindOf(position), block), groups_.size());
      if (!added) {
        groups_[place->second].positions.push_back(position);
        continue;
      }
    }
    groups_.push_back(
        {.position = position, .block = block, .shared = shared, .positions = {position}});
  }
}

// Whether the request could take the device in the present state.
bool Bounds::Usable(std::uint32_t plan_index, std::uint32_t position) {
  const RequestPlan& plan = attempt_.plan(plan_index);
  if (attempt_.Selectable(plan, position) != Verdict::kYes || !attempt_.FeaturesAllow(position) ||
      !attempt_.TaintsTolerated(plan, position) ||
      attempt_.HasCapacity(plan_index, position, Attempt::CapacityUse::kCurrent) != Verdict::kYes) {
    return false;
  }
  for (const ConstraintUse& use : plan.constraints) {
    if (!attempt_.Admits(plan.claim, use.constraint, attempt_.ValueOf(use, position))) return false;
  }
  return CountersAllow(position);
}

// A device that gives counters back (a negative amount, which validation refuses) makes it useless
// to count them.
bool Bounds::CountersCount(std::uint32_t pool) const {
  return !attempt_.view().pools[pool]->negative_use;
}

bool Bounds::CountersAllow(std::uint32_t position) {
  const auto uses = attempt_.UsesOf(position);
  if (uses.empty() || (attempt_.AllowsMultiple(position) && attempt_.InShare(position))) {
    return true;
  }
  const std::uint32_t pool = attempt_.view().SliceAt(position).pool;
  if (!CountersCount(pool)) return true;
  if (attempt_.CountersNeedFullCheck(pool)) return false;  // a counter is in the red already
  return std::ranges::all_of(uses, [&](const CounterUse& use) {
    return attempt_.Consumed(pool)[use.counter] + use.amount <=
           attempt_.Available(pool)[use.counter];
  });
}

// Whether mode All may still get each of its devices.
bool Bounds::AllUsable(std::uint32_t index) {
  const RequestPlan& plan = attempt_.plan(index);
  return std::ranges::all_of(demands_[index].all, [&](std::uint32_t position) {
    return (plan.admin || !attempt_.Busy(position)) && Usable(index, position);
  });
}

namespace {

// How many of the amounts can be taken together at most: the smallest ones first.
std::int64_t CountWithin(const Amount& free, std::vector<std::pair<Amount, std::int64_t>> amounts) {
  std::ranges::sort(amounts);
  Amount left = free;
  std::int64_t count = 0;
  for (const auto& [amount, times] : amounts) {
    if (!amount.IsPositive()) {
      count += times;
      continue;
    }
    const std::int64_t fit = std::min(times, left.TimesOf(amount));
    count += fit;
    if (fit < times) break;
    left -= amount.Times(fit);
  }
  return count;
}

}  // namespace

// How many devices of the block can be taken together at most, when `users` are the groups that
// anybody wants.
std::int64_t Bounds::BlockLimit(std::uint32_t block,
                                const std::vector<std::uint32_t>& users) const {
  const Kinds::Block& counters = kinds_.blocks()[block];
  std::int64_t limit = kUnlimited;
  if (!CountersCount(counters.pool)) return limit;
  std::vector<std::pair<Amount, std::int64_t>> amounts;
  for (const std::uint32_t counter : counters.counters) {
    amounts.clear();
    bool taken = false;
    for (const std::uint32_t group : users) {
      Amount amount;
      for (const CounterUse& use : attempt_.UsesOf(groups_[group].position)) {
        if (use.counter == counter) amount = use.amount;
      }
      taken = taken || amount.IsPositive();
      amounts.emplace_back(std::move(amount),
                           static_cast<std::int64_t>(groups_[group].positions.size()));
    }
    if (!taken) continue;
    const Amount free =
        attempt_.Available(counters.pool)[counter] - attempt_.Consumed(counters.pool)[counter];
    limit = std::min(limit, CountWithin(free, amounts));
  }
  return limit;
}

// How many shares of a device there can be: one for each of the wants, which have its least amount
// among their plans.
std::int64_t Bounds::ShareLimit(std::uint32_t group, const std::vector<Want>& wants) {
  const std::uint32_t position = groups_[group].position;
  const ShareState* share = attempt_.FindShare(position);
  std::int64_t limit = kUnlimited;
  std::size_t index = 0;
  for (const auto& [name, capacity] : attempt_.CapacitiesOf(position)) {
    std::vector<std::pair<Amount, std::int64_t>> amounts;
    Amount free = Amount::Of(capacity.value);
    for (std::size_t w = 0; w < wants.size(); ++w) {
      if (edges_[w][group] == 0) continue;
      std::optional<Amount> least;
      for (const std::uint32_t plan : wants[w].plans) {
        const Consumption& consumption = attempt_.ConsumptionOf(plan, position);
        if (index >= consumption.amounts.size()) continue;
        if (!least || consumption.amounts[index] < *least) least = consumption.amounts[index];
      }
      amounts.emplace_back(least.value_or(Amount()), 1);
    }
    const auto& taken = attempt_.BaseUsage(position).consumed;
    if (const auto found = taken.find(name); found != taken.end()) free -= found->second;
    if (share != nullptr) free -= share->consumed[index];
    limit = std::min(limit, CountWithin(free, std::move(amounts)));
    ++index;
  }
  return limit;
}

std::vector<std::string> Bounds::NamesOf(const std::vector<Want>& wants) const {
  std::vector<std::string> names;
  for (const Want& want : wants) {
    const RequestPlan& plan = attempt_.plan(want.plans[0]);
    const api::ResourceClaim& claim = attempt_.problem().claims[plan.claim];
    names.push_back(claim.Ref() + " " + claim.requests[plan.request].name);
  }
  return names;
}

// Wants on the left, groups in the middle, blocks on the right: every want needs its number of
// devices, a device serves one want (a shared one each want once), a block no more than its limit.
// Under a distinctAttribute, what its requests take passes through the values: one device each.
std::optional<Shortage> Bounds::Flow(const std::vector<Want>& wants, const Distinction* distinct) {
  const std::size_t blocks = kinds_.blocks().size();
  std::vector<std::vector<std::uint32_t>> users(blocks);
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const bool wanted = std::ranges::any_of(edges_, [&](const auto& row) { return row[g] != 0; });
    if (wanted && groups_[g].block != Kinds::kNone && !groups_[g].shared) {
      users[groups_[g].block].push_back(g);
    }
  }
  const auto want_node = [](std::size_t w) { return static_cast<std::uint32_t>(2 + w); };
  const auto group_node = [&](std::size_t g) {
    return static_cast<std::uint32_t>(2 + wants.size() + g);
  };
  const auto block_node = [&](std::size_t b) {
    return static_cast<std::uint32_t>(2 + wants.size() + groups_.size() + b);
  };
  const auto value_node = [&](std::size_t v) {
    return static_cast<std::uint32_t>(2 + wants.size() + groups_.size() + blocks + 2 * v);
  };
  const std::size_t values = distinct == nullptr ? 0 : distinct->values;
  FlowNetwork network(2 + wants.size() + groups_.size() + blocks + 2 * values);
  for (std::size_t v = 0; v < values; ++v) network.Add(value_node(v), value_node(v) + 1, 1);
  std::int64_t needed = 0;
  for (std::size_t w = 0; w < wants.size(); ++w) {
    needed += wants[w].devices;
    network.Add(0, want_node(w), wants[w].devices);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (edges_[w][g] == 0) continue;
      const auto& positions = groups_[g].positions;
      const auto usable = positions.end() - std::ranges::lower_bound(positions, wants[w].start);
      if (distinct != nullptr && distinct->covers[w] != 0) {
        network.Add(want_node(w), value_node(distinct->value_of[w][g]), usable);
      } else {
        network.Add(want_node(w), group_node(g), usable);
      }
    }
  }
  for (std::size_t v = 0; v < values; ++v) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const bool leads = std::ranges::any_of(distinct->covered, [&](std::size_t w) {
        return edges_[w][g] != 0 && distinct->value_of[w][g] == v;
      });
      if (leads) network.Add(value_node(v) + 1, group_node(g), 1);
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    std::int64_t capacity = static_cast<std::int64_t>(group.positions.size());
    if (group.shared) {
      capacity = ShareLimit(static_cast<std::uint32_t>(g), wants);
    }
    const bool limited = group.block != Kinds::kNone && !group.shared;
    network.Add(group_node(g), limited ? block_node(group.block) : 1, capacity);
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    if (!users[b].empty()) {
      network.Add(block_node(b), 1, BlockLimit(static_cast<std::uint32_t>(b), users[b]));
    }
  }
  const std::int64_t found = network.Max(0, 1);
  if (found >= needed) return std::nullopt;
  // The wants on the source's side of the cut are those that compete for too little.
  Shortage shortage{.kind = Shortage::Kind::kDevices, .requests = {}, .what = {}};
  std::vector<Want> competing;
  for (std::size_t w = 0; w < wants.size(); ++w) {
    if (!network.Reached(want_node(w))) continue;
    competing.push_back(wants[w]);
    shortage.needed += wants[w].devices;
  }
  shortage.available = shortage.needed - (needed - found);
  shortage.requests = NamesOf(competing);
  for (std::size_t b = 0; b < blocks; ++b) {
    if (!users[b].empty() && network.Reached(block_node(b))) {
      shortage.kind = Shortage::Kind::kCounter;
      const Kinds::Block& block = kinds_.blocks()[b];
      shortage.what = attempt_.view().pools[block.pool]->sets[block.sets[0]].name;
    }
  }
  for (std::size_t g = 0; g < groups_.size() && shortage.kind == Shortage::Kind::kDevices; ++g) {
    if (groups_[g].shared && network.Reached(group_node(g))) {
      shortage.kind = Shortage::Kind::kCapacity;
    }
  }
  return shortage;
}

// Over all blocks, a counter of one name must hold the sum of what the wants take at least.
std::optional<Shortage> Bounds::Counters(const std::vector<Want>& wants) {
  if (kinds_.blocks().empty() || std::ranges::any_of(kinds_.blocks(), [&](const auto& block) {
        return !CountersCount(block.pool);
      })) {
    return std::nullopt;
  }
  std::map<std::string_view, Amount> needed;
  for (std::size_t w = 0; w < wants.size(); ++w) {
    std::map<std::string_view, Amount> least;
    bool first = true;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (edges_[w][g] == 0) continue;
      std::map<std::string_view, Amount> taken;
      if (!groups_[g].shared && groups_[g].block != Kinds::kNone) {
        const PoolView& pool =
            *attempt_.view().pools[attempt_.view().SliceAt(groups_[g].position).pool];
        for (const CounterUse& use : attempt_.UsesOf(groups_[g].position)) {
          taken[pool.counter_names[use.counter]] += use.amount;
        }
      }
      if (first) {
        least = std::move(taken);
        first = false;
        continue;
      }
      for (auto entry = least.begin(); entry != least.end();) {
        const auto other = taken.find(entry->first);
        if (other == taken.end()) {
          entry = least.erase(entry);
        } else {
          entry->second = std::min(entry->second, other->second);
          ++entry;
        }
      }
    }
    for (const auto& [name, amount] : least) needed[name] += amount.Times(wants[w].devices);
  }
  std::map<std::string_view, Amount> free;
  std::map<std::string_view, QuantityFormat> formats;
  for (const Kinds::Block& block : kinds_.blocks()) {
    const PoolView& pool = *attempt_.view().pools[block.pool];
    for (const std::uint32_t counter : block.counters) {
      const Amount left =
          attempt_.Available(block.pool)[counter] - attempt_.Consumed(block.pool)[counter];
      formats[pool.counter_names[counter]] = pool.counter_formats[counter];
      if (left.IsPositive()) free[pool.counter_names[counter]] += left;
    }
  }
  for (const auto& [name, amount] : needed) {
    if (amount <= free[name]) continue;
    return Shortage{.kind = Shortage::Kind::kCounter,
                    .requests = NamesOf(wants),
                    .what = std::string(name),
                    .needed_amount = amount.ToQuantity(formats[name]).ToString(),
                    .available_amount = free[name].ToQuantity(formats[name]).ToString()};
  }
  return std::nullopt;
}

std::optional<Shortage> Bounds::ShortageOf(std::vector<Want> wants, Detail detail) {
  // Requests with admin access compete with nobody: each is looked at alone.
  for (const Want& want : wants) {
    if (want.competes) continue;
    const auto usable = std::ranges::count_if(kinds_.positions(), [&](std::uint32_t position) {
      return position >= want.start && !attempt_.MarkedBy(position, want.claim) &&
             Usable(want.plans[0], position);
    });
    if (usable < want.devices) {
      return Shortage{.kind = Shortage::Kind::kDevices,
                      .requests = NamesOf({want}),
                      .needed = want.devices,
                      .available = usable};
    }
  }
  std::erase_if(wants, [](const Want& want) { return !want.competes || want.devices <= 0; });
  if (wants.empty()) return std::nullopt;
  CollectGroups();
  edges_.assign(wants.size(), std::vector<char>(groups_.size(), 0));
  usable_.assign(attempt_.problem().plans.size(), {});
  for (std::size_t w = 0; w < wants.size(); ++w) {
    for (const std::uint32_t plan : wants[w].plans) {
      usable_[plan].assign(groups_.size(), 0);
      if (attempt_.plan(plan).all && !AllUsable(plan)) continue;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        usable_[plan][g] = Usable(plan, groups_[g].position) ? 1 : 0;
        edges_[w][g] = static_cast<char>(edges_[w][g] | usable_[plan][g]);
      }
    }
  }
  if (auto shortage = Flow(wants, nullptr)) return shortage;
  if (auto shortage = Counters(wants)) return shortage;
  if (detail == Detail::kNamed) {
    if (auto shortage = Match(wants)) return shortage;
  }
  if (auto shortage = Distinct(wants)) return shortage;
  if (SomeChoiceFits(wants)) return std::nullopt;
  return Shortage{.kind = Shortage::Kind::kCombination, .requests = {}, .what = {}};
}

std::optional<Shortage> Bounds::FirstShortage(const Place& place) {
  return ShortageOf(Remaining(place), Detail::kNamed);
}

bool Bounds::MayComplete(const Place& place) {
  std::vector<Want> wants = Remaining(place);
  // An error is met if the search gets as far as the first request that may meet one; what follows
  // behind it does not count then.
  const auto failing = std::ranges::find(wants, true, &Want::may_fail);
  wants.erase(failing, wants.end());
  return !ShortageOf(std::move(wants), Detail::kAny);
}

}  // namespace drachma::allocator
