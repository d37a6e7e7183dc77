#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "base/result.h"

namespace drachma::apiserver {

// Upstream's admission.NewForbidden: `pods "x" is forbidden: why`. Names the object, or what its
// generated name will begin with.
[[nodiscard]] Error AdmissionRefusal(const AdmissionRequest& request, std::string_view why);

}  // namespace drachma::apiserver
