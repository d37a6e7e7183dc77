#include "allocator/allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "allocator/best_fit.h"
#include "allocator/might_fit.h"
#include "allocator/prepare.h"
#include "allocator/quick.h"
#include "allocator/result.h"
#include "allocator/search.h"

namespace drachma::allocator {
namespace {

std::string MissingKey(const std::string& error) {
  constexpr std::string_view kNoKey = "no such key: ";
  const std::size_t at = error.find(kNoKey);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(error).substr(at + kNoKey.size());
  return std::string(rest.substr(0, rest.find_first_of(".,; \n")));
}

std::vector<SelectorFault> FaultsOf(const Attempt& attempt) {
  std::vector<SelectorFault> faults;
  const Memo& memo = attempt.problem().table->memo;
  for (const Attempt::Fault& fault : attempt.faults()) {
    std::string error = memo.ErrorOf(fault.expression, *fault.slice, fault.device);
    std::string attribute = MissingKey(error);
    faults.push_back({.expression = memo.expression(fault.expression).text,
                      .device = fault.slice->Id(fault.device),
                      .error = std::move(error),
                      .attribute = std::move(attribute)});
  }
  return faults;
}

// What the end of a search without a solution means.
std::variant<Fit, Misfit, Failure> WithoutSolution(const Attempt& attempt, Found found) {
  switch (found) {
    case Found::kError:
      return Failure{.message = attempt.error()};
    case Found::kWork:
      return Failure{.scope = Failure::Scope::kLimit,
                     .message = "the search for devices was given up after " +
                                std::to_string(attempt.problem().table->options.work_max) +
                                " steps; whether the claims fit on node " + attempt.node().name +
                                " is not known"};
    default:
      break;
  }
  if (attempt.view().any_invalid) {
    return Failure{.scope = Failure::Scope::kNode,
                   .message = "invalid resource pools were encountered"};
  }
  return Misfit{};
}

std::variant<Fit, Misfit, Failure> FromPicks(const Solution& solution, Random& random) {
  auto results = BuildResults(solution, random);
  if (!results) return Failure{.message = std::move(results).error().message};
  return Fit{.results = std::move(*results),
             .alternatives = {solution.alternatives.begin(), solution.alternatives.end()}};
}

std::variant<Fit, Misfit, Failure> Solve(Attempt& attempt, Random& random, std::uint64_t& work) {
  auto demands = PrepareDemands(attempt);
  if (!demands) return Failure{.message = std::move(demands).error()};
  Search search(attempt, *demands);
  const Found found = search.Run();
  work = search.work();
  if (found != Found::kYes) return WithoutSolution(attempt, found);
  double cost = 0;
  if (attempt.problem().table->options.order == DeviceOrder::kBestFit) {
    cost = PreferBestFit(attempt, search, work);
  }
  auto outcome = FromPicks({.problem = attempt.problem(),
                            .view = attempt.view(),
                            .node = attempt.node(),
                            .picks = attempt.picks(),
                            .alternatives = search.alternatives(),
                            .attempt = &attempt},
                           random);
  if (auto* fit = std::get_if<Fit>(&outcome)) fit->cost = cost;
  return outcome;
}

}  // namespace

Outcome Allocate(const Problem& problem, NodeIndex node, const Overlay& overlay, Random& random) {
  const Problem::Impl& impl = problem.impl();
  if (impl.epoch != impl.table->memo.epoch()) {
    return {.value = Failure{.message = "the problem is older than the selectors it refers to"},
            .faults = {}};
  }
  const NodeView& view = impl.table->ViewOf(node);
  if (!view.fault.empty()) return {.value = Failure{.message = view.fault}, .faults = {}};
  if (impl.simple && overlay.empty()) {
    Quick quick(impl, view);
    if (quick.Solve()) {
      return {.value = FromPicks({.problem = impl,
                                  .view = view,
                                  .node = impl.table->nodes[node].node,
                                  .picks = quick.picks(),
                                  .alternatives = {}},
                                 random),
              .faults = {}};
    }
  }
  if (!MayNotMisfit(impl, view, overlay.empty())) return {.value = Misfit{}, .faults = {}};
  Outcome outcome{.value = Misfit{}, .faults = {}};
  Attempt attempt(impl, node, overlay);
  outcome.value = Solve(attempt, random, outcome.work);
  outcome.faults = FaultsOf(attempt);
  return outcome;
}

}  // namespace drachma::allocator
