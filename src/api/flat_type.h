#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/types.h"

namespace drachma::api {

// A struct as its JSON object looks: fields of inlined structs stand beside its own.
struct FlatField {
  const FieldInfo* field = nullptr;
  // Go names of the inlined structs on the way ("VolumeSource"), outermost first.
  std::vector<std::string_view> through;
};

struct FlatType {
  const TypeInfo* type = nullptr;
  std::vector<FlatField> fields;  // in the order Go writes them

  // The number of the field `name`, or -1. `hint` is where it probably is.
  [[nodiscard]] int Find(std::string_view name, std::size_t hint) const;
};

// Safe from every thread.
// REQUIRES: `type` is one of AllTypes().
[[nodiscard]] const FlatType& Flat(const TypeInfo& type);

// The type of an element of `go_type` ("[]v1.Container", "map[string]string"); of named types as
// the table knows it.
[[nodiscard]] std::string_view ElementType(const FieldInfo& field, std::string_view go_type);

}  // namespace drachma::api
