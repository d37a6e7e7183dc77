#include "validation/resource_common.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "json/json.h"
#include "json/part.h"
#include "selector/program.h"
#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kDomainMax = 63;
constexpr std::size_t kIdMax = 32;
constexpr std::size_t kPoolMax = 253;
constexpr std::array<std::string_view, 3> kEffects = {"NoExecute", "NoSchedule", "None"};

ErrorList CoveredIf(ErrorList errors, CoveredBy by) {
  return by == CoveredBy::kDeclarative ? Covered(std::move(errors)) : std::move(errors);
}

// Keys that are too long are shown without their middle.
std::string Shortened(std::string_view key, std::size_t max) {
  max = std::max<std::size_t>(max, 16);
  if (key.size() <= max) return std::string(key);
  const std::size_t rest = max - 3;
  return fmt::format("{}...{}", key.substr(0, (rest + 1) / 2), key.substr(key.size() - rest / 2));
}

ErrorList CIdentifier(std::string_view id, const std::string& path) {
  ErrorList errors;
  if (id.size() > kIdMax) errors.push_back(TooLong(path, kIdMax));
  Append(errors, InvalidEach(path, id, IsCIdentifier(id)));
  return errors;
}

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// What google/uuid says about a text that is no UUID; empty when it is one.
std::string UuidFault(std::string_view text) {
  std::string_view body = text;
  switch (text.size()) {
    case 32:
      return std::ranges::all_of(text, IsHex) ? "" : "invalid UUID format";
    case 36:
      break;
    case 36 + 9:
      if (AsciiLower(text.substr(0, 9)) != "urn:uuid:") {
        return fmt::format("invalid urn prefix: {}", ShownText(text.substr(0, 9)));
      }
      body = text.substr(9);
      break;
    case 36 + 2:
      if (text.front() != '{' || text.back() != '}') return "invalid bracketed UUID format";
      body = text.substr(1, 36);
      break;
    default:
      return fmt::format("invalid UUID length: {}", text.size());
  }
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? body[i] != '-' : !IsHex(body[i])) return "invalid UUID format";
  }
  return {};
}

}  // namespace

ErrorList ValidateList(const Value& list, std::size_t max, const ItemRule& rule,
                       const std::string& path, CoveredBy size) {
  const auto items = list.Items();
  if (items.size() > max) {
    return CoveredIf(WithOrigin({TooMany(path, items.size(), max)}, "maxItems"), size);
  }
  ErrorList errors;
  for (std::size_t i = 0; i < items.size(); ++i) Append(errors, rule(items[i], Index(path, i)));
  return errors;
}

ErrorList ValidateSet(const Value& list, std::size_t max, const ItemRule& rule,
                      const KeyOf& shown_key, const std::string& path, CoveredBy size,
                      CoveredBy uniqueness) {
  ErrorList errors = ValidateList(list, max, rule, path, size);
  const auto items = list.Items();
  if (items.size() > max) return errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string key = shown_key(items[i]);
    if (seen.contains(key)) {
      Append(errors, CoveredIf({Duplicate(Index(path, i), key)}, uniqueness));
    }
    seen.insert(std::move(key));
  }
  return errors;
}

ErrorList ValidateMap(const Value& map, std::size_t max, std::size_t key_max,
                      const std::function<ErrorList(std::string_view)>& key_rule,
                      const ItemRule& rule, const std::string& path, CoveredBy keys) {
  const auto members = map.Members();
  if (members.size() > max) return {TooMany(path, members.size(), max)};
  ErrorList errors;
  for (const json::Member& member : members) {
    Append(errors, CoveredIf(key_rule(member.key()), keys));
    Append(errors, rule(member.value, Key(path, Shortened(member.key(), key_max))));
  }
  return errors;
}

ErrorList ValidateDriverName(std::string_view name, const std::string& path, CoveredBy by) {
  if (name.empty()) return CoveredIf({Required(path)}, by);
  const bool covered = by == CoveredBy::kDeclarative;
  ErrorList errors;
  if (name.size() > kDomainMax) {
    errors.push_back(TooLong(path, kDomainMax));
    if (covered) errors.back().origin = "maxLength";
  }
  Append(errors, InvalidEach(path, name, IsDns1123Subdomain(AsciiLower(name)),
                             covered ? "format=k8s-long-name-caseless" : ""));
  return CoveredIf(std::move(errors), by);
}

ErrorList ValidatePoolName(std::string_view name, const std::string& path) {
  if (name.empty()) return {Required(path)};
  ErrorList errors;
  if (name.size() > kPoolMax) errors.push_back(TooLong(path, kPoolMax));
  for (const std::string_view part : Split(name, '/')) {
    Append(errors, ValidateDnsSubdomain(part, path));
  }
  return WithOrigin(std::move(errors), "format=k8s-resource-pool-name");
}

ErrorList ValidateDnsLabel(std::string_view name, const std::string& path) {
  return InvalidEach(path, name, IsDns1123Label(name), "format=k8s-short-name");
}

ErrorList ValidateDnsSubdomain(std::string_view name, const std::string& path) {
  return InvalidEach(path, name, IsDns1123Subdomain(name), "format=k8s-long-name");
}

ErrorList ValidateShareId(std::string_view uid, const std::string& path) {
  Faults faults;
  if (const std::string fault = UuidFault(uid); !fault.empty()) {
    faults.push_back("error validating uid: " + fault);
  } else if (uid.size() != 36 || uid != AsciiLower(uid)) {
    faults.emplace_back(
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
        "lowercase hexadecimal characters");
  }
  return InvalidEach(path, uid, faults, "format=k8s-uuid");
}

ErrorList ValidateLabelValueAt(std::string_view value, const std::string& path) {
  return InvalidEach(path, value, IsLabelValue(value));
}

ErrorList ValidateQualifiedName(std::string_view name, const std::string& path) {
  const auto parts = Split(name, '/');
  if (parts.size() == 1) return CIdentifier(name, path);
  // Upstream looks at no name with more than one slash.
  if (parts.size() > 2) return {};
  ErrorList errors;
  if (parts[0].empty()) {
    errors.push_back(Invalid(path, "\"\"", "the domain must not be empty"));
  } else {
    errors = ValidateDriverName(parts[0], path);
  }
  if (parts[1].empty()) {
    errors.push_back(Invalid(path, "\"\"", "the name must not be empty"));
  } else {
    Append(errors, CIdentifier(parts[1], path));
  }
  return errors;
}

ErrorList ValidateFullyQualifiedName(std::string_view name, const std::string& path) {
  ErrorList errors = ValidateQualifiedName(name, path);
  if (!name.contains('/')) {
    errors.push_back(
        Invalid(path, ShownNamed(name),
                "a fully qualified name must be a domain and a name separated by a slash"));
  }
  return WithOrigin(std::move(errors), "format=k8s-resource-fully-qualified-name");
}

ErrorList ValidateRaw(const Context& context, const Value& raw, const std::string& path,
                      Origin origin, std::int64_t bytes_max) {
  if (raw.IsNull()) return {Required(path)};
  std::size_t size = json::SentText(context.sent_text, path).size();
  if (size == 0) size = json::Write(raw).size();
  const auto bytes = static_cast<std::int64_t>(size);
  if (origin == Origin::kNew && bytes > bytes_max) return {TooLong(path, bytes_max)};
  if (!raw.IsObject()) {
    return {Invalid(path, "\"<value omitted>\"", "must be a valid JSON object")};
  }
  return {};
}

ErrorList ValidateConfiguration(const Context& context, const Value& config,
                                const std::string& path, Origin origin) {
  const std::string opaque_path = Child(path, "opaque");
  const Value& opaque = config["opaque"];
  if (opaque.IsNull()) return {Required(opaque_path)};
  ErrorList errors = ValidateDriverName(opaque["driver"].AsString(), Child(opaque_path, "driver"),
                                        CoveredBy::kDeclarative);
  Append(errors, ValidateRaw(context, opaque["parameters"], Child(opaque_path, "parameters"),
                             origin, kOpaqueBytesMax));
  return errors;
}

ErrorList ValidateDeviceTaint(const Value& taint, const Value* old, const std::string& path) {
  ErrorList errors = ValidateLabelName(taint["key"].AsString(), Child(path, "key"));
  if (const std::string_view value = taint["value"].AsString(); !value.empty()) {
    Append(errors, ValidateLabelValueAt(value, Child(path, "value")));
  }
  const std::string_view effect = taint["effect"].AsString();
  if (old != nullptr && (*old)["effect"].AsString() == effect) return errors;
  if (effect.empty()) {
    Append(errors, Covered({Required(Child(path, "effect"))}));
  } else if (std::ranges::find(kEffects, effect) == kEffects.end()) {
    Append(errors, Covered({NotSupported(Child(path, "effect"), ShownNamed(effect), kEffects)}));
  }
  return errors;
}

ErrorList ValidateToleration(const Value& toleration, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kOperators = {"Equal", "Exists"};
  ErrorList errors;
  if (const std::string_view key = toleration["key"].AsString(); !key.empty()) {
    Append(errors, Covered(ValidateLabelName(key, Child(path, "key"))));
  }
  const std::string_view op = toleration["operator"].AsString();
  const std::string_view value = toleration["value"].AsString();
  if (op == "Exists") {
    if (!value.empty()) {
      errors.push_back(
          Invalid(Child(path, "value"), ShownText(value), "must be empty for operator `Exists`"));
    }
  } else if (op == "Equal") {
    Append(errors, ValidateLabelValueAt(value, Child(path, "value")));
  } else if (op.empty()) {
    Append(errors, Covered({Required(Child(path, "operator"))}));
  } else {
    Append(errors, Covered({NotSupported(Child(path, "operator"), ShownNamed(op), kOperators)}));
  }
  const std::string_view effect = toleration["effect"].AsString();
  if (!effect.empty() && std::ranges::find(kEffects, effect) == kEffects.end()) {
    Append(errors, Covered({NotSupported(Child(path, "effect"), ShownNamed(effect), kEffects)}));
  }
  return errors;
}

ErrorList ValidateBindingConditions(const Value& holder, const std::string& path) {
  const Value& conditions = holder["bindingConditions"];
  const Value& failures = holder["bindingFailureConditions"];
  const std::string conditions_path = Child(path, "bindingConditions");
  const std::string failures_path = Child(path, "bindingFailureConditions");
  const ItemRule label = [](const Value& item, const std::string& at) {
    return ValidateLabelName(item.AsString(), at);
  };
  ErrorList errors = ValidateList(conditions, kBindingConditionsMax, label, conditions_path,
                                  CoveredBy::kDeclarative);
  Append(errors, ValidateList(failures, kBindingConditionsMax, label, failures_path,
                              CoveredBy::kDeclarative));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view name = conditions.Items()[i].AsString();
    if (!seen.insert(name).second) {
      errors.push_back(Duplicate(Index(conditions_path, i), ShownText(name)));
    }
  }
  std::set<std::string_view> seen_failures;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const std::string_view name = failures.Items()[i].AsString();
    if (!seen_failures.insert(name).second) {
      errors.push_back(Duplicate(Index(failures_path, i), ShownText(name)));
    }
    if (seen.contains(name)) {
      errors.push_back(Invalid(Index(failures_path, i), ShownText(name),
                               "bindingFailureConditions must not overlap with bindingConditions"));
    }
  }
  const auto shown = [](const Value& list) { return list.IsNull() ? "null" : Shown(list); };
  if (conditions.empty() && !failures.empty()) {
    errors.push_back(Invalid(conditions_path, shown(conditions),
                             "bindingConditions are required to use bindingFailureConditions"));
  }
  if (failures.empty() && !conditions.empty()) {
    errors.push_back(Invalid(failures_path, shown(failures),
                             "bindingFailureConditions are required to use bindingConditions"));
  }
  return errors;
}

ErrorList ValidateSkipNodeOperations(const Value& operations, const std::string& path) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(operations.Items(),
                               [&](const Value& item) { return item.AsString() == name; });
  };
  if (!has("NodePrepareResources") || has("NodeUnprepareResources") || has("*")) return {};
  return {Invalid(
      path, Shown(operations),
      "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped")};
}

ErrorList ValidateExpression(const Context& context, std::string_view text, Expression kind,
                             const std::string& path, std::uint64_t* cost) {
  if (text.size() > selector::kExpressionBytesMax) {
    return {TooLong(path, static_cast<std::int64_t>(selector::kExpressionBytesMax))};
  }
  const selector::CompileOptions options = {
      .consumable_capacity = context.Enabled("DRAConsumableCapacity"),
      .list_type_attributes = context.Enabled("DRAListTypeAttributes"),
      .environment = selector::Environment::kNew,
      .purpose = kind == Expression::kSelector ? selector::Purpose::kSelector
                                               : selector::Purpose::kDerivedAttribute};
  const auto program = selector::Compile(text, options);
  if (!program) {
    const selector::CompileError& error = program.error();
    if (error.type == selector::CompileError::Type::kInternal) {
      return {InternalError(path, error.message)};
    }
    return {Invalid(path, ShownText(text), error.message)};
  }
  if (cost != nullptr) *cost += program->max_cost();
  if (program->max_cost() > selector::kCostMax) {
    return {Forbidden(path, "too complex, exceeds cost limit")};
  }
  return {};
}

ErrorList ValidateSelectors(const Context& context, const Value& selectors, const std::string& path,
                            Origin origin) {
  const ItemRule rule = [&](const Value& selector, const std::string& at) -> ErrorList {
    if (selector["cel"].IsNull()) return {Required(Child(at, "cel"))};
    if (origin == Origin::kStored) return {};
    return ValidateExpression(context, selector["cel"]["expression"].AsString(),
                              Expression::kSelector, Child(at, "cel.expression"), nullptr);
  };
  return ValidateList(selectors, kSelectorsMax, rule, path, CoveredBy::kDeclarative);
}

RequestNames::RequestNames(const Value& device_claim) {
  for (const Value& request : device_claim["requests"].Items()) {
    auto& subrequests = names_[std::string(request["name"].AsString())];
    subrequests.clear();
    for (const Value& alternative : request["firstAvailable"].Items()) {
      subrequests.emplace(alternative["name"].AsString());
    }
  }
}

bool RequestNames::Has(std::string_view ref) const {
  const auto parts = Split(ref, '/');
  if (parts.size() > 2) return false;
  const auto found = names_.find(parts[0]);
  if (found == names_.end()) return false;
  return parts.size() == 1 || found->second.contains(parts[1]);
}

ErrorList ValidateRequestRef(std::string_view ref, const std::string& path,
                             const RequestNames& names) {
  const FieldError unknown =
      Invalid(path, ShownText(ref),
              "must be the name of a request in the claim or the name of a request and a "
              "subrequest separated by '/'");
  const auto parts = Split(ref, '/');
  if (parts.size() > 2) return {unknown};
  ErrorList errors;
  for (const std::string_view part : parts) Append(errors, ValidateDnsLabel(part, path));
  if (!names.Has(ref)) errors.push_back(unknown);
  return errors;
}

ErrorList ValidateRequestRefs(const Value& refs, const std::string& path,
                              const RequestNames& names) {
  return ValidateSet(
      refs, kRequestsMax,
      [&](const Value& ref, const std::string& at) {
        return ValidateRequestRef(ref.AsString(), at, names);
      },
      [](const Value& ref) { return Shown(ref); }, path, CoveredBy::kDeclarative,
      CoveredBy::kDeclarative);
}

std::string ShownDeviceId(const Value& entry) {
  return Shown(Value::Object({{"Driver", entry["driver"].AsString()},
                              {"Pool", entry["pool"].AsString()},
                              {"Device", entry["device"].AsString()},
                              {"ShareID", entry["shareID"].AsString()}}));
}

}  // namespace drachma::validation
