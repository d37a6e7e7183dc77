#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "num/quantity.h"
#include "validation/names.h"
#include "validation/node_selector.h"
#include "validation/object_meta.h"
#include "validation/resource_common.h"
#include "validation/shown_internal.h"

// The devices that drivers publish: the spec of ResourceSlice.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kDevicesMax = 128;
constexpr std::size_t kAdvancedDevicesMax = 64;
constexpr std::size_t kCounterSetsMax = 8;
constexpr std::size_t kCountersMax = 32;
constexpr std::size_t kConsumptionsMax = 2;
constexpr std::size_t kTaintsMax = 16;
constexpr std::size_t kAttributesAndCapacitiesMax = 32;
constexpr std::size_t kAttributeValuesMax = 48;
constexpr std::size_t kAttributeBytesMax = 64;
constexpr std::size_t kQualifiedNameMax = 63 + 1 + 32;
constexpr std::size_t kCounterNameMax = 63;
constexpr std::array<std::string_view, 4> kListTypes = {"bools", "ints", "strings", "versions"};

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsIdentifierPart(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool IsNumericPart(std::string_view text) {
  return IsDigits(text) && (text.size() == 1 || text.front() != '0');
}

// Whether upstream's regular expression for semver.org 2.0.0 matches.
bool IsSemver(std::string_view text) {
  std::string_view build;
  bool has_build = false;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    build = text.substr(plus + 1);
    has_build = true;
    text = text.substr(0, plus);
  }
  std::string_view pre;
  bool has_pre = false;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    pre = text.substr(dash + 1);
    has_pre = true;
    text = text.substr(0, dash);
  }
  const auto core = Split(text, '.');
  if (core.size() != 3 || !std::ranges::all_of(core, IsNumericPart)) return false;
  const auto is_pre = [](std::string_view part) {
    return IsIdentifierPart(part) && (!IsDigits(part) || IsNumericPart(part));
  };
  if (has_pre && !std::ranges::all_of(Split(pre, '.'), is_pre)) return false;
  return !has_build || std::ranges::all_of(Split(build, '.'), IsIdentifierPart);
}

ErrorList ValidateAttributeString(std::string_view text, const std::string& path) {
  if (text.size() <= kAttributeBytesMax) return {};
  return {TooLong(path, kAttributeBytesMax)};
}

ErrorList ValidateAttributeVersion(std::string_view text, const std::string& path) {
  ErrorList errors;
  if (!IsSemver(text)) {
    errors.push_back(
        Invalid(path, ShownText(text), "must be a string compatible with semver.org spec 2.0.0"));
  }
  Append(errors, ValidateAttributeString(text, path));
  return errors;
}

ErrorList ValidateAttribute(const Value& attribute, const std::string& path) {
  ErrorList errors;
  std::size_t set = 0;
  for (const std::string_view name : {"bool", "int", "string", "version"}) {
    if (!attribute[name].IsNull()) ++set;
  }
  if (const Value& text = attribute["string"]; !text.IsNull()) {
    errors = ValidateAttributeString(text.AsString(), Child(path, "string"));
  }
  if (const Value& text = attribute["version"]; !text.IsNull()) {
    Append(errors, ValidateAttributeVersion(text.AsString(), Child(path, "version")));
  }
  for (const std::string_view name : kListTypes) {
    const Value& list = attribute[name];
    if (list.IsNull()) continue;
    ++set;
    const std::string list_path = Child(path, name);
    if (list.empty()) {
      errors.push_back(Invalid(list_path, Shown(list), "must not be empty if specified"));
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string_view text = list.Items()[i].AsString();
      if (name == "strings") {
        Append(errors,
               Covered(WithOrigin(ValidateAttributeString(text, Index(list_path, i)), "maxBytes")));
      } else if (name == "versions") {
        Append(errors, ValidateAttributeVersion(text, Index(list_path, i)));
      }
    }
  }
  if (set != 1) {
    Append(errors, Covered(WithOrigin({Invalid(path, set == 0 ? "\"\"" : Shown(attribute),
                                               "exactly one value must be specified")},
                                      "union")));
  }
  return errors;
}

// List items count one by one.
std::size_t CountAttributeValues(const Value& device) {
  std::size_t count = 0;
  for (const json::Member& attribute : device["attributes"].Members()) {
    std::size_t items = 0;
    for (const std::string_view name : kListTypes) items += attribute.value[name].size();
    count += std::max<std::size_t>(items, 1);
  }
  return count;
}

ErrorList ValidateCounters(const Value& holder, const std::string& path) {
  const std::string counters_path = Child(path, "counters");
  if (holder["counters"].empty()) return Covered({Required(counters_path)});
  // Any quantity is a counter, even a negative one.
  return ValidateMap(
      holder["counters"], kCountersMax, kCounterNameMax,
      [&](std::string_view name) { return ValidateDnsLabel(name, counters_path); },
      [](const Value&, const std::string&) { return ErrorList(); }, counters_path,
      CoveredBy::kDeclarative);
}

// A named set of counters, or the use of one: `name_field` is where its name stands.
ErrorList ValidateCounterHolder(const Value& holder, std::string_view name_field,
                                const std::string& path) {
  const std::string name_path = Child(path, name_field);
  const std::string_view name = holder[name_field].AsString();
  ErrorList errors =
      Covered(name.empty() ? ErrorList{Required(name_path)} : ValidateDnsLabel(name, name_path));
  Append(errors, ValidateCounters(holder, path));
  return errors;
}

// Which of the node fields are set, in backquotes, with the faults of each.
struct NodeFields {
  std::vector<std::string> set;
  ErrorList errors;
};

void ReadTrueOnly(const Value& value, std::string_view name, const std::string& path,
                  NodeFields& out) {
  if (value.IsNull()) return;
  if (value.AsBool()) {
    out.set.push_back(fmt::format("`{}`", name));
  } else {
    out.errors.push_back(
        Invalid(Child(path, name), "false", "must be either unset or set to true"));
  }
}

void ReadNodeName(const Value& name, const std::string& path, const char* if_empty,
                  NodeFields& out) {
  if (name.IsNull()) return;
  const std::string name_path = Child(path, "nodeName");
  if (name.AsString().empty()) {
    out.errors.push_back(Invalid(name_path, "\"\"", if_empty));
    return;
  }
  out.set.emplace_back("`nodeName`");
  Append(out.errors, ValidateNodeName(name.AsString(), name_path));
}

NodeFields ReadSliceNodes(const Value& spec, const std::string& path) {
  NodeFields out;
  ReadNodeName(spec["nodeName"], path, "must be either unset or set to a non-empty string", out);
  if (const Value& selector = spec["nodeSelector"]; !selector.IsNull()) {
    out.set.emplace_back("`nodeSelector`");
    Append(out.errors, ValidateNodeSelector(selector, Child(path, "nodeSelector")));
    const Value& terms = selector["nodeSelectorTerms"];
    if (terms.size() != 1) {
      // One term lets the allocator join the selectors of several slices.
      out.errors.push_back(Invalid(Child(path, "nodeSelector.nodeSelectorTerms"),
                                   ShownInternal(terms, kSelectorTerm),
                                   "must have exactly one node selector term"));
    }
  }
  ReadTrueOnly(spec["allNodes"], "allNodes", path, out);
  ReadTrueOnly(spec["perDeviceNodeSelection"], "perDeviceNodeSelection", path, out);
  static constexpr std::string_view kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (out.set.empty()) {
    out.errors.push_back(Required(path, std::string(kOneOf)));
  } else if (out.set.size() > 1) {
    out.errors.push_back(Invalid(path, ShownText(fmt::format("{{{}}}", fmt::join(out.set, ", "))),
                                 std::string(kOneOf) + ", but multiple fields are set"));
  }
  return out;
}

ErrorList ValidateDeviceNodes(const Value& device, bool per_device, const std::string& path) {
  if (!per_device) {
    const bool any = !device["nodeName"].IsNull() || !device["nodeSelector"].IsNull() ||
                     !device["allNodes"].IsNull();
    if (!any) return {};
    return {Invalid(path, "null",
                    "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec")};
  }
  NodeFields out;
  ReadNodeName(device["nodeName"], path, "must not be empty", out);
  if (const Value& selector = device["nodeSelector"]; !selector.IsNull()) {
    out.set.emplace_back("`nodeSelector`");
    Append(out.errors, ValidateNodeSelector(selector, Child(path, "nodeSelector")));
  }
  ReadTrueOnly(device["allNodes"], "allNodes", path, out);
  static constexpr const char* kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
      "`perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (out.set.empty()) out.errors.push_back(Required(path, kOneOf));
  if (out.set.size() > 1) {
    out.errors.push_back(
        Invalid(path, ShownText(fmt::format("{{{}}}", fmt::join(out.set, ", "))), kOneOf));
  }
  return out.errors;
}

int SignOf(const Value& quantity) {
  return Quantity::Parse(quantity.AsString("0")).value_or(Quantity()).Sign();
}

ErrorList ValidateMapping(const Value& mapping, const Value& capacity, const std::string& path) {
  ErrorList errors;
  const Value& key = mapping["capacityKey"];
  const Value& multiplier = mapping["capacityMultiplier"];
  const auto positive = [&](std::string_view field) {
    if (mapping[field].IsNull() || SignOf(mapping[field]) > 0) return;
    errors.push_back(Invalid(Child(path, field), Shown(mapping[field]), "must be positive"));
  };
  if (!key.IsNull()) {
    const std::string key_path = Child(path, "capacityKey");
    if (key.AsString().empty()) {
      errors.push_back(Invalid(key_path, "\"\"", "capacityKey must not be an empty string"));
    } else if (!capacity.Has(key.AsString())) {
      errors.push_back(NotFound(key_path, ShownNamed(key.AsString())));
    }
    if (multiplier.IsNull()) {
      errors.push_back(Required(Child(path, "capacityMultiplier"),
                                "capacityMultiplier is required when capacityKey is set"));
    } else {
      positive("capacityMultiplier");
    }
  }
  positive("deviceMultiplier");
  if (!multiplier.IsNull() && key.IsNull()) {
    errors.push_back(Required(Child(path, "capacityKey"),
                              "capacityKey is required when capacityMultiplier is set"));
  }
  return errors;
}

ErrorList ValidateOverhead(const Value& overhead, const std::string& path) {
  if (overhead["perPod"].IsNull() && overhead["perContainer"].IsNull()) {
    return {Invalid(path, "\"\"", "at least one of perPod or perContainer must be set")};
  }
  ErrorList errors;
  for (const std::string_view field : {"perPod", "perContainer"}) {
    if (overhead[field].IsNull() || SignOf(overhead[field]) >= 0) continue;
    errors.push_back(Invalid(Child(path, field), Shown(overhead[field]), "must be non-negative"));
  }
  return errors;
}

ErrorList ValidateNodeAllocatable(const Value& device, const std::string& path) {
  ErrorList errors;
  for (const json::Member& entry : device["nodeAllocatableResources"].Members()) {
    const std::string_view name = entry.key();
    const std::string at = Key(path, name);
    if (name != "cpu" && name != "memory" && !IsHugePageResourceName(name)) {
      errors.push_back(Invalid(at, ShownNamed(name), "must be a node allocatable resource name"));
    }
    const Value& mapping = entry.value["mapping"];
    const Value& overhead = entry.value["overhead"];
    if (mapping.IsNull() && overhead.IsNull()) {
      errors.push_back(Required(at, "at least one of mapping or overhead must be set"));
    }
    if (!mapping.IsNull()) {
      Append(errors, ValidateMapping(mapping, device["capacity"], Child(at, "mapping")));
    }
    if (!overhead.IsNull()) Append(errors, ValidateOverhead(overhead, Child(at, "overhead")));
  }
  return errors;
}

ErrorList ValidateCapacity(const Context& context, const Value& device, const std::string& path) {
  const bool shared = device["allowMultipleAllocations"].AsBool();
  return ValidateMap(
      device["capacity"], kAnyNumber, kQualifiedNameMax,
      [&](std::string_view name) { return ValidateQualifiedName(name, path); },
      [&](const Value& capacity, const std::string& at) -> ErrorList {
        const Value& policy = capacity["requestPolicy"];
        if (policy.IsNull()) return {};
        const std::string policy_path = Child(at, "requestPolicy");
        if (!shared) return {Forbidden(policy_path, "allowMultipleAllocations must be true")};
        return ValidateRequestPolicy(context, capacity["value"], policy, policy_path);
      },
      path, CoveredBy::kNothing);
}

ErrorList ValidateDevice(const Context& context, const Value& device, const Value* old,
                         bool per_device_nodes, const std::string& path) {
  ErrorList errors = ValidateDnsLabel(device["name"].AsString(), Child(path, "name"));
  const std::size_t entries = device["attributes"].size() + device["capacity"].size();
  if (entries > kAttributesAndCapacitiesMax) {
    errors.push_back(
        Invalid(path, std::to_string(entries),
                fmt::format("the total number of attributes and capacities must not exceed {}",
                            kAttributesAndCapacitiesMax)));
  }
  const std::size_t values = CountAttributeValues(device);
  if (values > kAttributeValuesMax) {
    errors.push_back(Invalid(path, std::to_string(values),
                             fmt::format("the total number of attribute values must not exceed {}",
                                         kAttributeValuesMax)));
  }
  const std::string attributes_path = Child(path, "attributes");
  Append(errors,
         ValidateMap(
             device["attributes"], kAnyNumber, kQualifiedNameMax,
             [&](std::string_view name) { return ValidateQualifiedName(name, attributes_path); },
             ValidateAttribute, attributes_path, CoveredBy::kNothing));
  // What did not change was valid when it came; rules may have become stricter since.
  if (old == nullptr || !SemanticEqual((*old)["capacity"], device["capacity"])) {
    Append(errors, ValidateCapacity(context, device, Child(path, "capacity")));
  }
  if (old == nullptr || !SemanticEqual((*old)["taints"], device["taints"])) {
    Append(errors, ValidateList(
                       device["taints"], kTaintsMax,
                       [](const Value& taint, const std::string& at) {
                         return ValidateDeviceTaint(taint, nullptr, at);
                       },
                       Child(path, "taints"), CoveredBy::kNothing));
  }
  Append(errors,
         ValidateSet(
             device["consumesCounters"], kConsumptionsMax,
             [](const Value& consumption, const std::string& at) {
               return ValidateCounterHolder(consumption, "counterSet", at);
             },
             [](const Value& use) { return ShownText(use["counterSet"].AsString()); },
             Child(path, "consumesCounters"), CoveredBy::kDeclarative, CoveredBy::kDeclarative));
  Append(errors, ValidateDeviceNodes(device, per_device_nodes, path));
  Append(errors, ValidateBindingConditions(device, path));
  Append(errors, ValidateNodeAllocatable(device, Child(path, "nodeAllocatableResources")));
  return errors;
}

bool AnyDevice(const Value& spec, bool (*has)(const Value& device)) {
  return std::ranges::any_of(spec["devices"].Items(), has);
}

bool ConsumesCounters(const Value& device) { return !device["consumesCounters"].empty(); }
bool HasTaints(const Value& device) { return !device["taints"].empty(); }
bool HasListAttributes(const Value& device) {
  return std::ranges::any_of(device["attributes"].Members(), [](const json::Member& attribute) {
    return std::ranges::any_of(
        kListTypes, [&](std::string_view name) { return !attribute.value[name].IsNull(); });
  });
}

// Devices that consume counters must say by this attribute which kind of partition they are.
ErrorList ValidatePartitionType(const Value& spec, const std::string& path) {
  const Value& attribute = spec["partitionTypeAttribute"];
  if (attribute.IsNull()) return {};
  const std::string_view name = attribute.AsString();
  if (!AnyDevice(spec, ConsumesCounters)) {
    return {Invalid(Child(path, "partitionTypeAttribute"), ShownText(name),
                    "may only be set on a slice which declares devices that consume counters")};
  }
  // A malformed name is reported by the declarative rules; no device can carry it.
  if (!ValidateFullyQualifiedName(name, "").empty()) return {};
  const std::string prefix = std::string(spec["driver"].AsString()) + "/";
  const std::string_view bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  ErrorList errors;
  for (std::size_t i = 0; i < spec["devices"].size(); ++i) {
    const Value& device = spec["devices"].Items()[i];
    if (!ConsumesCounters(device)) continue;
    const std::string at = Key(Child(Index(Child(path, "devices"), i), "attributes"), name);
    const Value* found = device["attributes"].Find(name);
    if (found == nullptr) found = device["attributes"].Find(bare);
    if (found == nullptr) {
      errors.push_back(Required(at,
                                "device consumes counters and `partitionTypeAttribute` names this "
                                "attribute, so it must be set"));
    } else if ((*found)["string"].IsNull()) {
      errors.push_back(
          Invalid(at, Shown(*found),
                  "must be a string value because `partitionTypeAttribute` names this attribute"));
    }
  }
  return errors;
}

ErrorList ValidatePool(const Value& pool, const std::string& path) {
  ErrorList errors = ValidatePoolName(pool["name"].AsString(), Child(path, "name"));
  const std::int64_t slices = pool["resourceSliceCount"].AsInt();
  if (slices <= 0) {
    errors.push_back(
        Invalid(Child(path, "resourceSliceCount"), ShownInt(slices), "must be greater than zero"));
  }
  const std::int64_t generation = pool["generation"].AsInt();
  if (generation < 0) {
    errors.push_back(Invalid(Child(path, "generation"), ShownInt(generation),
                             "must be greater than or equal to zero"));
  }
  return errors;
}

const Value* FindDevice(const Value* spec, std::string_view name) {
  if (spec == nullptr) return nullptr;
  for (const Value& device : (*spec)["devices"].Items()) {
    if (device["name"].AsString() == name) return &device;
  }
  return nullptr;
}

}  // namespace

ErrorList ValidateSliceSpec(const Context& context, const Value& spec, const Value* old,
                            const std::string& path) {
  ErrorList errors = ValidateDriverName(spec["driver"].AsString(), Child(path, "driver"));
  Append(errors, ValidatePool(spec["pool"], Child(path, "pool")));
  if (old != nullptr) {
    Append(errors, ValidateImmutable(spec["pool"]["name"], (*old)["pool"]["name"],
                                     Child(path, "pool.name")));
    for (const std::string_view field : {"driver", "nodeName"}) {
      Append(errors, ValidateImmutable(spec[field], (*old)[field], Child(path, field)));
    }
  }
  Append(errors, ReadSliceNodes(spec, path).errors);
  const auto given = [&](std::string_view field) {
    return !spec[field].IsNull() || context.sent["spec"][field].IsArray();
  };
  if (given("sharedCounters") && given("devices")) {
    errors.push_back(Invalid(path, "\"\"", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const bool advanced = AnyDevice(spec, HasTaints) || AnyDevice(spec, ConsumesCounters) ||
                        AnyDevice(spec, HasListAttributes);
  const bool per_device = spec["perDeviceNodeSelection"].AsBool();
  Append(errors, ValidateSet(
                     spec["devices"], advanced ? kAdvancedDevicesMax : kDevicesMax,
                     [&](const Value& device, const std::string& at) {
                       const Value* before = FindDevice(old, device["name"].AsString());
                       return ValidateDevice(context, device, before, per_device, at);
                     },
                     [](const Value& device) { return ShownText(device["name"].AsString()); },
                     Child(path, "devices"), CoveredBy::kNothing, CoveredBy::kNothing));
  Append(errors,
         ValidateSet(
             spec["sharedCounters"], kCounterSetsMax,
             [](const Value& set, const std::string& at) {
               return ValidateCounterHolder(set, "name", at);
             },
             [](const Value& set) { return ShownText(set["name"].AsString()); },
             Child(path, "sharedCounters"), CoveredBy::kDeclarative, CoveredBy::kDeclarative));
  Append(errors, ValidatePartitionType(spec, path));
  Append(errors,
         ValidateSkipNodeOperations(spec["skipNodeOperations"], Child(path, "skipNodeOperations")));
  return errors;
}

}  // namespace drachma::validation
