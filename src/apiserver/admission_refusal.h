#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "base/result.h"

namespace drachma::apiserver {

// Upstream's admission.NewForbidden: `pods "x" is forbidden: why`. Names the object, or what its
// generated name will begin with.
[[nodiscard]] Error AdmissionRefusal(const AdmissionRequest& request, std::string_view why);

// Several errors as one text (apimachinery's Aggregate): "[a, b]", each once.
[[nodiscard]] std::string AggregateText(const std::vector<std::string>& errors);

}  // namespace drachma::apiserver
