#pragma once

#include <string_view>

#include "apiserver/kind.h"
#include "base/result.h"

namespace drachma::apiserver {

// Switches API versions and resources off (and on again) as upstream's --runtime-config says:
// "resource.k8s.io/v1beta1=false,api/alpha=false,v1/secrets=false". A setting of one resource goes
// before one of its version, that before api/ga, api/beta and api/alpha, and these before api/all.
// Everything is on to begin with.
// ERRORS: kBadRequest for a group, version or resource that there is not, or a value that is not a
// bool.
[[nodiscard]] Status ApplyRuntimeConfig(std::string_view settings, KindTable& kinds);

}  // namespace drachma::apiserver
