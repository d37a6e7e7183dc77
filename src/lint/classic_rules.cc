#include "lint/classic_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "json/json.h"
#include "lint/config_rules.h"
#include "lint/parameters.h"
#include "lint/path.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

constexpr std::string_view kGroup = "resource.k8s.io/";
constexpr std::string_view kNegotiation = "PodSchedulingContext";  // made by the scheduler itself
constexpr std::array<std::string_view, 3> kClassicKinds = {kNegotiation, "ResourceClaimParameters",
                                                           "ResourceClassParameters"};

// Fields that went, by the place where they stood.
struct Gone {
  std::string_view kind;
  std::string_view path;
  std::string_view why;
};
constexpr std::string_view kParameters =
    "parameters of classic DRA went with Kubernetes 1.31: what they said is written in the request "
    "(count, selectors) or in devices.config[].opaque.parameters";
constexpr std::string_view kController =
    "control-plane controllers of drivers went with Kubernetes 1.32: the scheduler allocates";
constexpr auto kGone = std::to_array<Gone>({
    {"DeviceClass", "parametersRef", kParameters},
    {"DeviceClass", "structuredParameters", kController},
    {"DeviceClass", "suitableNodes", kController},
    {"DeviceClass", "spec.suitableNodes", kController},
    {"ResourceClaim", "spec.parametersRef", kParameters},
    {"ResourceClaim", "spec.controller", kController},
    {"ResourceClaimTemplate", "spec.spec.parametersRef", kParameters},
    {"ResourceClaimTemplate", "spec.spec.controller", kController},
});

// What others have (claims, requests, tolerations, taint rules before 1.35) and a DeviceTaintRule
// has not.
struct NotOfTaintRule {
  std::string_view path;
  std::string_view why;
  std::string_view instead;
};
constexpr std::string_view kSelectorToday =
    "since Kubernetes 1.35 a taint rule selects devices by driver, pool and device alone";
constexpr std::string_view kSelectorShown = "deviceSelector: {driver: …, pool: …, device: …}";
constexpr std::string_view kOfToleration =
    "this belongs to a toleration, in the request of a claim; a taint has key, value and effect";
constexpr auto kNotOfTaintRule = std::to_array<NotOfTaintRule>({
    {"spec.deviceSelector.deviceClassName", kSelectorToday, kSelectorShown},
    {"spec.deviceSelector.selectors", kSelectorToday, kSelectorShown},
    {"spec.deviceSelector.cel", kSelectorToday, kSelectorShown},
    {"spec.deviceClassName", kSelectorToday, kSelectorShown},
    {"spec.selectors", kSelectorToday, kSelectorShown},
    {"spec.devices", kSelectorToday, kSelectorShown},
    {"spec.taint.operator", kOfToleration, "tolerations: [{key: …, operator: …}]"},
    {"spec.taint.tolerationSeconds", kOfToleration,
     "tolerations: [{key: …, tolerationSeconds: …}]"},
    {"spec.tolerations", kOfToleration, "tolerations: … in the request of a claim"},
});

bool IsKind(const Value& object, std::string_view kind) {
  return object["apiVersion"].AsString().starts_with(kGroup) && object["kind"].AsString() == kind;
}

// What parameters ask for, as a line of JSON.
std::string WhatItSays(const Value& object) {
  if (object["kind"].AsString() == kNegotiation) return {};
  Value rest = object;
  for (const std::string_view field : {"apiVersion", "kind", "metadata"}) rest.Erase(field);
  return rest.empty() ? std::string() : json::Write(rest);
}

// Where spec.devices stands; empty for other kinds.
std::string DevicesPath(const Value& object) {
  const std::string_view claim = ClaimSpecPath(object);
  return claim.empty() ? std::string() : Child(claim, "devices");
}

}  // namespace

bool IsClassicKind(std::string_view kind) {
  return std::ranges::find(kClassicKinds, kind) != kClassicKinds.end();
}

std::string_view DriverToday(std::string_view driver) {
  if (driver == "gpu.resource.nvidia.com") return "gpu.nvidia.com";
  if (driver == "gpu.resource.example.com") return "gpu.example.com";
  return driver;
}

void ClassicKind(const Value& object, const RuleContext& context, std::vector<Found>& found) {
  const std::string_view version = object["apiVersion"].AsString();
  const std::string_view kind = object["kind"].AsString();
  if (version.starts_with(kGroup) && IsClassicKind(kind)) {
    Found made =
        MakeFound("kind", "classic-kind",
                  fmt::format("{} went with classic DRA: nothing reads it, and no server of "
                              "today takes it",
                              kind),
                  "remove this document");
    if (const std::string rest = WhatItSays(object); !rest.empty()) {
      made.finding.message += fmt::format("; no correction takes over what it says: {}", rest);
    }
    made.finding.changes = {{.type = Change::Type::kRemoveDocument}};
    found.push_back(std::move(made));
  } else if (const ParameterDocument* parameters = FindParameter(context, object)) {
    std::string message = fmt::format(
        "{} belongs to the driver of classic DRA, which today's driver does not read: count and "
        "selectors of a claim's request say it",
        kind);
    if (const std::string rest = BesideCount(object, !parameters->of_claim); !rest.empty()) {
      message += fmt::format("; no correction takes over what it says{}: {}",
                             parameters->of_claim && HasCount(object) ? " beside count" : "", rest);
    }
    Found made = MakeFound("kind", "classic-kind", std::move(message), "remove this document");
    made.finding.severity = Severity::kWarning;
    made.finding.changes = {{.type = Change::Type::kRemoveDocument}};
    found.push_back(std::move(made));
  }
}

namespace {

// Lets the claim whose spec stands at `spec_path` say the count of the parameters that it names.
void TakeOverCount(const Value& object, const RuleContext& context, const std::string& spec_path,
                   Finding& finding) {
  const Value& spec = ValueAt(object, spec_path);
  const ParameterDocument* parameters = FindParameter(
      context, spec["parametersRef"], object["metadata"]["namespace"].AsString("default"));
  if (parameters == nullptr || !HasCount(parameters->object)) return;
  const Value& count = parameters->object["spec"]["count"];
  // A claim of then is flat: claim-without-requests makes its fields a request.
  std::string owner = spec_path;
  const Value& requests = spec["devices"]["requests"];
  if (!requests.empty()) owner = Child(Item(Child(spec_path, "devices.requests"), 0), "exactly");
  const bool says_it = ValueAt(object, owner).Has("count");
  if (requests.size() > 1 || says_it || !ValueAt(object, owner).IsObject()) {
    finding.message += fmt::format("; no correction takes over count: {}", count.AsInt());
    return;
  }
  finding.fix = fmt::format("count: {} in the request, and no parametersRef", count.AsInt());
  finding.changes.insert(
      finding.changes.begin(),
      {.type = Change::Type::kInsertMember, .path = owner, .key = "count", .value = count});
}

}  // namespace

void TaintRuleFields(const Value& object, const RuleContext&, std::vector<Found>& found) {
  if (!IsKind(object, "DeviceTaintRule")) return;
  for (const NotOfTaintRule& field : kNotOfTaintRule) {
    if (ValueAt(object, field.path).IsNull()) continue;
    // Without what the rule said there it would taint more devices: only the user can know.
    found.push_back(MakeFound(std::string(field.path), "field-of-taint-rule",
                              std::string(field.why), std::string(field.instead)));
  }
}

void ClassicFields(const Value& object, const RuleContext& context, std::vector<Found>& found) {
  for (const Gone& gone : kGone) {
    // A ResourceClass is looked at once it has become a DeviceClass.
    if (!IsKind(object, gone.kind) || ValueAt(object, gone.path).IsNull()) continue;
    const std::string path(gone.path);
    Found made =
        MakeFound(path, "classic-field", std::string(gone.why), fmt::format("no {}", path));
    made.finding.changes = {{.type = Change::Type::kRemoveMember, .path = path}};
    if (path.starts_with("spec.") && path.ends_with(".parametersRef")) {
      TakeOverCount(object, context, Parent(path), made.finding);
    }
    found.push_back(std::move(made));
  }
}

void TemplateWithoutInnerSpec(const Value& object, const RuleContext&, std::vector<Found>& found) {
  if (!IsKind(object, "ResourceClaimTemplate")) return;
  const Value& spec = object["spec"];
  if (spec.Has("spec") || !spec.Has("devices")) return;
  Found made =
      MakeFound("spec.devices", "template-without-spec",
                "a template's spec holds the spec of the claims that are made from it: devices "
                "stands one level deeper",
                "spec: {spec: {devices: …}}");
  made.finding.changes = {{.type = Change::Type::kReplaceMember,
                           .path = "spec.devices",
                           .key = "spec",
                           .value = Value::Object({{"devices", spec["devices"]}})}};
  found.push_back(std::move(made));
}

void ConstraintWithoutDomain(const Value& object, const RuleContext& context,
                             std::vector<Found>& found) {
  const std::string devices = DevicesPath(object);
  if (devices.empty()) return;
  const std::string constraints = Child(devices, "constraints");
  for (std::size_t i = 0; i < ValueAt(object, constraints).size(); ++i) {
    for (const std::string_view field : {"matchAttribute", "distinctAttribute"}) {
      const std::string path = Child(Item(constraints, i), field);
      const std::string_view name = ValueAt(object, path).AsString();
      if (name.empty() || name.find('/') != std::string_view::npos) continue;
      const std::string full = fmt::format("{}/{}", context.driver, name);
      Found made =
          MakeFound(path, "constraint-without-domain",
                    fmt::format("\"{}\" has no domain: {} names an attribute in full", name, field),
                    fmt::format("{}: {}", field, full));
      made.finding.changes = {{.path = path, .value = full}};
      found.push_back(std::move(made));
    }
  }
}

void UnknownRequestName(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string devices = DevicesPath(object);
  if (devices.empty()) return;
  const Value& requests = ValueAt(object, Child(devices, "requests"));
  const std::string_view only = requests.size() == 1 ? requests.Items()[0]["name"].AsString() : "";
  if (only.empty()) return;
  for (const std::string_view list : {"config", "constraints"}) {
    const std::string entries = Child(devices, list);
    for (std::size_t i = 0; i < ValueAt(object, entries).size(); ++i) {
      const std::string names = Child(Item(entries, i), "requests");
      for (std::size_t j = 0; j < ValueAt(object, names).size(); ++j) {
        const std::string path = Item(names, j);
        const std::string_view name = ValueAt(object, path).AsString();
        if (name.substr(0, name.find('/')) == only) continue;
        Found made =
            MakeFound(path, "unknown-request",
                      fmt::format("\"{}\" is no request of this claim", name), std::string(only));
        made.finding.changes = {{.path = path, .value = only}};
        found.push_back(std::move(made));
      }
    }
  }
}

void ConfigWithoutOpaque(const Value& object, const RuleContext& context,
                         std::vector<Found>& found) {
  const std::string configs = ConfigsPath(object);
  for (std::size_t i = 0; i < ValueAt(object, configs).size(); ++i) {
    const std::string path = Item(configs, i);
    const Value& config = ValueAt(object, path);
    if (config.Has("opaque") || !config.Has("parameters")) continue;
    const std::string driver(config["driver"].AsString(context.driver));
    Found made =
        MakeFound(Child(path, "parameters"), "config-without-opaque",
                  "driver and parameters stand under opaque", "opaque: {driver: …, parameters: …}");
    made.finding.changes.push_back(
        {.type = Change::Type::kReplaceMember,
         .path = Child(path, "parameters"),
         .key = "opaque",
         .value = Value::Object({{"driver", driver}, {"parameters", config["parameters"]}})});
    if (config.Has("driver")) {
      made.finding.changes.push_back(
          {.type = Change::Type::kRemoveMember, .path = Child(path, "driver")});
    }
    found.push_back(std::move(made));
  }
}

}  // namespace drachma::lint
