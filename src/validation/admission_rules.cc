#include "validation/admission_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

using json::Value;

template <std::size_t kSize>
void CheckEnum(const Value& value, const std::array<std::string_view, kSize>& supported,
               const std::string& path, ErrorList& errors) {
  if (std::ranges::find(supported, value.AsString()) == supported.end()) {
    errors.push_back(NotSupported(path, ShownNamed(value.AsString()), supported));
  }
}

bool HasWildcard(const Value& items) {
  return std::ranges::any_of(items.Items(),
                             [](const Value& item) { return item.AsString() == "*"; });
}

// A list that may hold "*" only alone.
void CheckWildcard(const Value& items, const std::string& path, std::string_view words,
                   ErrorList& errors) {
  if (items.size() > 1 && HasWildcard(items)) {
    errors.push_back(Invalid(path, Shown(items),
                             fmt::format("if '*' is present, must not specify other {}", words)));
  }
}

void CheckResources(const Value& resources, const std::string& path, ErrorList& errors) {
  if (resources.empty()) errors.push_back(Required(path));
  std::set<std::string_view> all_of_resource;     // "pods/*"
  std::set<std::string_view> all_of_subresource;  // "*/scale"
  bool double_wildcard = false;
  bool single_wildcard = false;
  bool plain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string_view text = resources.Items()[i].AsString();
    const std::string at = Index(path, i);
    if (text.empty()) {
      errors.push_back(Required(at));
      continue;
    }
    double_wildcard = double_wildcard || text == "*/*";
    single_wildcard = single_wildcard || text == "*";
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      plain = text != "*";  // the last one counts, as upstream has it
      continue;
    }
    const std::string_view resource = text.substr(0, slash);
    const std::string_view sub = text.substr(slash + 1);
    if (all_of_resource.contains(resource)) {
      errors.push_back(
          Invalid(at, ShownText(text),
                  fmt::format("if '{}/*' is present, must not specify {}", resource, text)));
    }
    if (all_of_subresource.contains(sub)) {
      errors.push_back(
          Invalid(at, ShownText(text),
                  fmt::format("if '*/{}' is present, must not specify {}", sub, text)));
    }
    if (sub == "*") all_of_resource.insert(resource);
    if (resource == "*") all_of_subresource.insert(sub);
  }
  if (resources.size() > 1 && double_wildcard) {
    errors.push_back(
        Invalid(path, Shown(resources), "if '*/*' is present, must not specify other resources"));
  }
  if (single_wildcard && plain) {
    errors.push_back(
        Invalid(path, Shown(resources),
                "if '*' is present, must not specify other resources without subresources"));
  }
}

void CheckOperations(const Value& operations, const std::string& path, ErrorList& errors) {
  static constexpr std::array<std::string_view, 5> kOperations = {"*", "CONNECT", "CREATE",
                                                                  "DELETE", "UPDATE"};
  if (operations.empty()) errors.push_back(Required(path));
  CheckWildcard(operations, path, "operations", errors);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    CheckEnum(operations.Items()[i], kOperations, Index(path, i), errors);
  }
}

void CheckNamedRules(const Value& rules, const std::string& path, ErrorList& errors) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules.Items()[i];
    const std::string at = Index(path, i);
    std::set<std::string_view> seen;
    for (std::size_t n = 0; n < rule["resourceNames"].size(); ++n) {
      const std::string_view name = rule["resourceNames"].Items()[n].AsString();
      const std::string name_path = Index(Child(at, "resourceNames"), n);
      Append(errors, InvalidEach(name_path, name, IsPathSegmentName(name)));
      if (!seen.insert(name).second) errors.push_back(Duplicate(name_path, ShownText(name)));
    }
    Append(errors, ValidateOperationRule(rule, at));
  }
}

void CheckSelector(const Value& resources, std::string_view field, const std::string& path,
                   ErrorList& errors) {
  const std::string at = Child(path, field);
  if (resources[field].IsNull()) {
    errors.push_back(Required(at));
  } else {
    Append(errors, ValidateLabelSelector(resources[field], at));
  }
}

std::string Joined(const Faults& faults) { return fmt::format("{}", fmt::join(faults, ",")); }

void CheckApiVersion(std::string_view text, const std::string& path, ErrorList& errors) {
  if (text.empty()) {
    errors.push_back(Required(path));
    return;
  }
  if (std::ranges::count(text, '/') > 1) {
    errors.push_back(
        Invalid(path, ShownText(text), fmt::format("unexpected GroupVersion string: {}", text)));
    return;
  }
  const std::size_t slash = text.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : text.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (!group.empty()) {
    if (const Faults faults = IsDns1123Subdomain(group); !faults.empty()) {
      errors.push_back(Invalid(path, ShownText(group), Joined(faults)));
    }
  }
  if (version.empty()) {
    errors.push_back(Invalid(path, ShownText(text), "version must be specified"));
  } else if (const Faults faults = IsDns1035Label(version); !faults.empty()) {
    errors.push_back(Invalid(path, ShownText(version), Joined(faults)));
  }
}

void CheckParamRef(const Value& ref, const std::string& path, ErrorList& errors) {
  static constexpr std::array<std::string_view, 2> kActions = {"Deny", "Allow"};
  constexpr const char* kExclusive = "name and selector are mutually exclusive";
  if (ref.IsNull()) return;
  const std::string_view name = ref["name"].AsString();
  const bool selects = !ref["selector"].IsNull();
  if (!name.empty()) {
    Append(errors, InvalidEach(Child(path, "name"), name, IsPathSegmentName(name)));
    if (selects) errors.push_back(Forbidden(Child(path, "name"), kExclusive));
  }
  if (selects) {
    Append(errors, ValidateLabelSelector(ref["selector"], Child(path, "selector")));
    if (!name.empty()) errors.push_back(Forbidden(Child(path, "selector"), kExclusive));
  }
  if (name.empty() && !selects) {
    errors.push_back(Required(path, "one of name or selector must be specified"));
  }
  const std::string action_path = Child(path, "parameterNotFoundAction");
  if (ref["parameterNotFoundAction"].AsString().empty()) {
    errors.push_back(Required(action_path));
  } else {
    CheckEnum(ref["parameterNotFoundAction"], kActions, action_path, errors);
  }
}

void CheckActions(const Value& actions, const std::string& path, ErrorList& errors) {
  static constexpr std::array<std::string_view, 3> kActions = {"Audit", "Deny", "Warn"};
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string_view action = actions.Items()[i].AsString();
    CheckEnum(actions.Items()[i], kActions, Index(path, i), errors);
    if (!seen.insert(action).second) {
      errors.push_back(Duplicate(Index(path, i), ShownNamed(action)));
    }
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    errors.push_back(Invalid(path, Shown(actions),
                             "must not contain both Deny and Warn (repeating the same validation "
                             "failure information in the API response and headers serves no "
                             "purpose)"));
  }
  if (seen.empty()) {
    Append(errors, Covered({Required(path, "at least one validation action is required")}));
  }
}

}  // namespace

ErrorList ValidateOperationRule(const Value& rule, const std::string& path) {
  ErrorList errors;
  static constexpr std::array<std::string_view, 3> kScopes = {"*", "Cluster", "Namespaced"};
  CheckOperations(rule["operations"], Child(path, "operations"), errors);
  const Value& groups = rule["apiGroups"];
  if (groups.empty()) errors.push_back(Required(Child(path, "apiGroups")));
  CheckWildcard(groups, Child(path, "apiGroups"), "API groups", errors);
  const Value& versions = rule["apiVersions"];
  const std::string versions_path = Child(path, "apiVersions");
  if (versions.empty()) errors.push_back(Required(versions_path));
  CheckWildcard(versions, versions_path, "API versions", errors);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions.Items()[i].AsString().empty()) errors.push_back(Required(Index(versions_path, i)));
  }
  CheckResources(rule["resources"], Child(path, "resources"), errors);
  if (!rule["scope"].IsNull()) CheckEnum(rule["scope"], kScopes, Child(path, "scope"), errors);
  return errors;
}

ErrorList ValidateMatchResources(const Value& resources, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kPolicies = {"Equivalent", "Exact"};
  ErrorList errors;
  if (resources.IsNull()) return errors;
  if (resources["matchPolicy"].IsNull()) {
    errors.push_back(Required(Child(path, "matchPolicy")));
  } else {
    CheckEnum(resources["matchPolicy"], kPolicies, Child(path, "matchPolicy"), errors);
  }
  CheckSelector(resources, "namespaceSelector", path, errors);
  CheckSelector(resources, "objectSelector", path, errors);
  for (const std::string_view rules : {"resourceRules", "excludeResourceRules"}) {
    CheckNamedRules(resources[rules], Child(path, rules), errors);
  }
  return errors;
}

ErrorList ValidateParamKind(const Value& kind, const std::string& path) {
  ErrorList errors;
  if (kind.IsNull()) return errors;
  CheckApiVersion(kind["apiVersion"].AsString(), Child(path, "apiVersion"), errors);
  const std::string_view name = kind["kind"].AsString();
  if (name.empty()) {
    errors.push_back(Required(Child(path, "kind")));
  } else if (const Faults faults = IsDns1035Label(AsciiLower(name)); !faults.empty()) {
    errors.push_back(Invalid(Child(path, "kind"), ShownText(name),
                             "may have mixed case, but should otherwise match: " + Joined(faults)));
  }
  return errors;
}

ErrorList ValidateMutatingOperations(const Value& resources, const std::string& path) {
  static constexpr std::array<std::string_view, 4> kOperations = {"*", "CONNECT", "CREATE",
                                                                  "UPDATE"};
  ErrorList errors;
  for (const Value& rule : resources["resourceRules"].Items()) {
    for (const Value& operation : rule["operations"].Items()) {
      const std::string_view name = operation.AsString();
      if (std::ranges::find(kOperations, name) != kOperations.end()) continue;
      errors.push_back(
          NotSupported(Child(path, "resourceRules.operations"), ShownNamed(name), kOperations));
    }
  }
  return errors;
}

namespace {

// What the bindings of both kinds of policies have.
ErrorList ValidateBinding(const Value& spec, const std::string& path) {
  ErrorList errors;
  const std::string_view policy = spec["policyName"].AsString();
  if (policy.empty()) {
    Append(errors, Covered({Required(Child(path, "policyName"))}));
  } else {
    Append(errors, InvalidEach(Child(path, "policyName"), policy,
                               NameIsDnsSubdomain(policy, NamePart::kWhole)));
  }
  CheckParamRef(spec["paramRef"], Child(path, "paramRef"), errors);
  Append(errors, ValidateMatchResources(spec["matchResources"], Child(path, "matchResources")));
  return errors;
}

}  // namespace

ErrorList ValidatePolicyBindingSpec(const Value& spec, const std::string& path) {
  ErrorList errors = ValidateBinding(spec, path);
  CheckActions(spec["validationActions"], Child(path, "validationActions"), errors);
  return errors;
}

ErrorList ValidateMutatingBindingSpec(const Value& spec, const std::string& path) {
  ErrorList errors = ValidateBinding(spec, path);
  Append(errors, ValidateMutatingOperations(spec["matchResources"], Child(path, "matchResources")));
  return errors;
}

}  // namespace drachma::validation
