#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/webhook_match.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The exchange with one webhook, without the network: admission.k8s.io's AdmissionReview. Pure; any
// thread.

// What is sent. `object` and `old_object` are in the form that the invocation asks for (null where
// there is none). v1 when the webhook knows it, else v1beta1.
// ERRORS: kBadRequest when the webhook knows neither.
[[nodiscard]] Result<json::Value> MakeAdmissionReview(const WebhookInvocation& invocation,
                                                      const AdmissionRequest& request,
                                                      std::string uid, const json::Value& object,
                                                      const json::Value& old_object);

struct WebhookVerdict {
  bool allowed = false;
  json::Value status;  // of a refusal; may be null
  json::Value patch;   // an array of operations; null without a patch
  std::vector<std::string> warnings;
};

// Reads the answer to `review`. ERRORS: kBadRequest with the words that stand after `failed calling
// webhook "x": ` (the answer is none, or not to this review).
[[nodiscard]] Result<WebhookVerdict> ReadAdmissionReview(const json::Value& review,
                                                         std::string_view body,
                                                         AsyncAdmission::Phase phase);

// `admission webhook "x" denied the request: …` with the code and the causes of the webhook's
// status.
[[nodiscard]] Error WebhookDenial(std::string_view hook, const json::Value& status);
// 500 `Internal error occurred: failed calling webhook "x": why`.
[[nodiscard]] Error WebhookCallError(std::string_view hook, std::string_view why);
// Whether a dry run may call the hook. ERRORS: kBadRequest `… does not support dry run`.
[[nodiscard]] Status CheckDryRun(const json::Value& hook, const AdmissionRequest& request);
// What an answer that is not 2xx means (client-go's words): "the server could not find the
// requested resource".
[[nodiscard]] std::string HttpFailure(int status, std::string_view body);

}  // namespace drachma::apiserver
