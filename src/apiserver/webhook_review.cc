#include "apiserver/webhook_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/admission_form.h"
#include "apiserver/status.h"
#include "json/json.h"
#include "net/signing.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kV1 = "admission.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "admission.k8s.io/v1beta1";

// The newest version of AdmissionReview that the hook lists first.
Result<std::string_view> ReviewVersion(const Value& hook) {
  for (const Value& version : hook["admissionReviewVersions"].Items()) {
    if (version.AsString() == "v1") return kV1;
    if (version.AsString() == "v1beta1") return kV1Beta1;
  }
  return BadInput(
      "could not create admission objects: webhook does not accept known AdmissionReview versions "
      "(v1, v1beta1)");
}

std::unexpected<Error> Invalid(std::string_view why) {
  return BadInput(fmt::format("received invalid webhook response: {}", why));
}

Status CheckPatchType(const Value& response, AsyncAdmission::Phase phase, bool strict) {
  const bool has_patch = !response["patch"].AsString().empty();
  const Value* type = response.Find("patchType");
  const bool has_type = type != nullptr && !type->IsNull();
  if (phase == AsyncAdmission::Phase::kValidating) {
    if (!strict) return {};
    if (has_patch) return Invalid("validating webhook may not return response.patch");
    if (has_type) return Invalid("validating webhook may not return response.patchType");
    return {};
  }
  if (!strict) return {};
  if (has_patch && !has_type) {
    return Invalid("webhook returned response.patch but not response.patchType");
  }
  if (!has_patch && has_type) {
    return Invalid("webhook returned response.patchType but not response.patch");
  }
  if (has_type && type->AsString().empty()) {
    return Invalid("webhook returned invalid response.patchType of \"\"");
  }
  if (has_type && type->AsString() != "JSONPatch") {
    return BadInput(fmt::format("unsupported patch type \"{}\"", type->AsString()));
  }
  return {};
}

Result<Value> ReadPatch(std::string_view base64) {
  const auto undecodable = [](std::string_view why) {
    return BadInput(fmt::format("received undecodable patch in webhook response: {}", why));
  };
  const Result<std::string> text = net::Base64Decode(base64);
  if (!text) return undecodable(text.error().message);
  Result<Value> patch = json::Read(*text);
  if (!patch) return undecodable(patch.error().message);
  if (!patch->IsArray()) {
    return undecodable("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  }
  return patch;
}

// "admission.k8s.io/v1, Kind=AdmissionReview".
std::string Spelled(std::string_view api_version, std::string_view kind) {
  return fmt::format("{}, Kind={}", api_version, kind);
}

}  // namespace

Result<Value> MakeAdmissionReview(const WebhookInvocation& invocation,
                                  const AdmissionRequest& request, std::string uid,
                                  const Value& object, const Value& old_object) {
  DRA_ASSIGN(const std::string_view version, ReviewVersion(invocation.hook));
  const ResourceKind& as = invocation.as;
  const WebhookSubject subject = SubjectOf(request);
  Value body = Value::Object({{"uid", uid}, {"kind", ShownKind(as)}, {"resource", ShownResource(as)}});
  if (!request.subresource.empty()) body.Set("subResource", request.subresource);
  const ResourceKind own = FormOf(request);
  body.Set("requestKind", ShownKind(own));
  body.Set("requestResource", ShownResource(own));
  if (!request.subresource.empty()) body.Set("requestSubResource", request.subresource);
  if (!subject.name.empty()) body.Set("name", subject.name);
  if (!subject.ns.empty()) body.Set("namespace", subject.ns);
  body.Set("operation", OperationName(request.operation));
  body.Set("userInfo", ShownUser(request.user));
  body.Set("object", object);
  body.Set("oldObject", old_object);
  body.Set("dryRun", request.dry_run);
  body.Set("options", request.options);
  return Value::Object(
      {{"kind", "AdmissionReview"}, {"apiVersion", version}, {"request", std::move(body)}});
}

Result<WebhookVerdict> ReadAdmissionReview(const Value& review, std::string_view body,
                                           AsyncAdmission::Phase phase) {
  const Result<Value> answer = json::Read(body);
  if (!answer) {
    return BadInput(
        fmt::format("failed to call webhook: couldn't get version/kind; json parse "
                    "error: {}",
                    answer.error().message));
  }
  const Value& response = (*answer)["response"];
  if (!response.IsObject()) return Invalid("webhook response was absent");
  const std::string_view sent = review["apiVersion"].AsString();
  const bool strict = sent == kV1;
  if (strict) {
    const std::string_view uid = review["request"]["uid"].AsString();
    if (response["uid"].AsString() != uid) {
      return Invalid(
          fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, response["uid"].AsString()));
    }
    const std::string_view version = (*answer)["apiVersion"].AsString();
    const std::string_view kind = (*answer)["kind"].AsString();
    if (version != kV1 || kind != "AdmissionReview") {
      return Invalid(fmt::format("expected webhook response of {}, got {}",
                                 Spelled(kV1, "AdmissionReview"), Spelled(version, kind)));
    }
  }
  DRA_TRY(CheckPatchType(response, phase, strict));
  WebhookVerdict verdict{.allowed = response["allowed"].AsBool(), .status = response["status"]};
  for (const Value& warning : response["warnings"].Items()) {
    verdict.warnings.emplace_back(warning.AsString());
  }
  const std::string_view patch = response["patch"].AsString();
  if (verdict.allowed && !patch.empty() && phase == AsyncAdmission::Phase::kMutating) {
    DRA_ASSIGN(verdict.patch, ReadPatch(patch));
  }
  return verdict;
}

Error WebhookDenial(std::string_view hook, const Value& status) {
  constexpr int kBadRequestStatus = 400;
  Error error = ErrorOf(status);
  const std::string reason(status["reason"].AsString());
  const int code =
      std::max(kBadRequestStatus, static_cast<int>(status["code"].AsInt(kBadRequestStatus)));
  error.code = CodeFromReason(reason, code);
  const std::string denied = fmt::format("admission webhook \"{}\" denied the request", hook);
  const std::string& why = error.message.empty() ? reason : error.message;
  error.message =
      why.empty() ? denied + " without explanation" : fmt::format("{}: {}", denied, why);
  return error;
}

Error WebhookCallError(std::string_view hook, std::string_view why) {
  const std::string text = fmt::format("failed calling webhook \"{}\": {}", hook, why);
  return {.code = Code::kInternal,
          .message = "Internal error occurred: " + text,
          .causes = {{.message = text}}};
}

Status CheckDryRun(const Value& hook, const AdmissionRequest& request) {
  const std::string_view effects = hook["sideEffects"].AsString();
  if (!request.dry_run || effects == "None" || effects == "NoneOnDryRun") return {};
  return BadInput(
      fmt::format("admission webhook \"{}\" does not support dry run", hook["name"].AsString()));
}

std::string HttpFailure(int status, std::string_view body) {
  const Result<Value> answer = json::Read(body);
  if (answer && (*answer)["kind"].AsString() == "Status" &&
      !(*answer)["message"].AsString().empty()) {
    return std::string((*answer)["message"].AsString());
  }
  switch (status) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
      return "forbidden";
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 415:
      return "the media type in the accept header is not supported by the server";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request";
    default:
      break;
  }
  constexpr std::size_t kShown = 2048;
  if (status >= 500) {
    return fmt::format("an error on the server (\"{}\") has prevented the request from succeeding",
                       body.empty() ? "unknown" : body.substr(0, kShown));
  }
  return fmt::format(
      "the server responded with the status code {} but did not return more "
      "information",
      status);
}

}  // namespace drachma::apiserver
