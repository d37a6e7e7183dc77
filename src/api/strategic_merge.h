#pragma once

#include "api/types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// Applies a strategic merge patch to an object of `type` with all directives: $patch (replace,
// delete, merge), $retainKeys, $setElementOrder/x, $deleteFromPrimitiveList/x. As apimachinery's
// strategicpatch.StrategicMergeMapPatch.
// ERRORS: kBadRequest with upstream's texts ("map: … does not contain declared merge key: name",
// "delete patch type with no merge key defined").
[[nodiscard]] Result<json::Value> StrategicMergePatch(json::Value original,
                                                      const json::Value& patch,
                                                      const TypeInfo& type);

}  // namespace drachma::api
