#include "lint/pod_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lint/path.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

struct Workload {
  std::string_view kind;
  std::string_view api_version;
  std::string_view pod_spec;
  bool has_selector;  // the user must write spec.selector
};
constexpr auto kWorkloads = std::to_array<Workload>({
    {"Pod", "v1", "spec", false},
    {"ReplicationController", "v1", "spec.template.spec", false},
    {"Deployment", "apps/v1", "spec.template.spec", true},
    {"ReplicaSet", "apps/v1", "spec.template.spec", true},
    {"StatefulSet", "apps/v1", "spec.template.spec", true},
    {"DaemonSet", "apps/v1", "spec.template.spec", true},
    {"Job", "batch/v1", "spec.template.spec", false},
    {"CronJob", "batch/v1", "spec.jobTemplate.spec.template.spec", false},
});

constexpr std::array<std::string_view, 2> kContainerLists = {"initContainers", "containers"};

const Workload* FindWorkload(const Value& object) {
  const auto found = std::ranges::find_if(kWorkloads, [&](const Workload& workload) {
    return workload.kind == object["kind"].AsString() &&
           workload.api_version == object["apiVersion"].AsString();
  });
  return found == kWorkloads.end() ? nullptr : &*found;
}

// The first name that a container lists and no entry has, with its path; empty when there is none.
std::string StrayClaim(const Value& pod_spec, std::string_view pod_path, std::string& name) {
  for (const std::string_view list : kContainerLists) {
    const Value& containers = pod_spec[list];
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Value& listed = containers.Items()[i]["resources"]["claims"];
      for (std::size_t j = 0; j < listed.size(); ++j) {
        name = listed.Items()[j]["name"].AsString();
        const bool known = std::ranges::any_of(
            pod_spec["resourceClaims"].Items(),
            [&name](const Value& entry) { return entry["name"].AsString() == name; });
        if (known || name.empty()) continue;
        return Child(Item(Child(Item(Child(pod_path, list), i), "resources.claims"), j), "name");
      }
    }
  }
  return {};
}

bool AnyContainerLists(const Value& pod_spec, std::string_view claim) {
  for (const std::string_view list : kContainerLists) {
    for (const Value& container : pod_spec[list].Items()) {
      for (const Value& listed : container["resources"]["claims"].Items()) {
        if (listed["name"].AsString() == claim) return true;
      }
    }
  }
  return false;
}

// The change that makes a container list a claim, whatever of resources.claims is there already.
Change ListClaim(const Value& container, const std::string& path, std::string_view claim) {
  const Value entry = Value::Object({{"name", claim}});
  const Value list = Value::Array({entry});
  if (container["resources"]["claims"].IsArray()) {
    return {
        .type = Change::Type::kAppendItem, .path = Child(path, "resources.claims"), .value = entry};
  }
  if (container["resources"].IsObject()) {
    return {.type = Change::Type::kInsertMember,
            .path = Child(path, "resources"),
            .key = "claims",
            .value = list};
  }
  return {.type = Change::Type::kInsertMember,
          .path = path,
          .key = "resources",
          .value = Value::Object({{"claims", list}})};
}

}  // namespace

std::string_view PodSpecPath(const Value& object) {
  const Workload* workload = FindWorkload(object);
  return workload == nullptr ? std::string_view() : workload->pod_spec;
}

void WorkloadWithoutSelector(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const Workload* workload = FindWorkload(object);
  if (workload == nullptr || !workload->has_selector || object["spec"].Has("selector")) return;
  Value labels = object.At({"spec", "template", "metadata", "labels"});
  const bool labelled = !labels.empty();
  if (!labelled) labels = Value::Object({{"app", object["metadata"]["name"]}});
  Found made{.finding = {.rule = "workload-without-selector",
                         .severity = Severity::kError,
                         .message = fmt::format(
                             "a {} of apps/v1 needs spec.selector, and its pods need the labels "
                             "that it selects",
                             workload->kind),
                         .path = "spec"}};
  made.finding.fix = "spec.selector.matchLabels and the same spec.template.metadata.labels";
  made.finding.changes.push_back({.type = Change::Type::kInsertMember,
                                  .path = "spec",
                                  .key = "selector",
                                  .value = Value::Object({{"matchLabels", labels}}),
                                  .before = "template"});
  if (!labelled && object["spec"]["template"].Has("metadata")) {
    made.finding.changes.push_back({.type = Change::Type::kInsertMember,
                                    .path = "spec.template.metadata",
                                    .key = "labels",
                                    .value = labels});
  } else if (!labelled) {
    made.finding.changes.push_back({.type = Change::Type::kInsertMember,
                                    .path = "spec.template",
                                    .key = "metadata",
                                    .value = Value::Object({{"labels", labels}}),
                                    .before = "spec"});
  }
  found.push_back(std::move(made));
}

void ClaimSource(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view pod_path = PodSpecPath(object);
  if (pod_path.empty()) return;
  const std::string claims_path = Child(pod_path, "resourceClaims");
  const Value& claims = ValueAt(object, claims_path);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Value& source = claims.Items()[i]["source"];
    if (!source.IsObject()) continue;
    const std::string path = Child(Item(claims_path, i), "source");
    Found made{.finding = {.rule = "claim-source",
                           .severity = Severity::kError,
                           .message =
                               "source is the form of Kubernetes 1.30 and before: the name of "
                               "the claim or template stands directly in the entry",
                           .path = path}};
    for (const json::Member& member : source.Members()) {
      made.finding.fix = fmt::format("{}: {}", member.key(), member.value.AsString());
      made.finding.changes = {{.type = Change::Type::kReplaceMember,
                               .path = path,
                               .key = std::string(member.key()),
                               .value = member.value}};
    }
    found.push_back(std::move(made));
  }
}

void ClaimNotListed(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view pod_path = PodSpecPath(object);
  if (pod_path.empty()) return;
  const Value& pod_spec = ValueAt(object, pod_path);
  const Value& containers = pod_spec["containers"];
  const std::string claims_path = Child(pod_path, "resourceClaims");
  for (std::size_t i = 0; i < pod_spec["resourceClaims"].size(); ++i) {
    const std::string_view claim = pod_spec["resourceClaims"].Items()[i]["name"].AsString();
    if (claim.empty() || AnyContainerLists(pod_spec, claim)) continue;
    Found made{.finding = {.rule = "claim-not-listed",
                           .severity = Severity::kError,
                           .message = fmt::format("no container lists the claim \"{}\" in "
                                                  "resources.claims, so none would get its device",
                                                  claim),
                           .path = Item(claims_path, i)}};
    std::string stray;
    if (const std::string path = StrayClaim(pod_spec, pod_path, stray); !path.empty()) {
      made.finding.message += fmt::format("; one lists \"{}\", which is no entry", stray);
      made.finding.fix = fmt::format("name: {}", claim);
      made.finding.path = path;
      made.finding.changes = {{.path = path, .value = claim}};
    } else if (!containers.empty()) {
      made.finding.fix = fmt::format("resources: {{claims: [{{name: {}}}]}} in container \"{}\"",
                                     claim, containers.Items()[0]["name"].AsString());
      made.finding.changes = {
          ListClaim(containers.Items()[0], Item(Child(pod_path, "containers"), 0), claim)};
    }
    found.push_back(std::move(made));
  }
}

void NodeNameSkipsScheduler(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view pod_path = PodSpecPath(object);
  if (pod_path.empty() || object.Has("status")) return;
  const Value& pod_spec = ValueAt(object, pod_path);
  if (!pod_spec.Has("nodeName") || pod_spec["resourceClaims"].empty()) return;
  found.push_back({.finding = {.rule = "node-name-skips-scheduler",
                               .severity = Severity::kWarning,
                               .message = "nodeName goes past the scheduler, and nobody else "
                                          "allocates claims: the pod would wait for its devices "
                                          "for ever",
                               .fix = "nodeSelector: {kubernetes.io/hostname: …}",
                               .path = Child(pod_path, "nodeName")}});
}

}  // namespace drachma::lint
