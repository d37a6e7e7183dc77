#include "apiserver/http_exchange.h"

#include "apiserver/http_attributes.h"
#include "apiserver/http_front.h"
#include "apiserver/negotiate.h"
#include "apiserver/status.h"
#include "apiserver/warnings.h"
#include "json/json.h"

namespace drachma::apiserver {

using net::HttpRequest;
using net::HttpResponder;
using net::HttpResponse;

HttpResponse JsonResponse(int status, std::string body) {
  return {.status = status,
          .headers = {{"Cache-Control", "no-cache, private"}, {"Content-Type", "application/json"}},
          .body = {net::Share(std::move(body))}};
}

HttpResponse TextResponse(int status, std::string body) {
  return {.status = status,
          .headers = {{"Cache-Control", "no-cache, private"},
                      {"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Content-Type-Options", "nosniff"}},
          .body = {net::Share(std::move(body))}};
}

HttpResponse ErrorResponse(const Error& error) {
  HttpResponse response =
      JsonResponse(HttpStatus(error.code), json::WritePretty(StatusOf(error), 2) + "\n");
  const int retry_after = error.code == Code::kTooManyRequests && error.retry_after_seconds == 0
                              ? kRetryAfterSeconds
                              : error.retry_after_seconds;
  if (retry_after > 0) response.headers.Add("Retry-After", std::to_string(retry_after));
  return response;
}

HttpResponse TooManyRequestsResponse() {
  HttpResponse response = TextResponse(429, "Too many requests, please try again later.\n");
  response.headers.Add("Retry-After", std::to_string(kRetryAfterSeconds));
  return response;
}

bool IsMutating(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE";
}

bool IsWatch(const HttpRequest& request) {
  if (request.query().find("watch") == std::string_view::npos) return false;
  return QueryFlag(net::ParseQuery(request.query()), "watch");
}

void Exchange::Answer(HttpResponse response, const std::vector<std::string>& more_warnings) {
  if (responder_ == nullptr) return;
  std::vector<std::string> texts = *warnings;
  texts.insert(texts.end(), more_warnings.begin(), more_warnings.end());
  for (std::string& header : WarningHeaders(texts)) {
    response.headers.Add("Warning", std::move(header));
  }
  Record("ResponseComplete", response);
  if (net::SizeOf(response.body) > HttpFront::kGzipBytesMin && net::AcceptsGzip(request_.headers)) {
    response.body = {net::Share(net::Gzip(response.body))};
    response.headers.Set("Content-Encoding", "gzip");
    response.headers.Add("Vary", "Accept-Encoding");
  }
  const double seconds = std::chrono::duration<double>(RealClock().Monotonic() - started_).count();
  if (labels.verb.empty()) labels.verb = request_.method;
  metrics_->Count(labels, response.status, seconds);
  std::exchange(responder_, nullptr)->Respond(std::move(response));
}

void Exchange::Terminate(HttpResponse response) {
  if (responder_ == nullptr) return;
  metrics_->CountTermination(labels, response.status);
  Answer(std::move(response));
}

void Exchange::Record(std::string_view stage, HttpResponse& response) const {
  if (audit_log == nullptr || audit.decision.level == AuditLevel::kNone) return;
  response.headers.Add("Audit-Id", audit.id);
  const bool complete = stage == "ResponseComplete";
  if (complete ? audit.decision.omit_response_complete : audit.decision.omit_response_started) {
    return;
  }
  audit_log->Write(AuditLine(audit, stage, RealClock().Now(), response));
}

std::atomic<int>* Exchange::InFlight() {
  if (room_ == Room::kNo) return nullptr;
  if (IsMutating(request_.method)) return &metrics_->writes_in_flight;
  return IsWatch(request_) ? nullptr : &metrics_->reads_in_flight;
}

}  // namespace drachma::apiserver
