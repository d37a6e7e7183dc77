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
  ResultBuilder(Attempt& attempt, const std::vector<std::vector<int>>& alternatives, Random& random)
      : attempt_(attempt),
        problem_(attempt.problem()),
        alternatives_(alternatives),
        random_(random) {}

  Result<std::vector<api::AllocationResult>> Build() {
    std::vector<api::AllocationResult> results(problem_.claims.size());
    for (const Pick& pick : attempt_.picks()) {
      results[attempt_.plan(pick.plan).claim].results.push_back(DeviceOf(pick));
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
  api::DeviceResult DeviceOf(const Pick& pick) {
    const RequestPlan& plan = attempt_.plan(pick.plan);
    const NodeSlice& node_slice = attempt_.view().SliceAt(pick.position);
    const Slice& slice = *node_slice.slice;
    const std::size_t device = pick.position - node_slice.first_position;
    api::DeviceResult result{.request = plan.name,
                             .driver = slice.driver,
                             .pool = slice.pool_name,
                             .device = std::string(slice.devices[device].name),
                             .tolerations = plan.requirements->tolerations,
                             .skip_node_operations = slice.skip_node_operations};
    if (plan.admin) result.admin_access = true;
    if (problem_.features().binding_conditions && slice.devices[device].binding_fields) {
      const json::Value& json = slice.DeviceJson(device);
      result.binding_conditions = Strings(json["bindingConditions"]);
      result.binding_failure_conditions = Strings(json["bindingFailureConditions"]);
    }
    if (attempt_.AllowsMultiple(pick.position)) {
      result.share_id = random_.Uuid();
      const Consumption& consumption = attempt_.ConsumptionOf(pick.plan, pick.position);
      std::size_t index = 0;
      for (const auto& [name, capacity] : attempt_.CapacitiesOf(pick.position)) {
        result.consumed_capacity.emplace(name, consumption.quantities[index++]);
      }
    }
    return result;
  }

  // The plan that was used for a request.
  const RequestPlan& Chosen(std::uint32_t claim, std::size_t request) const {
    const auto& plans = problem_.plans_by_claim[claim].requests[request].plans;
    const int alternative = alternatives_[claim][request];
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
           (alternatives_[claim][request] >= 0 && Contains(list, Chosen(claim, request).name));
  }

  bool CoversAll(std::uint32_t claim, const std::vector<std::string>& list) const {
    for (std::size_t r = 0; r < problem_.claims[claim].requests.size(); ++r) {
      if (!Names(claim, r, list)) return false;
    }
    return true;
  }

  Result<std::optional<api::NodeSelector>> SelectorOf(std::uint32_t claim) const {
    api::NodeSelectorTerm term;
    for (const Pick& pick : attempt_.picks()) {
      if (attempt_.plan(pick.plan).claim != claim) continue;
      const NodeSlice& node_slice = attempt_.view().SliceAt(pick.position);
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
    requirement.values.push_back(attempt_.node().name);
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

  Attempt& attempt_;
  const Problem::Impl& problem_;
  const std::vector<std::vector<int>>& alternatives_;
  Random& random_;
};

}  // namespace

Result<std::vector<api::AllocationResult>> BuildResults(
    Attempt& attempt, const std::vector<std::vector<int>>& alternatives, Random& random) {
  return ResultBuilder(attempt, alternatives, random).Build();
}

}  // namespace drachma::allocator
