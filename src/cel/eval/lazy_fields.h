#pragma once

#include <string_view>

#include "cel/eval/value.h"

namespace drachma::cel {

// An object whose fields are worked out when they are first read (apiserver's lazy.MapValue): what
// a host gives as the value of a variable of a struct type. `object.name`, `object.?name` and
// has(object.name) are all that expressions can do with it.
class LazyFields : public OpaqueClass {
 public:
  // The field `name`, or false when there is none. Its value may be an error.
  [[nodiscard]] virtual bool FindField(const OpaqueData& self, std::string_view name,
                                       Value* value) const = 0;
};

}  // namespace drachma::cel
