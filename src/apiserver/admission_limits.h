#pragma once

#include <string_view>

#include "apiserver/admission.h"

namespace drachma::apiserver {

// Upstream's LimitRanger: new pods get the default requests and limits of the LimitRanges of their
// namespace, and pods (also those that are resized) and volume claims must keep within their
// minima, maxima and ratios. Ranges act in the order of their names, resources too.
class LimitRanger final : public AdmissionPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "LimitRanger"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
  // ERRORS: kForbidden with all limits that are broken.
  Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;
};

}  // namespace drachma::apiserver
