#include "apiserver/admission_pod_security.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";

// Resources that hold a template of pods, and where: steps until an empty one.
struct TemplateRow {
  std::string_view group;
  std::string_view resource;
  std::array<std::string_view, 4> path;
};

const Value* TemplateOf(const AdmissionRequest& request) {
  static constexpr auto kRows = std::to_array<TemplateRow>({
      {"", "replicationcontrollers", {"spec", "template"}},
      {"", "podtemplates", {"template"}},
      {"apps", "replicasets", {"spec", "template"}},
      {"apps", "deployments", {"spec", "template"}},
      {"apps", "statefulsets", {"spec", "template"}},
      {"apps", "daemonsets", {"spec", "template"}},
      {"batch", "jobs", {"spec", "template"}},
      {"batch", "cronjobs", {"spec", "jobTemplate", "spec", "template"}},
  });
  for (const TemplateRow& row : kRows) {
    if (row.group != request.group || row.resource != request.resource) continue;
    const Value* found = &request.object;
    for (const std::string_view step : row.path) {
      if (!step.empty()) found = &(*found)[step];
    }
    return found;
  }
  return nullptr;
}

bool IsIgnored(std::string_view subresource) {
  static constexpr auto kIgnored = std::to_array<std::string_view>(
      {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"});
  return std::ranges::find(kIgnored, subresource) != kIgnored.end();
}

void Annotate(AdmissionRequest& request, std::string_view key, std::string text) {
  if (request.annotations == nullptr) return;
  request.annotations->emplace(fmt::format("{}{}", kPrefix, key), std::move(text));
}

bool ImagesDiffer(const Value& a, const Value& b) {
  if (a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a.Items()[i]["image"] == b.Items()[i]["image"])) return true;
  }
  return false;
}

// Of what an update may change only images and ephemeral containers matter.
bool IsSignificant(const Value& pod, const Value& old) {
  for (const char* list : {"containers", "initContainers"}) {
    if (ImagesDiffer(pod["spec"][list], old["spec"][list])) return true;
  }
  const auto before = old["spec"]["ephemeralContainers"].Items();
  for (const Value& container : pod["spec"]["ephemeralContainers"].Items()) {
    const auto same = std::ranges::find_if(
        before, [&](const Value& other) { return other["name"] == container["name"]; });
    if (same == before.end() || !((*same)["image"] == container["image"])) return true;
  }
  return false;
}

enum class Enforce : std::uint8_t { kNo, kYes };

Status Evaluate(AdmissionRequest& request, const SecurityPolicies& policies, const Value& pod,
                Enforce enforce) {
  if (!policies.errors.empty()) {
    std::string all;
    for (const validation::FieldError& error : policies.errors) {
      all += (all.empty() ? "" : ", ") + error.Text();
    }
    const bool several = policies.errors.size() > 1;
    Annotate(
        request, "error",
        fmt::format("Failed to parse policy: {}{}{}", several ? "[" : "", all, several ? "]" : ""));
  }
  std::string refusal;
  if (enforce == Enforce::kYes) {
    Annotate(request, "enforce-policy", policies.enforce.ToString());
    const auto violations = SecurityViolations(policies.enforce, pod);
    if (!violations.empty()) {
      refusal = fmt::format("violates PodSecurity \"{}\": {}", policies.enforce.ToString(),
                            DetailsOf(violations));
    }
  }
  const auto would_violate = [&](const SecurityPolicy& policy) {
    const auto violations = SecurityViolations(policy, pod);
    if (violations.empty()) return std::string();
    return fmt::format("would violate PodSecurity \"{}\": {}", policy.ToString(),
                       DetailsOf(violations));
  };
  if (std::string text = would_violate(policies.audit); !text.empty()) {
    Annotate(request, "audit-violations", std::move(text));
  }
  if (!refusal.empty()) {
    return std::unexpected(ForbiddenError(request.group, request.resource, request.name, refusal));
  }
  if (std::string text = would_violate(policies.warn); !text.empty()) {
    request.warnings.push_back(std::move(text));
  }
  return {};
}

// Pods that no controller's other pod stands for come first.
std::vector<Value> Prioritised(const ObjectReader& objects, std::string_view ns) {
  std::vector<Value> first;
  std::vector<Value> others;
  std::set<std::string, std::less<>> controllers;
  objects.ForEach("", "pods", ns, [&](const Value& pod) {
    const auto owners = pod["metadata"]["ownerReferences"].Items();
    const auto owner = std::ranges::find_if(
        owners, [](const Value& reference) { return reference["controller"].AsBool(); });
    const bool fresh =
        owner == owners.end() || controllers.emplace((*owner)["uid"].AsString()).second;
    (fresh ? first : others).push_back(pod);
  });
  first.insert(first.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return first;
}

// Which pods that are there a new level would not take, grouped by why.
void WarnOfPods(AdmissionRequest& request, const ObjectReader& objects,
                const SecurityPolicy& policy) {
  struct Group {
    std::string first;  // the first pod by name
    std::size_t count = 0;
  };
  const std::string& ns = request.name;
  std::vector<Value> pods = Prioritised(objects, ns);
  if (pods.size() > PodSecurity::kPodsMax) {
    request.warnings.push_back(
        fmt::format("new PodSecurity enforce level only checked against the first {} of {} "
                    "existing pods",
                    PodSecurity::kPodsMax, pods.size()));
    pods.resize(PodSecurity::kPodsMax);
  }
  std::map<std::string, Group> groups;
  for (const Value& pod : pods) {
    const auto violations = SecurityViolations(policy, pod);
    if (violations.empty()) continue;
    Group& group = groups[ReasonsOf(violations)];
    const std::string name(pod["metadata"]["name"].AsString());
    if (group.count++ == 0 || name < group.first) group.first = name;
  }
  if (groups.empty()) return;
  request.warnings.push_back(
      fmt::format("existing pods in namespace \"{}\" violate the new PodSecurity enforce level "
                  "\"{}\"",
                  ns, policy.ToString()));
  std::set<std::string> texts;
  for (const auto& [reasons, group] : groups) {
    std::string who = group.first;
    if (group.count == 2) who += " (and 1 other pod)";
    if (group.count > 2) who += fmt::format(" (and {} other pods)", group.count - 1);
    texts.insert(fmt::format("{}: {}", who, reasons));
  }
  request.warnings.insert(request.warnings.end(), texts.begin(), texts.end());
}

bool SameErrors(const validation::ErrorList& a, const validation::ErrorList& b) {
  return std::ranges::equal(a, b, {}, &validation::FieldError::Text, &validation::FieldError::Text);
}

}  // namespace

Status PodSecurity::ValidateNamespace(AdmissionRequest& request, const ObjectReader& objects) {
  if (!request.subresource.empty()) return {};
  const SecurityPolicies now = SecurityPoliciesOf(request.object["metadata"]["labels"]);
  const bool creates = request.operation == Operation::kCreate;
  const SecurityPolicies before = SecurityPoliciesOf(request.old_object["metadata"]["labels"]);
  if (!now.errors.empty() && (creates || !SameErrors(now.errors, before.errors))) {
    return std::unexpected(validation::InvalidObject("", "Namespace", request.name, now.errors));
  }
  if (creates || now.enforce == before.enforce || now.enforce.level == SecurityLevel::kPrivileged ||
      (now.enforce.minor == before.enforce.minor && now.enforce.level <= before.enforce.level)) {
    return {};
  }
  WarnOfPods(request, objects, now.enforce);
  return {};
}

Status PodSecurity::ValidatePod(AdmissionRequest& request, const SecurityPolicies& policies) {
  const bool privileged = policies.errors.empty() &&
                          policies.enforce.level == SecurityLevel::kPrivileged &&
                          policies.audit.level == SecurityLevel::kPrivileged &&
                          policies.warn.level == SecurityLevel::kPrivileged;
  if (privileged) {
    Annotate(request, "enforce-policy", SecurityPolicy().ToString());
    return {};
  }
  if (request.operation == Operation::kUpdate &&
      !IsSignificant(request.object, request.old_object)) {
    return {};
  }
  return Evaluate(request, policies, request.object, Enforce::kYes);
}

Status PodSecurity::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (request.operation != Operation::kCreate && request.operation != Operation::kUpdate) return {};
  const bool is_pod = request.group.empty() && request.resource == "pods";
  if (request.group.empty() && request.resource == "namespaces") {
    return ValidateNamespace(request, objects);
  }
  const Value* pods = is_pod ? nullptr : TemplateOf(request);
  if (is_pod ? IsIgnored(request.subresource) : pods == nullptr || !request.subresource.empty()) {
    return {};
  }
  const Value ns = objects.Get("", "namespaces", "", request.ns);
  const SecurityPolicies policies = SecurityPoliciesOf(ns["metadata"]["labels"]);
  if (is_pod) return ValidatePod(request, policies);
  const bool silent = policies.errors.empty() &&
                      policies.warn.level == SecurityLevel::kPrivileged &&
                      policies.audit.level == SecurityLevel::kPrivileged;
  if (silent || pods->IsNull()) return {};
  return Evaluate(request, policies, *pods, Enforce::kNo);
}

}  // namespace drachma::apiserver
