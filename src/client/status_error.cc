#include "client/status_error.h"

#include <fmt/format.h>

#include <string>

#include "json/json.h"

namespace drachma::client {

Error ErrorFromStatus(const json::Value& status, int http_status) {
  const json::Value& details = status["details"];
  Error error;
  error.code = CodeFromReason(std::string(status["reason"].AsString()),
                              static_cast<int>(status["code"].AsInt(http_status)));
  error.message = status["message"].AsString();
  error.group = details["group"].AsString();
  error.kind = details["kind"].AsString();
  error.name = details["name"].AsString();
  error.uid = details["uid"].AsString();
  error.retry_after_seconds = static_cast<int>(details["retryAfterSeconds"].AsInt());
  for (const json::Value& cause : details["causes"].Items()) {
    error.causes.push_back({.reason = std::string(cause["reason"].AsString()),
                            .field = std::string(cause["field"].AsString()),
                            .message = std::string(cause["message"].AsString())});
  }
  return error;
}

Error ErrorFromBody(std::string_view body, int http_status) {
  if (const auto status = json::Read(body); status && (*status)["kind"].AsString() == "Status") {
    return ErrorFromStatus(*status, http_status);
  }
  constexpr std::size_t kShownMax = 200;
  return {
      .code = CodeFromReason({}, http_status),
      .message = fmt::format("the server answered {}: {}", http_status, body.substr(0, kShownMax))};
}

}  // namespace drachma::client
