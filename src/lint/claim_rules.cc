#include "lint/claim_rules.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gpu/catalogue.h"
#include "lint/classic_rules.h"
#include "lint/path.h"
#include "lint/selector_form.h"
#include "lint/tree.h"
#include "num/quantity.h"
#include "validation/gpu_config.h"

namespace drachma::lint {
namespace {

using json::Value;

constexpr std::string_view kGroup = "resource.k8s.io/";
constexpr std::string_view kToday = "resource.k8s.io/v1";

// Fields of a request that stand under `exactly` since v1beta2.
constexpr std::array<std::string_view, 10> kExactFields = {
    "deviceClassName", "selectors", "allocationMode",    "count",       "adminAccess",
    "tolerations",     "capacity",  "resourceClassName", "deviceClass", "derivedAttributes"};

// When classic DRA allocated a claim; requests have an allocationMode of other values.
bool IsClassicMode(const json::Member& member) {
  return member.key() == "allocationMode" && (member.value.AsString() == "Immediate" ||
                                              member.value.AsString() == "WaitForFirstConsumer");
}

bool IsDra(const Value& object) { return object["apiVersion"].AsString().starts_with(kGroup); }

bool IsKind(const Value& object, std::string_view kind) {
  return IsDra(object) && object["kind"].AsString() == kind;
}

Found Make(std::string path, std::string rule, Severity severity, std::string message) {
  return {.finding = {.rule = std::move(rule),
                      .severity = severity,
                      .message = std::move(message),
                      .path = std::move(path)}};
}

// The flat fields of a request as the mapping under `exactly`.
Value ExactFrom(const Value& flat) {
  Value exactly = Value::Object();
  for (const json::Member& member : flat.Members()) {
    if (std::ranges::find(kExactFields, member.key()) == kExactFields.end()) continue;
    if (IsClassicMode(member)) continue;
    const bool old_name = member.key() == "resourceClassName" || member.key() == "deviceClass";
    exactly.Set(old_name ? "deviceClassName" : member.key(), member.value);
  }
  return exactly;
}

// The request names of a claim that had none: what its users call it.
std::string RequestName(const Value& flat) {
  const std::string_view wanted =
      flat["deviceClassName"].AsString(flat["resourceClassName"].AsString());
  return wanted.find("gpu") == std::string_view::npos ? "device" : "gpu";
}

void AppendSelectorPaths(const Value& owner, const std::string& path,
                         std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < owner["selectors"].size(); ++i) {
    paths.push_back(Item(Child(path, "selectors"), i) + ".cel.expression");
  }
}

}  // namespace

std::string_view ClaimSpecPath(const Value& object) {
  if (IsKind(object, "ResourceClaim")) return "spec";
  if (IsKind(object, "ResourceClaimTemplate")) return "spec.spec";
  return {};
}

std::vector<std::string> SelectorPaths(const Value& object) {
  std::vector<std::string> paths;
  if (IsKind(object, "DeviceClass")) AppendSelectorPaths(object["spec"], "spec", paths);
  const std::string_view claim = ClaimSpecPath(object);
  if (claim.empty()) return paths;
  AppendSelectorPaths(ValueAt(object, claim), std::string(claim), paths);
  const std::string requests_path = Child(claim, "devices.requests");
  const Value& requests = ValueAt(object, requests_path);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string request = Item(requests_path, i);
    const Value& value = requests.Items()[i];
    AppendSelectorPaths(value, request, paths);
    AppendSelectorPaths(value["exactly"], Child(request, "exactly"), paths);
    for (std::size_t j = 0; j < value["firstAvailable"].size(); ++j) {
      AppendSelectorPaths(value["firstAvailable"].Items()[j],
                          Item(Child(request, "firstAvailable"), j), paths);
    }
  }
  return paths;
}

void OldApiVersion(const Value& object, const RuleContext&, std::vector<Found>& found) {
  if (!IsDra(object)) return;
  const std::string_view version = object["apiVersion"].AsString().substr(kGroup.size());
  const std::string_view kind = object["kind"].AsString();
  if (version == "v1" || kind == "ResourcePoolStatusRequest" || IsClassicKind(kind)) return;
  const bool taint_rule = kind == "DeviceTaintRule";
  const bool served = version == "v1beta2" || version == (taint_rule ? "v1alpha3" : "v1beta1");
  Found made = Make("apiVersion", served ? "api-version-deprecated" : "api-version-gone",
                    served ? Severity::kWarning : Severity::kError,
                    served ? fmt::format("{} of {} is deprecated; {} is served since Kubernetes {}",
                                         version, kind, kToday, taint_rule ? "1.37" : "1.34")
                           : fmt::format("{} of {} is no longer served; today's version is {}",
                                         version, kind, kToday));
  made.finding.fix = fmt::format("apiVersion: {}", kToday);
  made.finding.changes = {{.path = "apiVersion", .value = kToday}};
  found.push_back(std::move(made));
}

void ResourceClassIsDeviceClass(const Value& object, const RuleContext&,
                                std::vector<Found>& found) {
  if (!IsKind(object, "ResourceClass")) return;
  const std::string driver(DriverToday(object["driverName"].AsString()));
  Found made = Make("kind", "resource-class", Severity::kError,
                    "ResourceClass went with Kubernetes 1.31: a DeviceClass selects devices with "
                    "CEL, also by their driver");
  made.finding.changes.push_back({.path = "kind", .value = "DeviceClass"});
  if (!driver.empty()) {
    std::string expression = fmt::format("device.driver == '{}'", driver);
    // Classic classes knew whole GPUs; today's driver offers their parts under the same name.
    if (driver == validation::kGpuDriver) {
      expression += fmt::format(" && device.attributes['{}'].type == 'gpu'", driver);
    }
    const Value selector = Value::Object({{"cel", Value::Object({{"expression", expression}})}});
    made.finding.changes.push_back(
        {.type = Change::Type::kReplaceMember,
         .path = "driverName",
         .key = "spec",
         .value = Value::Object({{"selectors", Value::Array({selector})}})});
    made.finding.fix = fmt::format("kind: DeviceClass with the selector {}", expression);
  }
  found.push_back(std::move(made));
}

void ClaimWithoutDevices(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string path(ClaimSpecPath(object));
  if (path.empty()) return;
  const Value& spec = ValueAt(object, path);
  if (spec.Has("devices")) return;
  std::vector<std::string> flat;
  for (const json::Member& member : spec.Members()) {
    if (std::ranges::find(kExactFields, member.key()) != kExactFields.end()) {
      flat.emplace_back(member.key());
    }
  }
  if (flat.empty()) return;
  const Value request = Value::Object({{"name", RequestName(spec)}, {"exactly", ExactFrom(spec)}});
  const Value devices = Value::Object({{"requests", Value::Array({request})}});
  Found made = Make(
      Child(path, flat.front()), "claim-without-requests", Severity::kError,
      fmt::format("{}.{} is no field: a claim lists its devices in {}.devices.requests, each with "
                  "its class in exactly.deviceClassName",
                  path, flat.front(), path));
  const Value exactly = ExactFrom(spec);
  if (exactly.empty()) return;
  made.finding.fix =
      fmt::format("{}.devices.requests[0].exactly.{}", path, exactly.Members()[0].key());
  made.finding.changes.push_back({.type = Change::Type::kReplaceMember,
                                  .path = Child(path, flat.front()),
                                  .key = "devices",
                                  .value = devices});
  for (std::size_t i = 1; i < flat.size(); ++i) {
    made.finding.changes.push_back(
        {.type = Change::Type::kRemoveMember, .path = Child(path, flat[i])});
  }
  found.push_back(std::move(made));
}

void FlatRequest(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const std::string_view claim = ClaimSpecPath(object);
  if (claim.empty() || object["apiVersion"].AsString() == "resource.k8s.io/v1beta1") return;
  const std::string requests_path = Child(claim, "devices.requests");
  const Value& requests = ValueAt(object, requests_path);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Value& request = requests.Items()[i];
    const Value exactly = ExactFrom(request);
    if (exactly.empty() || request.Has("exactly")) continue;
    const std::string path = Item(requests_path, i);
    std::vector<std::string> flat;
    for (const json::Member& member : request.Members()) {
      if (std::ranges::find(kExactFields, member.key()) != kExactFields.end()) {
        flat.emplace_back(member.key());
      }
    }
    const std::string& first = flat.front();
    const std::string today(exactly.Members()[0].key());
    Found made = Make(Child(path, first), "request-without-exactly", Severity::kError,
                      fmt::format("{} stands directly in a request only in v1beta1: since v1beta2 "
                                  "it is exactly.{}",
                                  first, today));
    made.finding.fix = fmt::format("exactly: {{{}: …}}", today);
    made.finding.changes.push_back({.type = Change::Type::kReplaceMember,
                                    .path = Child(path, first),
                                    .key = "exactly",
                                    .value = exactly});
    for (std::size_t j = 1; j < flat.size(); ++j) {
      made.finding.changes.push_back(
          {.type = Change::Type::kRemoveMember, .path = Child(path, flat[j])});
    }
    found.push_back(std::move(made));
  }
}

void BasicDevice(const Value& object, const RuleContext&, std::vector<Found>& found) {
  if (!IsKind(object, "ResourceSlice") ||
      object["apiVersion"].AsString() == "resource.k8s.io/v1beta1") {
    return;
  }
  const Value& devices = object["spec"]["devices"];
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Value& device = devices.Items()[i];
    if (!device.Has("basic")) continue;
    const std::string path = Item("spec.devices", i);
    Value today = Value::Object({{"name", device["name"]}});
    for (const json::Member& member : device["basic"].Members()) {
      today.Set(member.key(), member.value);
    }
    Found made = Make(Child(path, "basic"), "device-basic", Severity::kError,
                      "basic is a level of v1beta1: since v1beta2 attributes and capacity stand "
                      "directly in the device");
    made.finding.changes.push_back({.path = path, .value = today});
    found.push_back(std::move(made));
  }
}

void SelectorForms(const Value& object, const RuleContext& context, std::vector<Found>& found) {
  for (const std::string& path : SelectorPaths(object)) {
    const std::string_view expression = ValueAt(object, path).AsString();
    const SelectorForm form = CorrectSelector(expression, context.driver);
    for (const SelectorFault& fault : form.faults) {
      Found made = Make(path, fault.rule, fault.severity, fault.message);
      made.offset_in_scalar = fault.offset;
      if (fault.mended) {
        made.finding.fix = form.corrected;
        made.finding.changes = {{.path = path, .value = form.corrected}};
      }
      found.push_back(std::move(made));
    }
  }
}

void SelectorJustMisses(const Value& object, const RuleContext&, std::vector<Found>& found) {
  // A model misses a threshold "just" when it has at least this share of it: an "80 GB" GPU
  // reports 81559Mi and fails `>= 80Gi`.
  constexpr double kJustShare = 0.95;
  static const RE2 kThreshold(
      R"re(memory\.(?:compareTo\(quantity\(['"]([^'"]+)['"]\)\)\s*>=\s*0))re");
  for (const std::string& path : SelectorPaths(object)) {
    const std::string_view expression = ValueAt(object, path).AsString();
    std::string wanted;
    re2::StringPiece text(expression.data(), expression.size());
    if (!RE2::PartialMatch(text, kThreshold, &wanted)) continue;
    const Result<Quantity> threshold = Quantity::Parse(wanted);
    if (!threshold) continue;
    for (const gpu::Model& model : gpu::Models()) {
      const auto memory =
          Quantity::FromInt(model.memory_mib * 1024 * 1024, QuantityFormat::kBinarySI);
      const bool misses =
          memory.Compare(*threshold) < 0 &&
          memory.AsApproximateDouble() >= kJustShare * threshold->AsApproximateDouble();
      if (!misses) continue;
      Found made = Make(path, "selector-just-misses", Severity::kWarning,
                        fmt::format("{} reports {}Mi of memory and just misses {}", model.key,
                                    model.memory_mib, wanted));
      made.offset_in_scalar = expression.find(wanted);
      made.finding.fix = fmt::format("quantity('{}Mi')", model.memory_mib);
      found.push_back(std::move(made));
    }
  }
}

}  // namespace drachma::lint
