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
}

Found Search::Run() { return RunFrom({}); }

Found Search::RunFrom(Place place) {
  const Found found = Step(place);
  if (found != Found::kRestart) return found;
  StartPruning();
  if (bounds_ != nullptr && !bounds_->MayComplete(place)) {
    counted_ = true;
    return Found::kNo;
  }
  return Step(place);
}

void Search::StartPruning() {
  kinds_ = std::make_unique<Kinds>(attempt_);
  bounds_ = std::make_unique<Bounds>(attempt_, *kinds_, demands_);
  // At a claim that would get too many devices upstream gives up other devices as well, before it
  // might meet an error there. Counting cannot tell where that happens.
  if (bounds_->any_failing() && problem_.may_exceed) bounds_.reset();
}

Found Search::Step(Place place) {
  ++work_;
  if (kinds_ == nullptr) {
    if (work_ > plain_max_) return Found::kRestart;
  } else if (work_ > problem_.table->options.work_max) {
    return Found::kWork;
  }
  if (place.claim >= problem_.claims.size()) return Found::kYes;
  const ClaimPlan& claim = problem_.plans_by_claim[place.claim];
  if (place.request >= claim.requests.size()) {
    const Found found = Step({.claim = place.claim + 1});
    // Too many devices in a later claim: other choices here may change its alternatives.
    return found == Found::kLimit ? Found::kNo : found;
  }
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
    return Step({.claim = place.claim, .request = place.request + 1});
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
    if (bounds_ != nullptr && !bounds_->MayComplete(place)) return Found::kNo;
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
