#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/shown_internal.h"
#include "validation/text_diff.h"

// What may change in a pod that exists.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kAppArmor = "container.apparmor.security.beta.kubernetes.io/";

ErrorList ValidateProjectedTokens(const Value& spec) {
  if (!spec["serviceAccountName"].AsString().empty()) return {};
  ErrorList errors;
  const auto volumes = spec["volumes"].Items();
  for (std::size_t v = 0; v < volumes.size(); ++v) {
    const auto sources = volumes[v]["projected"]["sources"].Items();
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (sources[s]["serviceAccountToken"].IsNull()) continue;
      errors.push_back(
          Forbidden(fmt::format("spec.volumes[{}].projected.sources[{}].serviceAccountToken", v, s),
                    "must not be specified when serviceAccountName is not set"));
    }
  }
  return errors;
}

// Whether lists of containers have the same length and good images; false ends the validation.
bool ValidateContainerUpdates(const Value& now, const Value& old, const std::string& path,
                              ErrorList& errors) {
  if (now.size() != old.size()) {
    errors.push_back(Forbidden(path, "pod updates may not add or remove containers"));
    return false;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now.Items()[i]["image"].AsString().empty()) {
      errors.push_back(Required(Child(Index(path, i), "image")));
    }
  }
  Append(errors, ValidateImagesOfPod(now, path));
  return true;
}

// The deadline may appear or become shorter; false ends the validation.
bool ValidateDeadline(const Value& now, const Value& old, ErrorList& errors) {
  const std::string path = "spec.activeDeadlineSeconds";
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (now.IsNull()) {
    if (!old.IsNull()) {
      errors.push_back(
          Invalid(path, "null", "must not update from a positive integer to nil value"));
    }
    return true;
  }
  if (now.AsInt() < 0 || now.AsInt() > kMax) {
    errors.push_back(Invalid(path, ShownInt(now.AsInt()),
                             fmt::format("must be between 0 and {}, inclusive", kMax)));
    return false;
  }
  if (!old.IsNull() && old.AsInt() < now.AsInt()) {
    errors.push_back(
        Invalid(path, ShownInt(now.AsInt()), "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

ErrorList ValidateAddedTolerations(const Value& now, const Value& old) {
  const std::string path = "spec.tolerations";
  for (const Value& before : old.Items()) {
    const bool kept = std::ranges::any_of(now.Items(), [&](const Value& toleration) {
      Value a = before;
      Value b = toleration;
      a.Erase("tolerationSeconds");
      b.Erase("tolerationSeconds");
      return a == b;
    });
    if (!kept) {
      return {
          Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")};
    }
  }
  return ValidateTolerations(now, path);
}

ErrorList ValidateRemovedGates(const Value& now, const Value& old) {
  ErrorList errors;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string_view name = now.Items()[i]["name"].AsString();
    const bool known = std::ranges::any_of(
        old.Items(), [&](const Value& gate) { return gate["name"].AsString() == name; });
    if (known) continue;
    errors.push_back(Forbidden(
        Child(Index("spec.schedulingGates", i), "name"),
        fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name)));
  }
  return errors;
}

// Takes from `old` what an update may change, so that the rest can be compared.
void Unmutate(Value& spec, const Value& old, std::string_view field) {
  if (old[field].IsNull()) {
    spec.Erase(field);
  } else {
    spec.Set(field, old[field]);
  }
}

void UnmutateImages(Value& spec, const Value& old, std::string_view list) {
  if (spec[list].empty()) return;
  Value& containers = spec.Edit(list);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    containers.EditItem(i).Set("image", old[list].Items()[i]["image"]);
  }
}

bool HasOnlyAdditions(const Value& now, const Value& old) {
  return std::ranges::all_of(
      std::array<std::string_view, 2>{"matchExpressions", "matchFields"}, [&](auto field) {
        const auto before = old[field].Items();
        const auto after = now[field].Items();
        return after.size() >= before.size() &&
               std::ranges::equal(before, after.first(before.size()), SemanticEqual);
      });
}

// Pods that wait behind gates may narrow where they can go.
ErrorList NarrowGatedPod(Value& spec, const Value& old) {
  ErrorList errors;
  const Value& selector = spec["nodeSelector"];
  if (!SemanticEqual(selector, old["nodeSelector"])) {
    const bool kept = std::ranges::all_of(old["nodeSelector"].Members(), [&](const auto& member) {
      const Value* found = selector.Find(member.key());
      return found != nullptr && *found == member.value;
    });
    if (!kept) {
      errors.push_back(
          Invalid("spec.nodeSelector", Shown(selector),
                  "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    }
    Unmutate(spec, old, "nodeSelector");
  }
  static constexpr std::string_view kRequiredTerms =
      "requiredDuringSchedulingIgnoredDuringExecution";
  const Value now_affinity = spec["affinity"]["nodeAffinity"];
  const Value& old_affinity = old["affinity"]["nodeAffinity"];
  if (SemanticEqual(now_affinity, old_affinity)) return errors;
  const std::string path =
      Child(Child("spec.affinity.nodeAffinity", kRequiredTerms), "nodeSelectorTerms");
  const auto old_terms = old_affinity[kRequiredTerms]["nodeSelectorTerms"].Items();
  const Value& now_terms = now_affinity[kRequiredTerms]["nodeSelectorTerms"];
  if (!old_terms.empty() && old_terms.size() != now_terms.size()) {
    errors.push_back(Invalid(path, ShownInternal(now_terms, kSelectorTerm),
                             "no additions/deletions to non-empty NodeSelectorTerms list are "
                             "allowed"));
  } else {
    for (std::size_t i = 0; i < old_terms.size(); ++i) {
      if (HasOnlyAdditions(now_terms.Items()[i], old_terms[i])) continue;
      errors.push_back(Invalid(Index(path, i), ShownInternal(now_terms.Items()[i], kSelectorTerm),
                               "only additions are allowed (no mutations or deletions)"));
    }
  }
  Value& affinity = spec.Edit("affinity");
  Unmutate(affinity, old["affinity"], "nodeAffinity");
  if (affinity.empty() && old["affinity"].empty()) Unmutate(spec, old, "affinity");
  return errors;
}

}  // namespace

ErrorList ValidatePodMetadataAndSpec(const Value& pod) {
  const Value& meta = pod["metadata"];
  const Value& spec = pod["spec"];
  ErrorList errors =
      ValidateCoreObjectMeta(meta, Scope::kNamespaced, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidatePodAnnotations(meta["annotations"], spec, "metadata.annotations"));
  Append(errors, ValidatePodSpec(spec, &meta, PodPlace::kPod, "spec"));
  Append(errors, ValidateProjectedTokens(spec));
  if (const Value& grace = spec["terminationGracePeriodSeconds"]; !grace.IsNull()) {
    Append(errors, ValidateNonNegative(grace.AsInt(), "spec.terminationGracePeriodSeconds"));
  }
  Append(errors, ValidateImagesOfPod(spec["containers"], "spec.containers"));
  Append(errors, ValidateImagesOfPod(spec["initContainers"], "spec.initContainers"));
  return errors;
}

ErrorList ValidatePodAnnotationsUpdate(const Value& pod, const Value& old_pod) {
  const Value& now = pod["metadata"]["annotations"];
  const Value& old = old_pod["metadata"]["annotations"];
  const std::string path = "metadata.annotations";
  ErrorList errors;
  for (const json::Member& annotation : old.Members()) {
    const Value* kept = now.Find(annotation.key());
    if (kept != nullptr && *kept == annotation.value) continue;
    if (annotation.key().starts_with(kAppArmor)) {
      errors.push_back(
          Forbidden(Key(path, annotation.key()), "may not remove or update AppArmor annotations"));
    }
    if (annotation.key() == kMirrorPod) {
      errors.push_back(
          Forbidden(Key(path, kMirrorPod), "may not remove or update mirror pod annotation"));
    }
  }
  for (const json::Member& annotation : now.Members()) {
    if (old.Has(annotation.key())) continue;
    if (annotation.key().starts_with(kAppArmor)) {
      errors.push_back(Forbidden(Key(path, annotation.key()), "may not add AppArmor annotations"));
    }
    if (annotation.key() == kMirrorPod) {
      errors.push_back(Forbidden(Key(path, kMirrorPod), "may not add mirror pod annotation"));
    }
  }
  Append(errors, ValidatePodAnnotations(now, pod["spec"], path));
  return errors;
}

ErrorList ValidatePodUpdate(const Value& pod, const Value& old_pod) {
  const Value& spec = pod["spec"];
  const Value& old = old_pod["spec"];
  ErrorList errors = ValidateCoreObjectMetaUpdate(pod["metadata"], old_pod["metadata"], "metadata");
  Append(errors, ValidatePodMetadataAndSpec(pod));
  Append(errors, ValidatePodAnnotationsUpdate(pod, old_pod));
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (!ValidateContainerUpdates(spec[list], old[list], Child("spec", list), errors))
      return errors;
  }
  if (!ValidateDeadline(spec["activeDeadlineSeconds"], old["activeDeadlineSeconds"], errors)) {
    return errors;
  }
  Append(errors, ValidateAddedTolerations(spec["tolerations"], old["tolerations"]));
  Append(errors, ValidateRemovedGates(spec["schedulingGates"], old["schedulingGates"]));
  if (SemanticEqual(spec, old)) return errors;

  Value rest = spec;
  UnmutateImages(rest, old, "containers");
  UnmutateImages(rest, old, "initContainers");
  for (const std::string_view field : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) {
    Unmutate(rest, old, field);
  }
  const Value& grace = old["terminationGracePeriodSeconds"];
  if (!grace.IsNull() && grace.AsInt() < 0 && rest["terminationGracePeriodSeconds"].AsInt() == 1) {
    Unmutate(rest, old, "terminationGracePeriodSeconds");
  }
  if (!old["schedulingGates"].empty()) Append(errors, NarrowGatedPod(rest, old));
  if (!SemanticEqual(rest, old)) {
    errors.push_back(Forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)\n" +
            InternalDiff(old, rest, "k8s.io/api/core/v1.PodSpec")));
  }
  return errors;
}

ErrorList ValidateEphemeralContainersUpdate(const Value& pod, const Value& old) {
  if (old["metadata"]["annotations"].Has(kMirrorPod)) {
    return {Forbidden("[]", "static pods do not support ephemeral containers")};
  }
  ErrorList errors = ValidateCoreObjectMetaUpdate(pod["metadata"], old["metadata"], "metadata");
  Append(errors, ValidatePodMetadataAndSpec(pod));
  Append(errors, ValidatePodAnnotationsUpdate(pod, old));
  const auto now = pod["spec"]["ephemeralContainers"].Items();
  for (const Value& before : old["spec"]["ephemeralContainers"].Items()) {
    const std::string_view name = before["name"].AsString();
    const auto found = std::ranges::find_if(
        now, [&](const Value& container) { return container["name"].AsString() == name; });
    if (found == now.end()) {
      errors.push_back(Forbidden(
          "spec.ephemeralContainers",
          fmt::format("existing ephemeral containers {} may not be removed\n", ShownText(name))));
    } else if (!SemanticEqual(*found, before)) {
      errors.push_back(Forbidden(
          "spec.ephemeralContainers",
          fmt::format("existing ephemeral containers {} may not be changed\n", ShownText(name))));
    }
  }
  return errors;
}

ErrorList ValidatePodResize(const Value& pod, const Value& old_pod) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(pod["metadata"], old_pod["metadata"], "metadata");
  Append(errors, ValidatePodMetadataAndSpec(pod));
  const Value& old = old_pod["spec"];
  if (old_pod["metadata"]["annotations"].Has(kMirrorPod)) {
    errors.push_back(Forbidden("", "static pods cannot be resized"));
    return errors;
  }
  Value rest = pod["spec"];
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value& before = old[list];
    if (rest[list].size() != before.size()) {
      errors.push_back(Forbidden(Child("spec", list), "containers may not be added or removed"));
      return errors;
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      Value& container = rest.Edit(list).EditItem(i);
      if (before.Items()[i]["resources"].IsNull()) {
        container.Erase("resources");
      } else {
        container.Set("resources", before.Items()[i]["resources"]);
      }
    }
  }
  if (!SemanticEqual(rest, old)) {
    errors.push_back(Forbidden("spec", "only cpu and memory resources are mutable"));
  }
  return errors;
}

}  // namespace drachma::validation
