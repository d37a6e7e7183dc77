#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::webhook {

// The exchange of an admission webhook: admission.k8s.io's AdmissionReview. Pure; any thread.

struct Review {
  std::string api_version;  // "admission.k8s.io/v1", also that of the answer
  std::string uid;
  std::string operation;  // "CREATE", "UPDATE", "DELETE", "CONNECT"
  std::string kind;
  std::string resource;     // "resourceclaims"
  std::string subresource;  // "status"
  json::Value object;       // null where there is none
  json::Value old_object;
  bool dry_run = false;
};

// ERRORS: kBadRequest: no AdmissionReview of v1 or v1beta1, or without a request.
[[nodiscard]] Result<Review> ReadReview(std::string_view body);

// The AdmissionReview that answers: allowed, or denied with the error's message and reason.
[[nodiscard]] json::Value MakeAnswer(const Review& review, const Status& verdict);

}  // namespace drachma::webhook
