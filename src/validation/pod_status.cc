#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "num/quantity.h"
#include "validation/ip_families.h"
#include "validation/names.h"
#include "validation/node_selector.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/shown_internal.h"

// What kubelets, the scheduler and controllers write into the status of a pod; and bindings.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kHealthMessageMax = 1024;

ErrorList ValidatePodConditions(const Value& conditions, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kSystem = {"PodScheduled", "Ready",
                                                              "Initialized"};
  ErrorList errors;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.Items()[i];
    const std::int64_t generation = condition["observedGeneration"].AsInt();
    if (generation < 0) {
      errors.push_back(Invalid(Child(Index(path, i), "observedGeneration"), ShownInt(generation),
                               "must be a non-negative integer"));
    }
    const std::string_view type = condition["type"].AsString();
    if (std::ranges::find(kSystem, type) != kSystem.end()) continue;
    Append(errors, ValidateQualifiedNameAt(type, Child(Index(path, i), "Type")));
  }
  return errors;
}

ErrorList ValidateClaimStatuses(const Value& statuses, const Value& claims,
                                const std::string& path) {
  ErrorList errors;
  NameSet seen;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Value& status = statuses.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view name = status["name"].AsString();
    const bool known = std::ranges::any_of(
        claims.Items(), [&](const Value& claim) { return claim["name"].AsString() == name; });
    if (!known) {
      errors.push_back(Invalid(Child(at, "name"), ShownText(name),
                               "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!seen.emplace(name).second) {
      errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
    }
    if (status["resourceClaimName"].IsNull()) continue;
    const std::string_view claim = status["resourceClaimName"].AsString();
    Append(errors, InvalidEach(Child(at, "resourceClaimName"), claim, IsDns1123Subdomain(claim)));
  }
  return errors;
}

const Value* FindContainer(const Value& spec, std::string_view name) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : spec[list].Items()) {
      if (container["name"].AsString() == name) return &container;
    }
  }
  return nullptr;
}

ErrorList ValidateExtendedClaim(const Value& status, const Value& spec, const std::string& path) {
  if (status.IsNull()) return {};
  ErrorList errors;
  const std::string mappings_path = Child(path, "requestMappings");
  const Value& mappings = status["requestMappings"];
  if (mappings.empty()) {
    errors.push_back(Required(mappings_path, "at least one request mapping is required"));
  }
  std::set<std::array<std::string, 3>> seen;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const Value& mapping = mappings.Items()[i];
    const std::string at = Index(mappings_path, i);
    const std::string_view container_name = mapping["containerName"].AsString();
    const std::string_view resource = mapping["resourceName"].AsString();
    const std::string_view request = mapping["requestName"].AsString();
    const Value* container = FindContainer(spec, container_name);
    if (container == nullptr) {
      errors.push_back(Invalid(Child(at, "containerName"), ShownText(container_name),
                               "must match the name of an entry in spec.initContainers.name or "
                               "spec.containers.name"));
    } else if (!(*container)["resources"]["requests"].Has(resource)) {
      errors.push_back(Invalid(Child(at, "resourceName"), ShownText(resource),
                               "must match the extended resource name of an entry in "
                               "spec.initContainers.resources.requests or "
                               "spec.containers.resources.requests"));
    }
    // Upstream names the field of no mapping in particular.
    Append(errors, ValidateDnsLabelAt(request, Child(path, "requestName")));
    if (!seen.insert({std::string(container_name), std::string(resource), std::string(request)})
             .second) {
      for (const std::string_view field : {"containerName", "resourceName", "requestName"}) {
        errors.push_back(Duplicate(Child(at, field), ShownText(mapping[field].AsString())));
      }
    }
  }
  const std::string_view claim = status["resourceClaimName"].AsString();
  const std::string claim_path = Child(path, "resourceClaimName");
  if (claim.empty()) {
    errors.push_back(Required(claim_path));
  } else {
    Append(errors, InvalidEach(claim_path, claim, IsDns1123Subdomain(claim)));
  }
  return errors;
}

bool MatchesExtendedClaim(std::string_view name, const Value& container, const Value& status) {
  const auto parts = Split(name.substr(std::string_view("claim:").size()), '/');
  if (parts.size() != 2 || parts[0] != status["resourceClaimName"].AsString()) return false;
  return std::ranges::any_of(status["requestMappings"].Items(), [&](const Value& mapping) {
    const Value& amount = container["resources"]["requests"][mapping["resourceName"].AsString()];
    return mapping["containerName"].AsString() == container["name"].AsString() &&
           mapping["requestName"].AsString() == parts[1] && !amount.IsNull() &&
           !Quantity::Parse(amount.AsString()).value_or(Quantity()).IsZero();
  });
}

// Whether the container asks for what an entry of allocatedResourcesStatus names.
bool AsksFor(std::string_view name, const Value& container, const Value& pod_status) {
  if (!name.starts_with("claim:")) return container["resources"]["requests"].Has(name);
  const bool direct =
      std::ranges::any_of(container["resources"]["claims"].Items(), [&](const Value& claim) {
        std::string expected = "claim:" + std::string(claim["name"].AsString());
        if (const std::string_view request = claim["request"].AsString(); !request.empty()) {
          expected += "/" + std::string(request);
        }
        return expected == name;
      });
  return direct || MatchesExtendedClaim(name, container, pod_status["extendedResourceClaimStatus"]);
}

ErrorList ValidateHealth(const Value& resources, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kHealth = {"Healthy", "Unhealthy", "Unknown"};
  ErrorList errors;
  NameSet ids;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const Value& resource = resources.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view health = resource["health"].AsString();
    if (std::ranges::find(kHealth, health) == kHealth.end()) {
      errors.push_back(NotSupported(Child(at, "health"), ShownNamed(health), kHealth));
    }
    if (const Value& message = resource["message"]; !message.IsNull()) {
      if (message.AsString().empty()) {
        errors.push_back(Required(Child(at, "message"), "must be non-empty if specified"));
      } else if (message.AsString().size() > kHealthMessageMax) {
        errors.push_back(TooLong(Child(at, "message"), kHealthMessageMax));
      }
    }
    const std::string_view id = resource["resourceID"].AsString();
    if (!ids.emplace(id).second) {
      errors.push_back(Duplicate(Child(at, "resourceID"), ShownNamed(id)));
    }
  }
  return errors;
}

ErrorList ValidateAllocatedResources(const Value& pod, std::string_view statuses,
                                     std::string_view containers) {
  ErrorList errors;
  const auto all = pod["status"][statuses].Items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string path = Child(Index(Child("status", statuses), i), "allocatedResourcesStatus");
    const auto entries = all[i]["allocatedResourcesStatus"].Items();
    for (std::size_t j = 0; j < entries.size(); ++j) {
      const std::string_view name = entries[j]["name"].AsString();
      const auto list = pod["spec"][containers].Items();
      const auto container = std::ranges::find_if(list, [&](const Value& candidate) {
        return candidate["name"].AsString() == all[i]["name"].AsString();
      });
      if (container != list.end() && !AsksFor(name, *container, pod["status"])) {
        errors.push_back(Invalid(
            Child(Index(path, j), "name"), ShownNamed(name),
            name.starts_with("claim:")
                ? "must match one of the container's resource claims as "
                  "'claim:<claimName>/<requestName>' when container.resources.claims[*].request is "
                  "set or 'claim:<claimName>' when it is empty"
                : "must match one of the container's resource requests"));
      }
      Append(errors, ValidateHealth(entries[j]["resources"], Child(Index(path, j), "resources")));
    }
  }
  return errors;
}

// Whether a container that ended with `code` may run again.
bool MayRestart(const Value& container, const Value& spec, std::int64_t code) {
  for (const Value& rule : container["restartPolicyRules"].Items()) {
    const bool listed =
        std::ranges::any_of(rule["exitCodes"]["values"].Items(),
                            [&](const Value& value) { return value.AsInt() == code; });
    const std::string_view op = rule["exitCodes"]["operator"].AsString();
    if ((op == "In" && listed) || (op == "NotIn" && !listed)) {
      return rule["action"].AsString() == "Restart";
    }
  }
  const Value& own = container["restartPolicy"];
  const std::string_view policy = own.IsNull() ? spec["restartPolicy"].AsString() : own.AsString();
  return policy == "Always" || (policy == "OnFailure" && code != 0);
}

ErrorList ValidateStateTransitions(const Value& pod, const Value& old) {
  ErrorList errors;
  const Value& spec = old["spec"];
  const auto before = old["status"]["containerStatuses"].Items();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Value& terminated = before[i]["state"]["terminated"];
    if (terminated.IsNull()) continue;
    const std::string_view name = before[i]["name"].AsString();
    for (const Value& now : pod["status"]["containerStatuses"].Items()) {
      if (now["name"].AsString() != name || !now["state"]["terminated"].IsNull()) continue;
      const Value* container = FindContainer(spec, name);
      const bool allowed =
          container != nullptr && MayRestart(*container, spec, terminated["exitCode"].AsInt());
      if (!allowed) {
        errors.push_back(Forbidden(Child(Index("status.containerStatuses", i), "state"),
                                   "may not be transitioned to non-terminated state"));
      }
      break;
    }
  }
  return errors;
}

// podIP beside podIPs, hostIP beside hostIPs.
ErrorList ValidateIps(const Value& status, const Value& old) {
  ErrorList errors;
  for (const auto& [single, plural] :
       {std::pair{"podIP", "podIPs"}, std::pair{"hostIP", "hostIPs"}}) {
    const std::string path = Child("status", plural);
    const auto ips = status[plural].Items();
    std::vector<IpFamily> families;
    std::string unread;
    for (std::size_t i = 0; i < ips.size(); ++i) {
      const std::string_view ip = ips[i]["ip"].AsString();
      families.push_back(FamilyOfIp(ip));
      if (families.back() == IpFamily::kNone && unread.empty()) {
        unread = fmt::format("failed to check for dual stack with error:invalid IP[{}]: {}", i, ip);
      }
      const bool known =
          std::ranges::find(old[plural].Items(), ips[i]) != old[plural].Items().end();
      if (!known) Append(errors, ValidateIp(ip, Index(path, i)));
    }
    if (families.size() > 1) {
      const Value shown = InternalForm(status[plural], plural == std::string_view("podIPs")
                                                           ? "k8s.io/api/core/v1.PodIP"
                                                           : "k8s.io/api/core/v1.HostIP");
      Append(errors, ValidateDualStack(families, unread, shown, path, "IP"));
    }
    const std::string_view first = status[single].AsString();
    if (std::string_view(single) == "podIP" && first.empty() != ips.empty()) {
      errors.push_back(Invalid(path, status[plural].IsNull() ? "null" : Shown(status[plural]),
                               "podIP and podIPs must either both be set or both be unset"));
    } else if (!ips.empty() && first != ips[0]["ip"].AsString()) {
      errors.push_back(Invalid(Child(Index(path, 0), "ip"), ShownText(ips[0]["ip"].AsString()),
                               fmt::format("must be equal to `{}`", single)));
    }
  }
  return errors;
}

}  // namespace

ErrorList ValidatePodStatus(const Value& pod, const Value& old_pod) {
  const Value& status = pod["status"];
  const Value& old = old_pod["status"];
  ErrorList errors = ValidateCoreObjectMetaUpdate(pod["metadata"], old_pod["metadata"], "metadata");
  Append(errors, ValidatePodAnnotationsUpdate(pod, old_pod));
  Append(errors, ValidatePodConditions(status["conditions"], "status.conditions"));
  const std::string_view nominated = status["nominatedNodeName"].AsString();
  if (!nominated.empty() && nominated != old["nominatedNodeName"].AsString()) {
    Append(errors, ValidateNodeName(nominated, "status.nominatedNodeName"));
    if (!old_pod["spec"]["nodeName"].AsString().empty()) {
      errors.push_back(Forbidden("status.nominatedNodeName",
                                 "may not be set on pods that are already bound to a node"));
    }
  }
  if (status["observedGeneration"].AsInt() < 0) {
    errors.push_back(Invalid("status.observedGeneration",
                             ShownInt(status["observedGeneration"].AsInt()),
                             "must be a non-negative integer"));
  }
  Append(errors, ValidateImmutable(status["qosClass"], old["qosClass"], "status.qosClass"));
  Append(errors, ValidateStateTransitions(pod, old_pod));
  Append(errors,
         ValidateClaimStatuses(status["resourceClaimStatuses"], pod["spec"]["resourceClaims"],
                               "status.resourceClaimStatuses"));
  Append(errors, ValidateExtendedClaim(status["extendedResourceClaimStatus"], pod["spec"],
                                       "status.extendedResourceClaimStatus"));
  Append(errors, ValidateIps(status, old));
  Append(errors, ValidateAllocatedResources(pod, "containerStatuses", "containers"));
  Append(errors, ValidateAllocatedResources(pod, "initContainerStatuses", "initContainers"));
  return errors;
}

ErrorList ValidatePodBinding(const Value& binding) {
  static constexpr std::array<std::string_view, 2> kKinds = {"Node", "<empty>"};
  const Value& target = binding["target"];
  const std::string_view kind = target["kind"].AsString();
  const std::string_view name = target["name"].AsString();
  ErrorList errors;
  if (!kind.empty() && kind != "Node") {
    errors.push_back(NotSupported("target.kind", ShownText(kind), kKinds));
  }
  if (name.empty()) {
    errors.push_back(Required("target.name"));
  } else if (kind.empty() || kind == "Node") {
    Append(errors, ValidateNodeName(name, "target.name"));
  }
  return errors;
}

}  // namespace drachma::validation
