#include "allocator/change.h"

#include <algorithm>
#include <set>
#include <utility>

#include "allocator/problem.h"

namespace drachma::allocator {
namespace {

// Claims that are tried for release; with more holders on the node only single ones are.
constexpr std::size_t kHoldersMax = 64;

bool FitsWith(const Problem& problem, NodeIndex node, const Overlay& overlay) {
  Random random(0);  // share ids do not matter here
  return Allocate(problem, node, overlay, random).fits();
}

// The account that lacks most, which is where a change must begin; alternatives are each enough.
const RequestAccount* Bottleneck(const Misfit& misfit) {
  const RequestAccount* worst = nullptr;
  for (const RequestAccount& account : misfit.requests) {
    const auto missing = account.needed - static_cast<std::int64_t>(account.usable);
    if (missing <= 0 && !(account.all && account.needed == 0)) continue;
    if (worst == nullptr || missing < worst->needed - static_cast<std::int64_t>(worst->usable)) {
      worst = &account;
    }
  }
  return worst;
}

// Releasing claims: one, or else as many as are needed in the order in which each helps.
std::optional<Change> ByRelease(const Problem& problem, NodeIndex node, const Overlay& overlay) {
  const std::vector<std::string> uids = problem.inventory().ClaimsOn(node);
  Overlay supposed = overlay;
  const auto named = [&](const std::vector<std::string>& released) {
    Change change{.kind = Change::Kind::kReleaseClaims, .request = {}, .what = {}};
    const Inventory::Impl& table = *problem.impl().table;
    for (const std::string& uid : released) {
      change.claims.push_back(table.claims[table.FindClaim(uid)].holder);
    }
    change.amount = static_cast<std::int64_t>(released.size());
    return change;
  };
  for (const std::string& uid : uids) {
    supposed.Release(uid);
    if (FitsWith(problem, node, supposed)) return named({uid});
    supposed.Restore(uid);
  }
  if (uids.empty() || uids.size() > kHoldersMax) return std::nullopt;
  for (const std::string& uid : uids) supposed.Release(uid);
  if (!FitsWith(problem, node, supposed)) return std::nullopt;
  // All of them help: give back those that are not needed.
  std::vector<std::string> released = uids;
  for (const std::string& uid : uids) {
    supposed.Restore(uid);
    if (FitsWith(problem, node, supposed)) {
      std::erase(released, uid);
    } else {
      supposed.Release(uid);
    }
  }
  return named(released);
}

// The change of the claim that undoes a loss; nothing for losses that the claim cannot help.
std::optional<Change> Undo(const Loss& loss, const std::string& request) {
  switch (loss.cause) {
    case Cause::kTaint:
      return Change{.kind = Change::Kind::kTolerateTaint, .request = request, .what = loss.what};
    case Cause::kCapacity:
      if (loss.free.empty() || loss.free == "0") return std::nullopt;
      return Change{.kind = Change::Kind::kSmallerRequest,
                    .request = request,
                    .what = loss.what,
                    .value = loss.free};
    case Cause::kConstraint:
      return Change{.kind = Change::Kind::kDropConstraint, .request = request, .what = loss.what};
    case Cause::kRequestSelector:
      return Change{
          .kind = Change::Kind::kRelaxSelector, .request = request, .amount = loss.detail};
    case Cause::kSelectorFault:
      return Change{.kind = Change::Kind::kRelaxSelector, .request = request, .what = "fault"};
    default:
      return std::nullopt;
  }
}

// Undoes one loss, where that alone gives the request enough devices. Selectors come last: what
// they reject is mostly of another sort, and no use to the request.
std::optional<Change> ByLoss(const RequestAccount& account) {
  const auto missing = account.needed - static_cast<std::int64_t>(account.usable);
  const std::string request = account.claim + " " + account.request;
  const auto undone = [&](std::initializer_list<Cause> causes) -> std::optional<Change> {
    for (const Cause cause : causes) {
      for (const Loss& loss : account.losses) {
        if (loss.cause != cause || static_cast<std::int64_t>(loss.devices) < missing) continue;
        if (auto change = Undo(loss, request)) return change;
      }
    }
    return std::nullopt;
  };
  if (auto change = undone({Cause::kTaint, Cause::kCapacity, Cause::kConstraint})) return change;
  if (account.usable > 0 && !account.all) {
    return Change{.kind = Change::Kind::kFewerDevices, .request = request, .amount = missing};
  }
  if (auto change = undone({Cause::kSelectorFault, Cause::kRequestSelector})) return change;
  return Change{.kind = Change::Kind::kMoreDevices, .request = request, .amount = missing};
}

std::optional<Change> ByShortage(const Shortage& shortage) {
  const std::string request = shortage.requests.empty() ? std::string() : shortage.requests[0];
  switch (shortage.kind) {
    case Shortage::Kind::kMatch:
    case Shortage::Kind::kDistinct:
      return Change{
          .kind = Change::Kind::kDropConstraint, .request = request, .what = shortage.what};
    case Shortage::Kind::kDevices:
    case Shortage::Kind::kCounter:
    case Shortage::Kind::kCapacity:
      if (shortage.needed <= shortage.available) return std::nullopt;  // counted in amounts
      return Change{.kind = Change::Kind::kFewerDevices,
                    .request = request,
                    .what = shortage.what,
                    .amount = shortage.needed - shortage.available};
    case Shortage::Kind::kCombination:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Change> SmallestChange(const Problem& problem, NodeIndex node, const Overlay& overlay,
                                     const Misfit& misfit) {
  if (auto change = ByRelease(problem, node, overlay)) return change;
  if (const RequestAccount* account = Bottleneck(misfit)) return ByLoss(*account);
  return misfit.shortages.empty() ? std::nullopt : ByShortage(misfit.shortages[0]);
}

}  // namespace drachma::allocator
