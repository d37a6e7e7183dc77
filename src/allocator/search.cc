#include "allocator/search.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace drachma::allocator {
namespace {

// Steps of the plain search beyond those that a solution without any detour takes.
constexpr std::uint64_t kPlainDetours = 64;
// States remembered as dead; more are not remembered.
constexpr std::size_t kDeadMax = 1'000'000;
// What counting costs, in steps.
constexpr std::uint64_t kCountingEffort = 50;
// Effort within which the other order must show that there is no solution.
constexpr std::uint64_t kTrialEffort = 250'000;

Place PlaceOf(const Order& order, std::uint32_t turn) {
  return {.turn = turn, .claim = order[turn].claim, .request = order[turn].request};
}

}  // namespace

Search::Search(Attempt& attempt, const Demands& demands)
    : attempt_(attempt),
      problem_(attempt.problem()),
      demands_(demands),
      alternatives_(attempt.problem().requests, -1, attempt.arena()),
      plain_max_(kPlainDetours) {
  for (const Demand& demand : demands_) {
    plain_max_ +=
        2 + static_cast<std::uint64_t>(std::clamp<std::int64_t>(demand.devices, 0, kResultsMax));
  }
  order_.reserve(problem_.requests);
  for (std::uint32_t c = 0; c < problem_.claims.size(); ++c) {
    for (std::uint32_t r = 0; r < problem_.plans_by_claim[c].requests.size(); ++r) {
      order_.push_back({.claim = c, .request = r});
    }
  }
}

Found Search::Run() { return RunFrom({}); }

Found Search::RunFrom(Place place) {
  place.turn = problem_.plans_by_claim[place.claim].first_request + place.request;
  const Found found = Step(place);
  if (found != Found::kRestart) return found;
  StartPruning();
  if (bounds_ != nullptr && (!bounds_->MayComplete(place) || ShownImpossible(place))) {
    counted_ = true;
    return Found::kNo;
  }
  effort_max_ = problem_.table->options.work_max;
  return Step(place);
}

void Search::StartPruning() {
  kinds_ = std::make_unique<Kinds>(attempt_, order_);
  bounds_ = std::make_unique<Bounds>(attempt_, *kinds_, demands_, order_);
  // At a claim that would get too many devices upstream gives up other devices as well, before it
  // might meet an error there. Counting cannot tell where that happens.
  if (bounds_->any_failing() && problem_.may_exceed) bounds_.reset();
}

// In any order the same sets of devices are solutions, but for admin access, which is marked for
// those that come later, and counters that are given back.
bool Search::ShownImpossible(const Place& place) {
  if (place.turn != 0 || place.device != 0 || problem_.any_admin || !bounds_->order_is_free()) {
    return false;
  }
  const Order upstream = order_;
  order_.resize(bounds_->TurnsBeforeFailure());
  std::vector<std::pair<double, Turn>> scarce;
  for (const Turn& turn : order_) scarce.emplace_back(bounds_->Plenty(turn), turn);
  std::ranges::stable_sort(scarce, {}, &std::pair<double, Turn>::first);
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = scarce[i].second;
  effort_max_ = effort_ + kTrialEffort;
  const std::size_t picks = attempt_.picks().size();
  const Found found = order_.empty() ? Found::kYes : Step(PlaceOf(order_, 0));
  attempt_.TakeBackTo(picks);
  order_ = upstream;
  dead_.clear();
  std::ranges::fill(alternatives_, -1);
  return found == Found::kNo || found == Found::kLimit;
}

Found Search::Next(const Place& place) {
  const std::uint32_t turn = place.turn + 1;
  if (turn >= order_.size()) return Found::kYes;
  const Found found = Step(PlaceOf(order_, turn));
  // Too many devices in another claim: other choices here may change its alternatives.
  return found == Found::kLimit && order_[turn].claim != place.claim ? Found::kNo : found;
}

Found Search::Step(Place place) {
  ++work_;
  ++effort_;
  if (kinds_ == nullptr) {
    if (work_ > plain_max_) return Found::kRestart;
  } else if (effort_ > effort_max_) {
    return Found::kWork;
  }
  if (place.turn >= order_.size()) return Found::kYes;
  const ClaimPlan& claim = problem_.plans_by_claim[place.claim];
  const RequestGroup& group = claim.requests[place.request];
  if (!place.chosen) {
    if (group.alternatives) return EachAlternative(place);
    place.plan = group.plans[0];
    place.chosen = true;
  }
  const Demand& demand = demands_[place.plan];
  const bool all = problem_.plans[place.plan].all;
  if (all && demand.all.empty()) return Found::kNo;
  if (place.device >= demand.devices) {
    return Next(place);
  }
  const auto left = kResultsMax - static_cast<std::int64_t>(attempt_.ResultsOf(place.claim));
  if (demand.devices - place.device > left) return Found::kLimit;
  return all ? TakeAll(place) : TakeOne(place);
}

Found Search::EachAlternative(Place place) {
  const ClaimPlan& claim = problem_.plans_by_claim[place.claim];
  const RequestGroup& group = claim.requests[place.request];
  const std::size_t request = claim.first_request + place.request;
  bool all_exceed = true;
  place.chosen = true;
  for (std::size_t s = 0; s < group.plans.size(); ++s) {
    if (fixed_ != nullptr && (*fixed_)[request] != static_cast<int>(s)) continue;
    place.plan = group.plans[s];
    const Found found = Step(place);
    if (found == Found::kLimit) continue;
    all_exceed = false;
    if (found == Found::kYes) {
      alternatives_[request] = static_cast<int>(s);
    }
    if (found != Found::kNo) return found;
  }
  return all_exceed ? Found::kLimit : Found::kNo;
}

Found Search::TakeAll(Place place) {
  const std::uint32_t position = demands_[place.plan].all[static_cast<std::size_t>(place.device)];
  const Verdict taken = attempt_.Take(place.plan, position, Attempt::Mode::kMust);
  if (taken == Verdict::kError) return Found::kError;
  if (taken == Verdict::kNo) return Found::kNo;
  Place next = place;
  ++next.device;
  next.start = 0;
  const Found found = Step(next);
  if (found != Found::kYes) attempt_.TakeBack();
  return found;
}

Found Search::TryDevice(Place place, std::uint32_t position) {
  const RequestPlan& plan = problem_.plans[place.plan];
  if (plan.admin && attempt_.MarkedBy(position, place.claim)) return Found::kNo;
  Verdict verdict = attempt_.Selectable(plan, position);
  if (verdict == Verdict::kYes) {
    verdict = attempt_.HasCapacity(place.plan, position, Attempt::CapacityUse::kCurrent);
  }
  if (verdict == Verdict::kYes) {
    verdict = attempt_.Take(place.plan, position, Attempt::Mode::kMay);
  }
  if (verdict == Verdict::kError) return Found::kError;
  if (verdict == Verdict::kNo) return Found::kNo;
  Place next = place;
  ++next.device;
  next.start = position + 1;
  const Found found = Step(next);
  if (found != Found::kYes) attempt_.TakeBack();
  return found;
}

Found Search::TakeOne(Place place) {
  const RequestPlan& plan = problem_.plans[place.plan];
  std::optional<StateKey> state;
  if (kinds_ != nullptr) {
    if (bounds_ != nullptr) {
      effort_ += kCountingEffort;
      if (!bounds_->MayComplete(place)) return Found::kNo;
    }
    state = kinds_->SearchKey(place);
    if (dead_.contains(*state)) return Found::kNo;
  }
  std::vector<StateKey> tried;
  const NodeView& view = attempt_.view();
  for (std::size_t word = place.start / kWordBits; word < view.words; ++word) {
    const NodeSlice& slice = view.slices[view.slice_of_word[word]];
    std::uint64_t bits = attempt_.CandidateBits(plan, slice, word - slice.first_word);
    if (!plan.admin) bits &= ~attempt_.BusyWord(word);
    if (word == place.start / kWordBits) bits &= ~std::uint64_t{0} << (place.start % kWordBits);
    for (; bits != 0; bits &= bits - 1) {
      const auto position = static_cast<std::uint32_t>(word * kWordBits) + std::countr_zero(bits);
      if (kinds_ != nullptr && !tried.empty() &&
          std::ranges::find(tried, kinds_->DeviceKey(position)) != tried.end()) {
        continue;
      }
      const Found found = TryDevice(place, position);
      if (found != Found::kNo) return found;
      if (kinds_ != nullptr) tried.push_back(kinds_->DeviceKey(position));
    }
  }
  if (state && dead_.size() < kDeadMax) dead_.insert(*state);
  return Found::kNo;
}

}  // namespace drachma::allocator
