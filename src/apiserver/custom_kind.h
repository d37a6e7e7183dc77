#pragma once

#include <memory>
#include <string_view>

#include "apiserver/kind.h"
#include "apiserver/scale_paths.h"
#include "json/value.h"

namespace drachma::apiserver {

// The kind that a CustomResourceDefinition (apiextensions.k8s.io/v1) declares.
class CustomKind : public Kind {
 public:
  using Kind::Kind;
  // What the version's scale subresource is made of; null without one.
  [[nodiscard]] virtual const ScalePaths* Scale(std::string_view version) const = 0;
  // The openAPIV3Schema of a version; null for versions that are not served.
  [[nodiscard]] virtual const json::Value& SchemaOf(std::string_view version) const = 0;
};

// Where conversion by webhook is asked for, only the version that is stored is served.
// ERRORS: kInvalid when the definition cannot be served: no served version, a schema or path that
// does not parse.
[[nodiscard]] Result<std::shared_ptr<const CustomKind>> MakeCustomKind(
    const json::Value& definition);

}  // namespace drachma::apiserver
