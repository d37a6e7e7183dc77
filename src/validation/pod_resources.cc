#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "num/quantity.h"
#include "validation/names.h"
#include "validation/pod_rules.h"

// Requests, limits and claims of containers and pods.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::array<std::string_view, 3> kOfContainers = {"cpu", "ephemeral-storage", "memory"};
constexpr std::array<std::string_view, 9> kWhole = {"pods",
                                                    "resourcequotas",
                                                    "services",
                                                    "replicationcontrollers",
                                                    "secrets",
                                                    "configmaps",
                                                    "persistentvolumeclaims",
                                                    "services.nodeports",
                                                    "services.loadbalancers"};

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool OvercommitAllowed(std::string_view name) {
  return IsNativeResource(name) && !IsHugePageResourceName(name);
}

Quantity QuantityOf(const Value& value) {
  return Quantity::Parse(value.AsString("0")).value_or(Quantity());
}

}  // namespace

ErrorList ValidateContainerResourceName(std::string_view name, const std::string& path) {
  ErrorList errors = ValidateResourceName(name, path);
  if (!name.contains('/')) {
    if (!IsOneOf(name, kOfContainers) && !IsHugePageResourceName(name)) {
      errors.push_back(
          Invalid(path, ShownNamed(name), "must be a standard resource for containers"));
    }
  } else if (!IsNativeResource(name) && !IsExtendedResourceName(name)) {
    errors.push_back(
        Invalid(path, ShownNamed(name), "doesn't follow extended resource name standard"));
  }
  return errors;
}

namespace {

ErrorList ValidatePodResourceName(std::string_view name, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kSupported = {"cpu", "memory"};
  ErrorList errors = ValidateResourceName(name, path);
  if (errors.empty() && !IsOneOf(name, kSupported) && !IsHugePageResourceName(name)) {
    errors.push_back(NotSupported(path, ShownNamed(name), kSupported));
  }
  return errors;
}

ErrorList ValidateHugePages(std::string_view name, const Quantity& quantity,
                            const std::string& path) {
  if (!IsHugePageResourceName(name)) return {};
  const auto page = Quantity::Parse(name.substr(std::string_view("hugepages-").size()));
  const std::int64_t size = page ? page->Value() : 0;
  if (size > 0 && quantity.Value() % size == 0) return {};
  return {
      Invalid(path, ShownText(quantity.ToString()),
              fmt::format("{} is not positive integer multiple of {}", quantity.ToString(), name))};
}

// One entry of limits or requests.
ErrorList ValidateAmount(std::string_view name, const Value& amount, ResourceHolder holder,
                         const std::string& path) {
  ErrorList errors = holder == ResourceHolder::kContainer
                         ? ValidateContainerResourceName(name, path)
                         : ValidatePodResourceName(name, path);
  Append(errors, ValidateResourceQuantity(name, amount, path));
  Append(errors, ValidateHugePages(name, QuantityOf(amount), path));
  return errors;
}

// A request beside its limit.
ErrorList ValidateAgainstLimit(std::string_view name, const Value& request, const Value* limit,
                               const std::string& path) {
  if (limit == nullptr) {
    if (OvercommitAllowed(name)) return {};
    return {Required(Child(path, "limits"), "Limit must be set for non overcommitable resources")};
  }
  const Quantity asked = QuantityOf(request);
  const Quantity most = QuantityOf(*limit);
  const int order = asked.Compare(most);
  const auto fault = [&](const char* relation) -> ErrorList {
    return {Invalid(Child(path, "requests"), ShownText(asked.ToString()),
                    fmt::format("must be {} {} limit of {}", relation, name, most.ToString()))};
  };
  if (order != 0 && !OvercommitAllowed(name)) return fault("equal to");
  if (order > 0) return fault("less than or equal to");
  return {};
}

ErrorList ValidateClaims(const Value& claims, const NameSet& known, const std::string& path) {
  ErrorList errors;
  NameSet seen;  // names, or name/request
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string at = Index(path, i);
    const std::string name(claims.Items()[i]["name"].AsString());
    const std::string_view request = claims.Items()[i]["request"].AsString();
    if (name.empty()) {
      errors.push_back(Required(at));
      continue;
    }
    if (seen.contains(name)) {
      errors.push_back(Duplicate(at, ShownText(name)));
    } else {
      std::string key = name;
      if (!request.empty()) {
        Append(errors, ValidateDnsLabelAt(request, Child(at, "request")));
        key += "/" + std::string(request);
      }
      if (seen.contains(key)) {
        errors.push_back(Duplicate(at, ShownText(key)));
      } else if (request.empty()) {
        // All of a claim overlaps with each of its requests.
        for (const std::string& other : seen) {
          if (other.starts_with(name + "/")) errors.push_back(Duplicate(at, ShownText(name)));
        }
      }
      seen.insert(std::move(key));
    }
    if (known.contains(name)) continue;
    FieldError missing = NotFound(at, ShownText(name));
    missing.detail = "must be one of the names in pod.spec.resourceClaims";
    missing.detail += known.empty() ? std::string(" which is empty")
                                    : fmt::format(": {}", fmt::join(known, ", "));
    errors.push_back(std::move(missing));
  }
  return errors;
}

}  // namespace

ErrorList ValidateResourceName(std::string_view name, const std::string& path) {
  ErrorList errors;
  for (const std::string& fault : IsLabelKey(name)) {
    errors.push_back(Invalid(path, ShownNamed(name), fault));
  }
  if (!errors.empty() || name.contains('/')) return errors;
  if (name != "storage" && !IsStandardQuotaName(name)) {
    errors.push_back(
        Invalid(path, ShownNamed(name), "must be a standard resource type or fully qualified"));
  }
  return errors;
}

ErrorList ValidateResourceQuantity(std::string_view name, const Value& amount,
                                   const std::string& path) {
  ErrorList errors;
  const Quantity quantity = QuantityOf(amount);
  if (quantity.Sign() < 0) {
    errors.push_back(
        Invalid(path, ShownText(quantity.ToString()), "must be greater than or equal to 0"));
  }
  const bool whole = IsOneOf(name, kWhole) || IsExtendedResourceName(name);
  if (whole && quantity.MilliValue() % 1000 != 0) {
    errors.push_back(Invalid(path, ShownText(quantity.ToString()), "must be an integer"));
  }
  return errors;
}

ErrorList ValidateResources(const Value& resources, ResourceHolder holder, const NameSet& claims,
                            const std::string& path) {
  ErrorList errors;
  const Value& limits = resources["limits"];
  const Value& requests = resources["requests"];
  bool has_compute = false;
  bool has_huge_pages = false;
  const auto note = [&](std::string_view name) {
    has_compute = has_compute || name == "cpu" || name == "memory";
    has_huge_pages = has_huge_pages || IsHugePageResourceName(name);
  };
  for (const json::Member& limit : limits.Members()) {
    note(limit.key());
    Append(errors, ValidateAmount(limit.key(), limit.value, holder,
                                  Key(Child(path, "limits"), limit.key())));
  }
  for (const json::Member& request : requests.Members()) {
    note(request.key());
    Append(errors, ValidateAmount(request.key(), request.value, holder,
                                  Key(Child(path, "requests"), request.key())));
    Append(errors,
           ValidateAgainstLimit(request.key(), request.value, limits.Find(request.key()), path));
  }
  if (has_huge_pages && !has_compute) {
    errors.push_back(Forbidden(path, "HugePages require cpu or memory"));
  }
  Append(errors, ValidateClaims(resources["claims"], claims, Child(path, "claims")));
  return errors;
}

}  // namespace drachma::validation
