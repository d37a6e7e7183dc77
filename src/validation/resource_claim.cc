#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "selector/program.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/resource_common.h"

// What a claim asks for: the spec of ResourceClaim and of ResourceClaimTemplate.
namespace drachma::validation {
namespace {

using json::Value;

// Attributes that constraints name, by the reference of the request they apply to; "" is all.
using ConstraintAttributes = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

// What the rules of one claim share.
struct ClaimRules {
  const Context& context;
  Origin origin;
  ConstraintAttributes attributes;
  std::uint64_t derived_cost = 0;
};

ConstraintAttributes GatherConstraintAttributes(const Value& constraints) {
  ConstraintAttributes out;
  for (const Value& constraint : constraints.Items()) {
    const Value* name = constraint.Find("matchAttribute");
    if (name == nullptr || name->IsNull()) name = constraint.Find("distinctAttribute");
    if (name == nullptr || name->IsNull()) continue;
    if (constraint["requests"].empty()) out[""].emplace(name->AsString());
    for (const Value& ref : constraint["requests"].Items()) {
      out[std::string(ref.AsString())].emplace(name->AsString());
    }
  }
  return out;
}

bool UsedByConstraint(const ConstraintAttributes& attributes, std::string_view name,
                      std::string_view request) {
  const auto used = [&](std::string_view ref) {
    const auto found = attributes.find(ref);
    return found != attributes.end() && found->second.contains(name);
  };
  const std::size_t slash = request.find('/');
  return used("") || used(request) ||
         (slash != std::string_view::npos && used(request.substr(0, slash)));
}

ErrorList ValidateDerivedAttribute(ClaimRules& rules, const Value& attribute,
                                   std::string_view request, const std::string& path) {
  ErrorList errors;
  // That both are set is a declarative rule.
  const std::string_view name = attribute["name"].AsString();
  if (!name.empty() && !UsedByConstraint(rules.attributes, name, request)) {
    errors.push_back(
        Invalid(Child(path, "name"), ShownNamed(name),
                "must be referenced by at least one matchAttribute or distinctAttribute constraint "
                "targeting this request"));
  }
  const std::string_view expression = attribute["expression"].AsString();
  if (!expression.empty() && rules.origin == Origin::kNew) {
    Append(errors, ValidateExpression(rules.context, expression, Expression::kDerivedAttribute,
                                      Child(path, "expression"), &rules.derived_cost));
  }
  return errors;
}

ErrorList ValidateAllocationMode(const Value& request, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kModes = {"All", "ExactCount"};
  const std::string_view mode = request["allocationMode"].AsString();
  const std::int64_t count = request["count"].AsInt();
  if (mode == "All") {
    if (count == 0) return {};
    return {Invalid(Child(path, "count"), ShownInt(count),
                    "must not be specified when allocationMode is 'All'")};
  }
  if (mode == "ExactCount") {
    if (count > 0) return {};
    return {Invalid(Child(path, "count"), ShownInt(count), "must be greater than zero")};
  }
  return Covered({NotSupported(Child(path, "allocationMode"), ShownNamed(mode), kModes)});
}

// What a request and an alternative of a request have in common.
ErrorList ValidateDeviceNeeds(ClaimRules& rules, const Value& request, std::string_view name,
                              const std::string& path, CoveredBy class_name_by) {
  const std::string class_path = Child(path, "deviceClassName");
  const std::string_view class_name = request["deviceClassName"].AsString();
  ErrorList errors = class_name.empty() ? ErrorList{Required(class_path)}
                                        : ValidateDnsSubdomain(class_name, class_path);
  if (class_name_by == CoveredBy::kDeclarative) errors = Covered(std::move(errors));
  Append(errors, ValidateSelectors(rules.context, request["selectors"], Child(path, "selectors"),
                                   rules.origin));
  Append(errors, ValidateSet(
                     request["derivedAttributes"], kAnyNumber,
                     [&](const Value& attribute, const std::string& at) {
                       return ValidateDerivedAttribute(rules, attribute, name, at);
                     },
                     [](const Value& attribute) { return ShownText(attribute["name"].AsString()); },
                     Child(path, "derivedAttributes"), CoveredBy::kNothing, CoveredBy::kNothing));
  Append(errors, ValidateAllocationMode(request, path));
  const auto tolerations = request["tolerations"].Items();
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    Append(errors, ValidateToleration(tolerations[i], Index(Child(path, "tolerations"), i)));
  }
  return errors;
}

ErrorList ValidateAlternative(ClaimRules& rules, const Value& alternative, std::string_view parent,
                              const std::string& path) {
  const std::string_view name = alternative["name"].AsString();
  ErrorList errors = ValidateDnsLabel(name, Child(path, "name"));
  Append(errors, ValidateDeviceNeeds(rules, alternative, fmt::format("{}/{}", parent, name), path,
                                     CoveredBy::kDeclarative));
  return errors;
}

ErrorList ValidateRequest(ClaimRules& rules, const Value& request, const std::string& path) {
  const std::string_view name = request["name"].AsString();
  ErrorList errors = ValidateDnsLabel(name, Child(path, "name"));
  const bool exactly = !request["exactly"].IsNull();
  const bool first = !request["firstAvailable"].empty();
  if (!exactly && !first) {
    errors.push_back(Required(path, "exactly one of `exactly` or `firstAvailable` is required"));
  } else if (exactly && first) {
    errors.push_back(Invalid(path, "null",
                             "exactly one of `exactly` or `firstAvailable` is required, but "
                             "multiple fields are set"));
  } else if (first) {
    Append(errors,
           ValidateSet(
               request["firstAvailable"], kFirstAvailableMax,
               [&](const Value& alternative, const std::string& at) {
                 return ValidateAlternative(rules, alternative, name, at);
               },
               [](const Value& alternative) { return ShownText(alternative["name"].AsString()); },
               Child(path, "firstAvailable"), CoveredBy::kDeclarative, CoveredBy::kDeclarative));
  } else {
    Append(errors, ValidateDeviceNeeds(rules, request["exactly"], name, Child(path, "exactly"),
                                       CoveredBy::kNothing));
  }
  return errors;
}

ErrorList ValidateConstraint(const Context& context, const Value& constraint,
                             const RequestNames& names, const std::string& path) {
  ErrorList errors = ValidateRequestRefs(constraint["requests"], Child(path, "requests"), names);
  for (const std::string_view field : {"matchAttribute", "distinctAttribute"}) {
    const Value& name = constraint[field];
    if (name.IsNull()) continue;
    Append(errors, Covered(ValidateFullyQualifiedName(name.AsString(), Child(path, field))));
    return errors;
  }
  if (context.Enabled("DRAConsumableCapacity")) {
    errors.push_back(Required(path,
                              "exactly one of \"matchAttribute\" or \"distinctAttribute\" is "
                              "required, but multiple fields are set"));
  } else {
    errors.push_back(Required(Child(path, "matchAttribute")));
  }
  return errors;
}

}  // namespace

ErrorList ValidateDeviceClaim(const Context& context, const Value& devices, const std::string& path,
                              Origin origin) {
  ClaimRules rules{context, origin, GatherConstraintAttributes(devices["constraints"])};
  const RequestNames names(devices);
  ErrorList errors = ValidateSet(
      devices["requests"], kRequestsMax,
      [&](const Value& request, const std::string& at) {
        return ValidateRequest(rules, request, at);
      },
      [](const Value& request) { return ShownText(request["name"].AsString()); },
      Child(path, "requests"), CoveredBy::kDeclarative, CoveredBy::kDeclarative);
  Append(errors, ValidateList(
                     devices["constraints"], kConstraintsMax,
                     [&](const Value& constraint, const std::string& at) {
                       return ValidateConstraint(context, constraint, names, at);
                     },
                     Child(path, "constraints"), CoveredBy::kDeclarative));
  Append(errors, ValidateList(
                     devices["config"], kConfigMax,
                     [&](const Value& config, const std::string& at) {
                       ErrorList found =
                           ValidateRequestRefs(config["requests"], Child(at, "requests"), names);
                       Append(found, ValidateConfiguration(context, config, at, origin));
                       return found;
                     },
                     Child(path, "config"), CoveredBy::kDeclarative));
  if (rules.derived_cost > selector::kCostMax) {
    errors.push_back(Forbidden(path,
                               "too complex, total cost of derived attribute CEL expressions in "
                               "the claim exceeds cost limit"));
  }
  return errors;
}

}  // namespace drachma::validation
