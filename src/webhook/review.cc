#include "webhook/review.h"

#include <utility>

#include "json/json.h"

namespace drachma::webhook {
namespace {

using json::Value;

constexpr std::string_view kVersions[] = {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"};

}  // namespace

Result<Review> ReadReview(std::string_view body) {
  DRA_ASSIGN(const Value json, json::Read(body));
  const std::string_view version = json["apiVersion"].AsString();
  const bool known = version == kVersions[0] || version == kVersions[1];
  if (!known || json["kind"].AsString() != "AdmissionReview") {
    return BadInput("the body is no AdmissionReview of admission.k8s.io/v1 or v1beta1");
  }
  const Value& request = json["request"];
  if (!request.IsObject()) return BadInput("the AdmissionReview has no request");
  return Review{.api_version = std::string(version),
                .uid = std::string(request["uid"].AsString()),
                .operation = std::string(request["operation"].AsString()),
                .kind = std::string(request["kind"]["kind"].AsString()),
                .resource = std::string(request["resource"]["resource"].AsString()),
                .subresource = std::string(request["subResource"].AsString()),
                .object = request["object"],
                .old_object = request["oldObject"],
                .dry_run = request["dryRun"].AsBool()};
}

Value MakeAnswer(const Review& review, const Status& verdict) {
  Value response = Value::Object({{"uid", review.uid}, {"allowed", verdict.has_value()}});
  if (!verdict) {
    const Error& error = verdict.error();
    response.Set("status",
                 Value::Object({{"status", "Failure"},
                                {"message", error.message},
                                {"reason", ReasonName(error.code)},
                                {"code", static_cast<std::int64_t>(HttpStatus(error.code))}}));
  }
  return Value::Object({{"apiVersion", review.api_version},
                        {"kind", "AdmissionReview"},
                        {"response", std::move(response)}});
}

}  // namespace drachma::webhook
