#pragma once

#include "apiserver/merge.h"
#include "json/value.h"

namespace drachma::apiserver {

// How server-side apply merges a custom resource of this schema. `schema` must outlive the shape
// and not change.
[[nodiscard]] Shape ShapeOfCustomResource(const json::Value& schema);

}  // namespace drachma::apiserver
