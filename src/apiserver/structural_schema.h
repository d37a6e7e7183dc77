#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// The openAPIV3Schema of a custom resource's version: prunes unknown fields, sets defaults and
// validates, as apiextensions-apiserver does with a structural schema. Texts of errors are
// kube-openapi's. Immutable; any thread.
class StructuralSchema {
 public:
  // Schemas and objects nest at most this deep; deeper parts of an object are an error.
  static constexpr int kDepthMax = 128;

  // `schema` null accepts everything and keeps it.
  // ERRORS: kInvalid for a pattern that is no regular expression, or a schema nested too deep.
  [[nodiscard]] static Result<std::shared_ptr<const StructuralSchema>> Parse(json::Value schema);
  ~StructuralSchema();

  // Removes fields that the schema does not know, except under
  // x-kubernetes-preserve-unknown-fields; apiVersion, kind and metadata of the object (and of
  // embedded resources) stay. The paths of what went are appended to `unknown`, in order of the
  // document, when it is given.
  void Prune(json::Value& object, std::vector<std::string>* unknown) const;
  // Removes the nulls of fields that may not be null and have no default, as decoding into a typed
  // object does; items of lists stay. REQUIRES: called before SetDefaults.
  void PruneNulls(json::Value& object) const;
  // Sets defaults of missing fields, also inside objects that are there, and of null fields and
  // items that may not be null.
  void SetDefaults(json::Value& object) const;
  // `old`, null for a create, is what the object replaces: what has not changed is not at fault.
  [[nodiscard]] validation::ErrorList Validate(const json::Value& object,
                                               const json::Value& old = {}) const;
  // The same of the status alone; texts begin at it as upstream's do, paths at the object.
  [[nodiscard]] validation::ErrorList ValidateStatus(const json::Value& object,
                                                     const json::Value& old) const;

  [[nodiscard]] const json::Value& json() const { return schema_; }

 private:
  struct Patterns;
  explicit StructuralSchema(json::Value schema);

  json::Value schema_;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace drachma::apiserver
