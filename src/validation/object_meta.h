#pragma once

#include <string_view>

#include "json/value.h"
#include "validation/field_error.h"
#include "validation/names.h"
#include "validation/strategy.h"

namespace drachma::validation {

// The rules of metadata (apimachinery's api/validation/objectmeta.go), for every kind.

// A new object's metadata. `path` is "metadata".
[[nodiscard]] ErrorList ValidateObjectMeta(const json::Value& meta, Scope scope, NameRule name_rule,
                                           std::string_view path);
// The same with the name checked by the caller (ValidateObjectMetaWithOpts: `name_errors` are what
// it found; generateName is not looked at).
[[nodiscard]] ErrorList ValidateObjectMetaWithName(const json::Value& meta, Scope scope,
                                                   ErrorList name_errors, std::string_view path);
// Adds the rule of the kinds of this repository's own API groups: finalizers of kubernetes.io and
// unqualified ones must be standard (core/validation.ValidateObjectMeta).
[[nodiscard]] ErrorList ValidateCoreObjectMeta(const json::Value& meta, Scope scope,
                                               NameRule name_rule, std::string_view path);
// What an update may do to metadata; without and with that rule of finalizers.
[[nodiscard]] ErrorList ValidateObjectMetaUpdate(const json::Value& meta, const json::Value& old,
                                                 std::string_view path);
[[nodiscard]] ErrorList ValidateCoreObjectMetaUpdate(const json::Value& meta,
                                                     const json::Value& old, std::string_view path);
// The metadata of a template: labels and annotations only (claims) or all of it (pods).
[[nodiscard]] ErrorList ValidateTemplateObjectMeta(const json::Value& meta, std::string_view path);

[[nodiscard]] ErrorList ValidateKubeFinalizers(const json::Value& meta, std::string_view path);
[[nodiscard]] ErrorList ValidateLabels(const json::Value& labels, std::string_view path);
[[nodiscard]] ErrorList ValidateAnnotations(const json::Value& annotations, std::string_view path);
[[nodiscard]] ErrorList ValidateLabelName(std::string_view name, std::string_view path);
[[nodiscard]] ErrorList ValidateLabelSelector(const json::Value& selector, std::string_view path);
[[nodiscard]] ErrorList ValidateManagedFields(const json::Value& entries, std::string_view path);
// metav1.Condition lists.
[[nodiscard]] ErrorList ValidateConditions(const json::Value& conditions, std::string_view path);
[[nodiscard]] ErrorList ValidateNonNegative(std::int64_t number, std::string path);

// Invalid `field is immutable` with the new value when both differ.
[[nodiscard]] ErrorList ValidateImmutable(const json::Value& now, const json::Value& old,
                                          std::string path);
// Upstream's Semantic.DeepEqual: empty and missing lists, maps and pointers to nothing are equal.
[[nodiscard]] bool SemanticEqual(const json::Value& a, const json::Value& b);

}  // namespace drachma::validation
