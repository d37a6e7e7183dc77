#include "lint/container_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "json/json.h"
#include "lint/path.h"
#include "lint/tree.h"
#include "num/quantity.h"

namespace drachma::lint {
namespace {

using json::Value;

struct OldVersion {
  std::string_view kind;
  std::string_view today;
};
constexpr auto kTodaysVersions = std::to_array<OldVersion>({
    {"Deployment", "apps/v1"},
    {"ReplicaSet", "apps/v1"},
    {"DaemonSet", "apps/v1"},
    {"StatefulSet", "apps/v1"},
    {"Job", "batch/v1"},
    {"CronJob", "batch/v1"},
    {"PodDisruptionBudget", "policy/v1"},
});
constexpr std::array<std::string_view, 8> kOldVersions = {
    "extensions/v1beta1", "apps/v1beta1",   "apps/v1beta2",   "apps/v1alpha1",
    "batch/v1beta1",      "batch/v2alpha1", "policy/v1beta1", "batch/v1alpha1"};

// Names with a domain other than Kubernetes' own count whole things.
bool IsExtended(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos;
}

std::string TextOf(const Value& amount) {
  return amount.IsString() ? std::string(amount.AsString()) : json::Write(amount);
}

// A number is written as it was: with quotes when there were some.
Value Like(const Value& old, std::int64_t amount) {
  return old.IsString() ? Value(std::to_string(amount)) : Value(amount);
}

bool FindFractions(const Value& amounts, const std::string& path, std::vector<Found>& found) {
  bool any = false;
  for (const json::Member& member : amounts.Members()) {
    if (!IsExtended(member.key())) continue;
    const Result<Quantity> amount = Quantity::Parse(TextOf(member.value));
    if (!amount || amount->AsInt64()) continue;
    const auto whole = static_cast<std::int64_t>(std::ceil(amount->AsApproximateDouble()));
    Found made = MakeFound(Child(path, member.key()), "fraction-of-device",
                           fmt::format("{} of {}: devices are counted whole. To share one between "
                                       "containers or pods, let them use one ResourceClaim (time "
                                       "slicing, MPS) or ask for a MIG device",
                                       TextOf(member.value), member.key()),
                           fmt::format("{}: {}", member.key(), whole));
    made.finding.changes = {
        {.path = Child(path, member.key()), .value = Like(member.value, whole)}};
    found.push_back(std::move(made));
    any = true;
  }
  return any;
}

void FindLimits(const Value& container, const std::string& path, std::vector<Found>& found) {
  const std::string resources = Child(path, "resources");
  const Value& requests = container["resources"]["requests"];
  const Value& limits = container["resources"]["limits"];
  for (const json::Member& member : requests.Members()) {
    if (!IsExtended(member.key())) continue;
    const std::string at = Child(Child(resources, "requests"), member.key());
    if (!limits.Has(member.key())) {
      Found made =
          MakeFound(at, "request-without-limit",
                    fmt::format("{} cannot be shared, so its limit must be given (the request "
                                "follows it)",
                                member.key()),
                    fmt::format("limits: {{{}: {}}}", member.key(), TextOf(member.value)));
      Change change{.type = Change::Type::kInsertMember};
      if (limits.IsObject()) {
        change.path = Child(resources, "limits");
        change.key = member.key();
        change.value = member.value;
      } else {
        change.path = resources;
        change.key = "limits";
        change.value = Value::Object({{std::string(member.key()), member.value}});
      }
      made.finding.changes = {std::move(change)};
      found.push_back(std::move(made));
      continue;
    }
    const Value& limit = limits[member.key()];
    if (TextOf(limit) == TextOf(member.value)) continue;
    Found made = MakeFound(at, "request-differs-from-limit",
                           fmt::format("request and limit of {} must be equal", member.key()),
                           fmt::format("{}: {}", member.key(), TextOf(limit)));
    made.finding.changes = {{.path = at, .value = limit}};
    found.push_back(std::move(made));
  }
}

}  // namespace

void ForEachContainer(const Value& object,
                      const std::function<void(const Value&, const std::string&)>& visit) {
  const std::string_view pod_path = PodSpecPath(object);
  if (pod_path.empty()) return;
  for (const std::string_view list : {"initContainers", "containers"}) {
    const std::string containers = Child(pod_path, list);
    const Value& items = ValueAt(object, containers);
    for (std::size_t i = 0; i < items.size(); ++i) visit(items.Items()[i], Item(containers, i));
  }
}

void ClaimsAsNames(const Value& object, const RuleContext&, std::vector<Found>& found) {
  ForEachContainer(object, [&](const Value& container, const std::string& path) {
    const std::string claims = Child(path, "resources.claims");
    const Value& listed = container["resources"]["claims"];
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const Value& name = listed.Items()[i];
      if (!name.IsString()) continue;
      Found made = MakeFound(Item(claims, i), "claims-as-names",
                             "an entry of resources.claims is an object with a name",
                             fmt::format("{{name: {}}}", name.AsString()));
      made.finding.changes = {{.path = Item(claims, i), .value = Value::Object({{"name", name}})}};
      found.push_back(std::move(made));
    }
  });
}

void ExtendedResources(const Value& object, const RuleContext&, std::vector<Found>& found) {
  ForEachContainer(object, [&](const Value& container, const std::string& path) {
    const std::string resources = Child(path, "resources");
    const bool in_requests =
        FindFractions(container["resources"]["requests"], Child(resources, "requests"), found);
    const bool in_limits =
        FindFractions(container["resources"]["limits"], Child(resources, "limits"), found);
    // Amounts are compared once they are whole.
    if (!in_requests && !in_limits) FindLimits(container, path, found);
  });
}

void NodeNameWithExtendedResource(const Value& object, const RuleContext&,
                                  std::vector<Found>& found) {
  const std::string_view pod_path = PodSpecPath(object);
  if (pod_path.empty() || object.Has("status")) return;
  const Value& pod_spec = ValueAt(object, pod_path);
  // Of a pod that lists claims as well, node-name-skips-scheduler speaks.
  if (!pod_spec.Has("nodeName") || !pod_spec["resourceClaims"].empty()) return;
  std::string resource;
  ForEachContainer(object, [&](const Value& container, const std::string&) {
    for (const json::Member& member : container["resources"]["limits"].Members()) {
      const bool of_class = member.key().starts_with("deviceclass.resource.kubernetes.io/");
      if (resource.empty() && (of_class || IsExtended(member.key()))) resource = member.key();
    }
  });
  if (resource.empty()) return;
  Found made =
      MakeFound(Child(pod_path, "nodeName"), "node-name-skips-scheduler",
                fmt::format("nodeName goes past the scheduler, and nobody else makes the claim "
                            "for {} when a DeviceClass offers it: the pod would not get its "
                            "devices",
                            resource),
                "nodeSelector: {kubernetes.io/hostname: …}");
  made.finding.severity = Severity::kWarning;
  found.push_back(std::move(made));
}

void OldWorkloadVersion(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view version = object["apiVersion"].AsString();
  const std::string_view kind = object["kind"].AsString();
  const auto* today = std::ranges::find(kTodaysVersions, kind, &OldVersion::kind);
  if (today == kTodaysVersions.end()) return;
  if (std::ranges::find(kOldVersions, version) == kOldVersions.end()) return;
  Found made = MakeFound("apiVersion", "api-version-gone",
                         fmt::format("{} of {} is no longer served; today's version is {}", version,
                                     kind, today->today),
                         fmt::format("apiVersion: {}", today->today));
  made.finding.changes = {{.path = "apiVersion", .value = today->today}};
  found.push_back(std::move(made));
}

void JobWithoutRestartPolicy(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view kind = object["kind"].AsString();
  const std::string_view pod_path = PodSpecPath(object);
  if ((kind != "Job" && kind != "CronJob") || pod_path.empty()) return;
  const Value& pod_spec = ValueAt(object, pod_path);
  const std::string_view policy = pod_spec["restartPolicy"].AsString();
  if (!pod_spec.IsObject() || policy == "Never" || policy == "OnFailure") return;
  const std::string path =
      policy.empty() ? std::string(pod_path) : Child(pod_path, "restartPolicy");
  Found made =
      MakeFound(path, "job-restart-policy",
                "pods of a Job end: restartPolicy must be Never or OnFailure (the default, "
                "Always, is neither)",
                "restartPolicy: Never");
  made.finding.changes = {policy.empty() ? Change{.type = Change::Type::kInsertMember,
                                                  .path = std::string(pod_path),
                                                  .key = "restartPolicy",
                                                  .value = "Never",
                                                  .before = "containers"}
                                         : Change{.path = path, .value = "Never"}};
  found.push_back(std::move(made));
}

}  // namespace drachma::lint
