#include "allocator/problem.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace drachma::allocator {
namespace {

// The standard attribute (KEP-6072) that says which devices sit together on most hardware.
constexpr std::string_view kNaturalGroup = "resource.kubernetes.io/pcieRoot";

void AddOnce(std::vector<std::uint32_t>& list, std::uint32_t item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

// Builds the plans of one problem.
class Planner {
 public:
  explicit Planner(Problem::Impl& problem) : problem_(problem), table_(*problem.table) {}

  void Plan() {
    for (std::uint32_t c = 0; c < problem_.claims.size(); ++c) PlanClaim(c);
  }

 private:
  void PlanClaim(std::uint32_t index) {
    const api::ResourceClaim& claim = problem_.claims[index];
    ClaimPlan plan{.first_request = problem_.requests};
    problem_.requests += static_cast<std::uint32_t>(claim.requests.size());
    for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
      const api::DeviceConstraint& constraint = claim.constraints[i];
      const auto& attribute =
          constraint.match_attribute ? constraint.match_attribute : constraint.distinct_attribute;
      if (!attribute && plan.constraint_fault.empty()) {
        plan.constraint_fault = "claim " + claim.Ref() + ", constraint #" + std::to_string(i) +
                                ": empty constraint (unsupported constraint type?)";
      }
      plan.constraints.push_back(
          {.distinct = !constraint.match_attribute, .attribute = attribute.value_or("")});
    }
    for (std::uint32_t r = 0; r < claim.requests.size(); ++r) {
      plan.requests.push_back(PlanRequest(index, r));
    }
    problem_.any_fault |= !plan.constraint_fault.empty();
    CountDevices(plan);
    problem_.plans_by_claim.push_back(std::move(plan));
  }

  // How many devices the claim gets, without mode All, whose number depends on the node.
  void CountDevices(const ClaimPlan& claim) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const RequestGroup& group : claim.requests) {
      problem_.any_fault |= !group.fault.empty();
      std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
      std::int64_t largest = 0;
      for (const std::uint32_t p : group.plans) {
        const RequestPlan& plan = problem_.plans[p];
        problem_.any_fault |= !plan.fault.empty() || plan.count > kResultsMax;
        const std::int64_t count = std::clamp<std::int64_t>(plan.count, 0, kResultsMax + 1);
        fewest = std::min(fewest, count);
        largest = std::max(largest, plan.all ? kResultsMax + 1 : count);
        problem_.simple &= !group.alternatives && !plan.all && !plan.admin &&
                           plan.constraints.empty() && !plan.requirements->capacity_requests;
      }
      least += std::min<std::int64_t>(fewest, kResultsMax + 1);
      most += largest;
    }
    problem_.any_fault |= least > kResultsMax;
    problem_.may_exceed |= most > kResultsMax;
  }

  RequestGroup PlanRequest(std::uint32_t claim_index, std::uint32_t request_index) {
    const api::ResourceClaim& claim = problem_.claims[claim_index];
    const api::DeviceRequest& request = claim.requests[request_index];
    RequestGroup group{.alternatives = !request.first_available.empty()};
    group.fault = FeatureFault(claim, request);
    RequestPlan plan{.claim = claim_index, .request = request_index};
    if (!group.alternatives) {
      static const api::DeviceRequirements kNothing;
      plan.name = plan.own_name = request.name;
      plan.requirements = request.exactly ? &*request.exactly : &kNothing;
      group.plans.push_back(Finish(std::move(plan)));
      return group;
    }
    for (std::size_t s = 0; s < request.first_available.size(); ++s) {
      RequestPlan alternative = plan;
      alternative.alternative = static_cast<int>(s);
      alternative.own_name = request.first_available[s].name;
      alternative.name = request.name + "/" + alternative.own_name;
      alternative.requirements = &request.first_available[s].requirements;
      group.plans.push_back(Finish(std::move(alternative)));
    }
    return group;
  }

  std::string FeatureFault(const api::ResourceClaim& claim, const api::DeviceRequest& request) {
    const Features& features = problem_.features();
    if (!features.prioritized_list && !request.first_available.empty()) {
      return "claim " + claim.Ref() + ", request " + request.name +
             ": has subrequests, but the DRAPrioritizedList feature is disabled";
    }
    if (features.consumable_capacity) return {};
    constexpr std::string_view kFault =
        ": has capacity requests, but the DRAConsumableCapacity feature is disabled";
    if (request.exactly && request.exactly->capacity_requests) {
      return "claim " + claim.Ref() + ", request " + request.name + std::string(kFault);
    }
    for (const api::DeviceSubRequest& alternative : request.first_available) {
      if (alternative.requirements.capacity_requests) {
        return "claim " + claim.Ref() + ", subrequest " + alternative.name + std::string(kFault);
      }
    }
    return {};
  }

  // The first fault that upstream's validateDeviceRequest finds.
  std::string Fault(const RequestPlan& plan, const api::DeviceClass* device_class) const {
    const api::DeviceRequirements& needs = *plan.requirements;
    const Features& features = problem_.features();
    const std::string where =
        "claim " + problem_.claims[plan.claim].Ref() + ", request " + plan.own_name;
    if (!needs.derived_attributes.empty() && !features.derived_attributes) {
      return where + ": cannot handle request with derived attributes, the feature is disabled";
    }
    for (std::size_t i = 0; i < needs.selectors.size(); ++i) {
      if (!needs.selectors[i].cel) {
        return where + ", selector #" + std::to_string(i) +
               ": CEL expression empty (unsupported selector type?)";
      }
    }
    if (!features.admin_access && plan.alternative < 0 && needs.admin_access) {
      return where + ": admin access is requested, but the feature is disabled";
    }
    if (needs.device_class_name.empty()) {
      return where + ": missing device class name (unsupported request type?)";
    }
    if (device_class == nullptr) {
      return where + ": could not retrieve device class " + needs.device_class_name +
             ": deviceclass.resource.k8s.io \"" + needs.device_class_name + "\" not found";
    }
    if (needs.allocation_mode != "ExactCount" && needs.allocation_mode != "All") {
      return where + ": unsupported count mode " + needs.allocation_mode;
    }
    return {};
  }

  std::uint32_t Finish(RequestPlan plan) {
    const api::DeviceRequirements& needs = *plan.requirements;
    const api::DeviceClass* device_class = problem_.inventory->FindClass(needs.device_class_name);
    plan.fault = Fault(plan, device_class);
    plan.all = needs.allocation_mode == "All";
    plan.admin = plan.alternative < 0 && needs.admin_access.value_or(false);
    plan.count = needs.count;
    problem_.any_admin |= plan.admin;
    problem_.any_all |= plan.all;
    if (plan.fault.empty()) {
      plan.device_class = *device_class;
      for (const auto* selectors : {&device_class->selectors, &needs.selectors}) {
        for (const api::DeviceSelector& selector : *selectors) {
          plan.expressions.push_back(table_.memo.Register(selector.cel.value_or("")));
          AddOnce(problem_.expressions, plan.expressions.back());
        }
      }
      plan.class_expressions = device_class->selectors.size();
      AddConstraints(plan);
    }
    problem_.plans.push_back(std::move(plan));
    return static_cast<std::uint32_t>(problem_.plans.size() - 1);
  }

  void AddConstraints(RequestPlan& plan) {
    const api::ResourceClaim& claim = problem_.claims[plan.claim];
    const std::string& parent = claim.requests[plan.request].name;
    for (std::uint32_t i = 0; i < claim.constraints.size(); ++i) {
      const api::DeviceConstraint& constraint = claim.constraints[i];
      const auto& attribute =
          constraint.match_attribute ? constraint.match_attribute : constraint.distinct_attribute;
      const bool covers =
          constraint.requests.empty() || std::ranges::any_of(constraint.requests, [&](auto& name) {
            return name == parent || name == plan.name;
          });
      if (!attribute || !covers) continue;
      const auto& derived = plan.requirements->derived_attributes;
      // A name given twice: the last expression, as in upstream's map.
      const auto own = std::find_if(derived.rbegin(), derived.rend(),
                                    [&](const auto& entry) { return entry.name == *attribute; });
      const ColumnIndex column = own != derived.rend()
                                     ? table_.memo.RegisterDerived(own->expression)
                                     : table_.memo.RegisterAttribute(*attribute);
      plan.constraints.push_back({.constraint = i, .column = column});
      plan.derives |= own != derived.rend();
      AddOnce(problem_.columns, column);
    }
  }

  Problem::Impl& problem_;
  Inventory::Impl& table_;
};

}  // namespace

Problem::Problem(Inventory& inventory, std::vector<api::ResourceClaim> claims)
    : impl_(std::make_unique<Impl>()) {
  impl_->inventory = &inventory;
  impl_->table = &inventory.impl();
  impl_->claims = std::move(claims);
  impl_->table->memo.Trim();
  impl_->epoch = impl_->table->memo.epoch();
  Planner(*impl_).Plan();
  impl_->simple &= !impl_->any_fault && impl_->table->options.order == DeviceOrder::kFirstFit;
  if (impl_->table->options.order == DeviceOrder::kBestFit) {
    impl_->natural_group = impl_->table->memo.RegisterAttribute(kNaturalGroup);
  }
}
Problem::~Problem() = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(Problem&&) noexcept = default;

const Inventory& Problem::inventory() const { return *impl_->inventory; }
const std::vector<api::ResourceClaim>& Problem::claims() const { return impl_->claims; }

}  // namespace drachma::allocator
