#pragma once

#include "api/types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// Applies a strategic merge patch to an object of `type` with all directives: $patch (replace,
// delete, merge), $retainKeys, $setElementOrder/x, $deleteFromPrimitiveList/x. As apimachinery's
// strategicpatch.StrategicMergeMapPatch.
// ERRORS: with upstream's texts: kBadRequest for directives of a wrong form, kInvalid for lists of
// lists, and kUnknown (its 500 without a reason) for the rest, as for "map: … does not contain
// declared merge key: name".
[[nodiscard]] Result<json::Value> StrategicMergePatch(json::Value original,
                                                      const json::Value& patch,
                                                      const TypeInfo& type);

}  // namespace drachma::api
