#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// A field of an object as definitions name it: ".spec.replicas".
struct FieldPath {
  explicit FieldPath(std::string_view spelled);

  std::string text;
  std::vector<std::string> fields;
};

// Where the scale subresource of a custom resource finds its numbers. Pure; any thread.
struct ScalePaths {
  FieldPath spec_replicas;
  FieldPath status_replicas;
  std::optional<FieldPath> label_selector;
};

// The number or text at a path (apimachinery's unstructured.NestedInt64, NestedString); nothing
// when it is not there. ERRORS: kInternal, in upstream's words, when something else is.
[[nodiscard]] Result<std::optional<std::int64_t>> NestedInt(const json::Value& object,
                                                            const FieldPath& path);
[[nodiscard]] Result<std::optional<std::string>> NestedString(const json::Value& object,
                                                              const FieldPath& path);

// What is wrong with what the paths lead to: replicas are no negative numbers and fit 32 bits, the
// selector is a text (apiextensions' ValidateScaleSpec, ValidateScaleStatus).
[[nodiscard]] validation::ErrorList ScaleSpecErrors(const ScalePaths& paths,
                                                    const json::Value& object);
[[nodiscard]] validation::ErrorList ScaleStatusErrors(const ScalePaths& paths,
                                                      const json::Value& object);

}  // namespace drachma::apiserver
