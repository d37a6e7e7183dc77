#include "allocator/result.h"

#include <algorithm>
#include <set>
#include <utility>

namespace drachma::allocator {
namespace {

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

std::vector<std::string> Strings(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.Items()) out.emplace_back(item.AsString());
  return out;
}

class ResultBuilder {
 public:
  ResultBuilder(const Solution& solution, Random& random)
      : solution_(solution), problem_(solution.problem), random_(random) {}

  Result<std::vector<api::AllocationResult>> Build() {
    std::vector<api::AllocationResult> results(problem_.claims.size());
    for (auto first = solution_.picks.begin(); first != solution_.picks.end();) {
      const std::uint32_t claim = PlanOf(*first).claim;
      const auto end = std::find_if(first, solution_.picks.end(),
                                    [&](const Pick& pick) { return PlanOf(pick).claim != claim; });
      results[claim].results.reserve(static_cast<std::size_t>(end - first));
      for (; first != end; ++first) Fill(*first, results[claim].results.emplace_back());
    }
    for (std::uint32_t c = 0; c < results.size(); ++c) {
      AddClassConfig(c, results[c]);
      AddClaimConfig(c, results[c]);
      for (api::DeviceResultConfig& config : results[c].config) {
        if (CoversAll(c, config.requests)) config.requests.clear();
      }
      DRA_ASSIGN(results[c].node_selector, SelectorOf(c));
    }
    return results;
  }

 private:
  void Fill(const Pick& pick, api::DeviceResult& result) {
    const RequestPlan& plan = PlanOf(pick);
    const NodeSlice& node_slice = solution_.view.SliceAt(pick.position);
    const Slice& slice = *node_slice.slice;
    const std::size_t device = pick.position - node_slice.first_position;
    result.request = plan.name;
    result.driver = slice.driver;
    result.pool = slice.pool_name;
    result.device = slice.devices[device].name;
    result.tolerations = plan.requirements->tolerations;
    result.skip_node_operations = slice.skip_node_operations;
    if (plan.admin) result.admin_access = true;
    if (problem_.features().binding_conditions && slice.devices[device].binding_fields) {
      const json::Value& json = slice.DeviceJson(device);
      result.binding_conditions = Strings(json["bindingConditions"]);
      result.binding_failure_conditions = Strings(json["bindingFailureConditions"]);
    }
    if (solution_.attempt != nullptr && solution_.attempt->AllowsMultiple(pick.position)) {
      result.share_id = random_.Uuid();
      const Consumption& consumption = solution_.attempt->ConsumptionOf(pick.plan, pick.position);
      std::size_t index = 0;
      for (const auto& [name, capacity] : solution_.attempt->CapacitiesOf(pick.position)) {
        result.consumed_capacity.emplace(name, consumption.quantities[index++]);
      }
    }
  }

  [[nodiscard]] const RequestPlan& PlanOf(const Pick& pick) const {
    return problem_.plans[pick.plan];
  }
  [[nodiscard]] int AlternativeOf(std::uint32_t claim, std::size_t request) const {
    return solution_.alternatives.empty()
               ? -1
               : solution_.alternatives[problem_.plans_by_claim[claim].first_request + request];
  }

  // The plan that was used for a request.
  const RequestPlan& Chosen(std::uint32_t claim, std::size_t request) const {
    const auto& plans = problem_.plans_by_claim[claim].requests[request].plans;
    const int alternative = AlternativeOf(claim, request);
    return problem_.plans[plans[static_cast<std::size_t>(std::max(alternative, 0))]];
  }

  // Configurations of each class once, at its first use, naming the requests that use it.
  void AddClassConfig(std::uint32_t claim, api::AllocationResult& result) const {
    struct Range {
      std::string_view device_class;
      std::size_t first;
      std::size_t end;
    };
    std::vector<Range> ranges;
    for (std::size_t r = 0; r < problem_.claims[claim].requests.size(); ++r) {
      const RequestPlan& plan = Chosen(claim, r);
      if (plan.device_class.config.empty()) continue;
      const auto known = std::ranges::find(ranges, plan.device_class.name, &Range::device_class);
      if (known != ranges.end()) {
        for (std::size_t i = known->first; i < known->end; ++i) {
          result.config[i].requests.push_back(plan.name);
        }
        continue;
      }
      const std::size_t first = result.config.size();
      for (const json::Value& config : plan.device_class.config) {
        result.config.push_back({.source = "FromClass", .requests = {plan.name}, .config = config});
      }
      ranges.push_back({plan.device_class.name, first, result.config.size()});
    }
  }

  void AddClaimConfig(std::uint32_t claim, api::AllocationResult& result) const {
    const api::ResourceClaim& source = problem_.claims[claim];
    for (const api::DeviceClaimConfiguration& config : source.config) {
      bool applies = config.requests.empty();
      for (std::size_t r = 0; r < source.requests.size() && !applies; ++r) {
        applies = Names(claim, r, config.requests);
      }
      if (applies) {
        result.config.push_back(
            {.source = "FromClaim", .requests = config.requests, .config = config.config});
      }
    }
  }

  // Whether the list names the request, or the alternative that was chosen for it.
  bool Names(std::uint32_t claim, std::size_t request, const std::vector<std::string>& list) const {
    return Contains(list, problem_.claims[claim].requests[request].name) ||
           (AlternativeOf(claim, request) >= 0 && Contains(list, Chosen(claim, request).name));
  }

  bool CoversAll(std::uint32_t claim, const std::vector<std::string>& list) const {
    for (std::size_t r = 0; r < problem_.claims[claim].requests.size(); ++r) {
      if (!Names(claim, r, list)) return false;
    }
    return true;
  }

  Result<std::optional<api::NodeSelector>> SelectorOf(std::uint32_t claim) const {
    api::NodeSelectorTerm term;
    for (const Pick& pick : solution_.picks) {
      if (PlanOf(pick).claim != claim) continue;
      const NodeSlice& node_slice = solution_.view.SliceAt(pick.position);
      const Slice& slice = *node_slice.slice;
      const std::size_t device = pick.position - node_slice.first_position;
      const api::NodeScope& scope =
          slice.per_device_nodes.value_or(false) ? slice.device_scopes[device].scope : slice.scope;
      if (scope.node_name || slice.devices[device].binds_to_node) {
        return OnlyThisNode();
      }
      if (!scope.node_selector || scope.node_selector->terms.empty()) continue;
      if (scope.node_selector->terms.size() > 1) {
        return Fail(Code::kInvalid, "create NodeSelector for claim " + problem_.claims[claim].name +
                                        ": unsupported ResourceSlice.NodeSelector with " +
                                        std::to_string(scope.node_selector->terms.size()) +
                                        " terms");
      }
      Merge(scope.node_selector->terms[0].match_fields, term.match_fields);
      Merge(scope.node_selector->terms[0].match_expressions, term.match_expressions);
    }
    if (term.empty()) return std::nullopt;
    return api::NodeSelector{.terms = {std::move(term)}};
  }

  // Put together in place: initializer lists would copy each level.
  api::NodeSelector OnlyThisNode() const {
    api::NodeSelector selector;
    api::NodeSelectorRequirement& requirement =
        selector.terms.emplace_back().match_fields.emplace_back();
    requirement.key = "metadata.name";
    requirement.op = "In";
    requirement.values.push_back(solution_.node.name);
    return selector;
  }

  static void Merge(const std::vector<api::NodeSelectorRequirement>& from,
                    std::vector<api::NodeSelectorRequirement>& to) {
    const auto values = [](const api::NodeSelectorRequirement& requirement) {
      return std::set<std::string_view>(requirement.values.begin(), requirement.values.end());
    };
    for (const api::NodeSelectorRequirement& requirement : from) {
      const bool known = std::ranges::any_of(to, [&](const auto& other) {
        return other.key == requirement.key && other.op == requirement.op &&
               values(other) == values(requirement);
      });
      if (!known) to.push_back(requirement);
    }
  }

  const Solution& solution_;
  const Problem::Impl& problem_;
  Random& random_;
};

}  // namespace

Result<std::vector<api::AllocationResult>> BuildResults(const Solution& solution, Random& random) {
  return ResultBuilder(solution, random).Build();
}

}  // namespace drachma::allocator
