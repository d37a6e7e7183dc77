#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include "validation/names.h"
#include "validation/node_selector.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

// Where pods may go: affinity, spreading, tolerations.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

ErrorList ValidateWeight(const Value& term, const std::string& path) {
  const std::int64_t weight = term["weight"].AsInt();
  if (weight > 0 && weight <= 100) return {};
  return {Invalid(Child(path, "weight"), ShownInt(weight), "must be in the range 1-100")};
}

ErrorList ValidateLabelKeys(const Value& keys, const Value& selector, const std::string& path) {
  if (keys.empty()) return {};
  if (selector.IsNull()) {
    return {Forbidden(path, "must not be specified when labelSelector is not set")};
  }
  ErrorList errors;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Append(errors, ValidateLabelName(keys.Items()[i].AsString(), Index(path, i)));
  }
  return errors;
}

ErrorList ValidateMatchLabelKeys(const Value& holder, const std::string& path) {
  const Value& match = holder["matchLabelKeys"];
  const Value& mismatch = holder["mismatchLabelKeys"];
  const Value& selector = holder["labelSelector"];
  ErrorList errors = ValidateLabelKeys(match, selector, Child(path, "matchLabelKeys"));
  Append(errors, ValidateLabelKeys(mismatch, selector, Child(path, "mismatchLabelKeys")));
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < match.size(); ++i) index[match.Items()[i].AsString()] = i;
  NameSet selected;
  for (const json::Member& label : selector["matchLabels"].Members()) selected.emplace(label.key());
  // The server adds a requirement of its own for each key, so a second one is the user's.
  for (const Value& requirement : selector["matchExpressions"].Items()) {
    const std::string_view key = requirement["key"].AsString();
    const auto found = index.find(key);
    if (found != index.end() && selected.contains(key)) {
      errors.push_back(Invalid(Index(path, found->second), ShownText(key),
                               "exists in both matchLabelKeys and labelSelector"));
    }
    selected.emplace(key);
  }
  for (std::size_t i = 0; i < match.size(); ++i) {
    if (std::ranges::find(mismatch.Items(), match.Items()[i]) == mismatch.Items().end()) continue;
    errors.push_back(Invalid(Index(Child(path, "matchLabelKeys"), i), Shown(match.Items()[i]),
                             "exists in both matchLabelKeys and mismatchLabelKeys"));
  }
  return errors;
}

ErrorList ValidatePodTerm(const Value& term, const std::string& path) {
  ErrorList errors = ValidateLabelSelector(term["labelSelector"], Child(path, "labelSelector"));
  Append(errors,
         ValidateLabelSelector(term["namespaceSelector"], Child(path, "namespaceSelector")));
  for (const Value& ns : term["namespaces"].Items()) {
    Append(errors,
           InvalidEach(Child(path, "namespace"), ns.AsString(), IsDns1123Label(ns.AsString())));
  }
  Append(errors, ValidateMatchLabelKeys(term, path));
  const std::string_view key = term["topologyKey"].AsString();
  if (key.empty()) errors.push_back(Required(Child(path, "topologyKey"), "can not be empty"));
  Append(errors, ValidateLabelName(key, Child(path, "topologyKey")));
  return errors;
}

ErrorList ValidatePodTerms(const Value& affinity, const std::string& path) {
  ErrorList errors;
  const auto required = affinity[kRequiredTerms].Items();
  for (std::size_t i = 0; i < required.size(); ++i) {
    Append(errors, ValidatePodTerm(required[i], Index(Child(path, kRequiredTerms), i)));
  }
  const auto preferred = affinity[kPreferredTerms].Items();
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string at = Index(Child(path, kPreferredTerms), i);
    Append(errors, ValidateWeight(preferred[i], at));
    Append(errors, ValidatePodTerm(preferred[i]["podAffinityTerm"], Child(at, "podAffinityTerm")));
  }
  return errors;
}

ErrorList ValidateNodeAffinity(const Value& affinity, const std::string& path) {
  ErrorList errors;
  if (!affinity[kRequiredTerms].IsNull()) {
    errors = ValidateNodeSelector(affinity[kRequiredTerms], Child(path, kRequiredTerms));
  }
  const auto preferred = affinity[kPreferredTerms].Items();
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string at = Index(Child(path, kPreferredTerms), i);
    Append(errors, ValidateWeight(preferred[i], at));
    Append(errors, ValidateNodeSelectorTerm(preferred[i]["preference"], LabelValues::kAnything,
                                            Child(at, "preference")));
  }
  return errors;
}

ErrorList ValidateMinDomains(const Value& constraint, const std::string& path) {
  const Value& domains = constraint["minDomains"];
  if (domains.IsNull()) return {};
  ErrorList errors = ValidatePositive(domains.AsInt(), path);
  const std::string_view action = constraint["whenUnsatisfiable"].AsString();
  if (action != "DoNotSchedule") {
    errors.push_back(Invalid(
        path, ShownInt(domains.AsInt()),
        fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action)));
  }
  return errors;
}

ErrorList ValidateTolerationValue(const Value& toleration, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kOperators = {"Equal", "Exists"};
  const std::string_view op = toleration["operator"].AsString();
  const std::string_view value = toleration["value"].AsString();
  const std::string op_path = Child(path, "operator");
  if (op.empty() || op == "Equal") {
    const Faults faults = IsLabelValue(value);
    if (faults.empty()) return {};
    return {Invalid(op_path, ShownText(value), fmt::format("{}", fmt::join(faults, ";")))};
  }
  if (op == "Exists") {
    if (value.empty()) return {};
    return {Invalid(op_path, ShownText(value), "value must be empty when `operator` is 'Exists'")};
  }
  if (op != "Lt" && op != "Gt") return {NotSupported(op_path, ShownNamed(op), kOperators)};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() &&
      std::to_string(number) == value) {
    return {};
  }
  return {Invalid(Child(path, "value"), ShownText(value),
                  "must be a valid decimal integer in canonical form")};
}

}  // namespace

ErrorList ValidateAffinity(const Value& affinity, const std::string& path) {
  ErrorList errors = ValidateNodeAffinity(affinity["nodeAffinity"], Child(path, "nodeAffinity"));
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    Append(errors, ValidatePodTerms(affinity[kind], Child(path, kind)));
  }
  return errors;
}

ErrorList ValidateSpreadConstraints(const Value& constraints, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kActions = {"DoNotSchedule", "ScheduleAnyway"};
  static constexpr std::array<std::string_view, 2> kPolicies = {"Honor", "Ignore"};
  ErrorList errors;
  const auto all = constraints.Items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Value& constraint = all[i];
    const std::string at = Index(path, i);
    Append(errors, ValidatePositive(constraint["maxSkew"].AsInt(), Child(at, "maxSkew")));
    const std::string_view key = constraint["topologyKey"].AsString();
    const std::string_view action = constraint["whenUnsatisfiable"].AsString();
    if (key.empty()) errors.push_back(Required(Child(at, "topologyKey"), "can not be empty"));
    if (std::ranges::find(kActions, action) == kActions.end()) {
      errors.push_back(NotSupported(Child(at, "whenUnsatisfiable"), ShownNamed(action), kActions));
    }
    const bool repeated = std::ranges::any_of(all.subspan(i + 1), [&](const Value& other) {
      return other["topologyKey"].AsString() == key &&
             other["whenUnsatisfiable"].AsString() == action;
    });
    if (repeated) {
      errors.push_back(Duplicate(Child(at, "{topologyKey, whenUnsatisfiable}"),
                                 ShownText(fmt::format("{{{}, {}}}", key, action))));
    }
    Append(errors, ValidateMinDomains(constraint, Child(at, "minDomains")));
    for (const std::string_view field : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
      const Value& policy = constraint[field];
      if (policy.IsNull() || std::ranges::find(kPolicies, policy.AsString()) != kPolicies.end()) {
        continue;
      }
      errors.push_back(NotSupported(Child(at, field), ShownNamed(policy.AsString()), kPolicies));
    }
    Append(errors, ValidateMatchLabelKeys(constraint, at));
    Append(errors, ValidateLabelSelector(constraint["labelSelector"], Child(at, "labelSelector")));
  }
  return errors;
}

ErrorList ValidateTaintEffect(std::string_view effect, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kEffects = {"NoSchedule", "PreferNoSchedule",
                                                               "NoExecute"};
  if (std::ranges::find(kEffects, effect) != kEffects.end()) return {};
  return {NotSupported(path, ShownNamed(effect), kEffects)};
}

ErrorList ValidateTolerations(const Value& tolerations, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Value& toleration = tolerations.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view key = toleration["key"].AsString();
    const std::string_view op = toleration["operator"].AsString();
    const std::string_view effect = toleration["effect"].AsString();
    if (!key.empty()) Append(errors, ValidateLabelName(key, Child(at, "key")));
    if (key.empty() && op != "Exists") {
      errors.push_back(Invalid(Child(at, "operator"), ShownNamed(op),
                               "operator must be Exists when `key` is empty, which means \"match "
                               "all values and all keys\""));
    }
    if (!toleration["tolerationSeconds"].IsNull() && effect != "NoExecute") {
      errors.push_back(Invalid(Child(at, "effect"), ShownNamed(effect),
                               "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    Append(errors, ValidateTolerationValue(toleration, at));
    if (!effect.empty()) Append(errors, ValidateTaintEffect(effect, Child(at, "effect")));
  }
  return errors;
}

}  // namespace drachma::validation
