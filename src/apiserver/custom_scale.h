#pragma once

#include "apiserver/core.h"

namespace drachma::apiserver {

// Answers GET, PUT and PATCH of the scale subresource of a custom kind, whose numbers stand where
// its definition says (apiextensions' ScaleREST). Registered for each custom resource that is
// served.
void HandleCustomScale(Core& core, ApiRequest request, const KindPtr& kind, Done done);

}  // namespace drachma::apiserver
