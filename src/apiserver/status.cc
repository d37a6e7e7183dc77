#include "apiserver/status.h"

#include <fmt/format.h>

#include <utility>

namespace drachma::apiserver {
namespace {

json::Value CausesOf(const std::vector<Cause>& causes) {
  json::Value list = json::Value::Array();
  for (const Cause& cause : causes) {
    json::Value entry = json::Value::Object();
    if (!cause.reason.empty()) entry.Set("reason", cause.reason);
    if (!cause.message.empty()) entry.Set("message", cause.message);
    if (!cause.field.empty()) entry.Set("field", cause.field);
    list.Append(std::move(entry));
  }
  return list;
}

// Some answers carry details although nothing stands in them: upstream always makes them there.
bool AlwaysHasDetails(const Error& error) {
  // Of these two only the router's answers, which begin with their number.
  if (error.code == Code::kNotAcceptable) return error.message.starts_with("406: ");
  if (error.code == Code::kUnsupportedMediaType) return error.message.starts_with("415: ");
  return error.code == Code::kNotFound || error.code == Code::kMethodNotAllowed ||
         error.code == Code::kForbidden || error.code == Code::kConflict;
}

json::Value DetailsOf(const Error& error) {
  json::Value details = json::Value::Object();
  const auto set = [&](const char* name, const std::string& text) {
    if (!text.empty()) details.Set(name, text);
  };
  set("name", error.name);
  set("group", error.group);
  set("kind", error.kind);
  set("uid", error.uid);
  if (!error.causes.empty()) details.Set("causes", CausesOf(error.causes));
  if (error.retry_after_seconds > 0) details.Set("retryAfterSeconds", error.retry_after_seconds);
  return details;
}

}  // namespace

namespace {

// The failure of a mutating policy keeps the code of a refusal and takes the reason Invalid
// (upstream's PolicyDispatcher); those that cannot be configured have no reason of their own.
bool IsFailedMutation(const Error& error) {
  constexpr std::string_view kDenied = "' denied request: ";
  if (error.code != Code::kForbidden || !error.message.starts_with("policy '")) return false;
  const std::size_t denied = error.message.find(kDenied);
  return denied != std::string::npos &&
         !error.message.substr(denied + kDenied.size()).starts_with("failed to configure ");
}

}  // namespace

json::Value StatusOf(const Error& error) {
  json::Value status = json::Value::Object({
      {"kind", "Status"},
      {"apiVersion", "v1"},
      {"metadata", json::Value::Object()},
      {"status", "Failure"},
      {"message", error.message},
  });
  const Code code = IsFailedMutation(error) ? Code::kInvalid : error.code;
  if (const char* reason = ReasonName(code); *reason != '\0') status.Set("reason", reason);
  json::Value details = DetailsOf(error);
  if (!details.empty() || AlwaysHasDetails(error)) status.Set("details", std::move(details));
  status.Set("code", HttpStatus(error.code));
  return status;
}

Error InternalError(std::string_view why) {
  return {.code = Code::kInternal,
          .message = fmt::format("Internal error occurred: {}", why),
          .causes = {{.message = std::string(why)}}};
}

Error ErrorOf(const json::Value& status) {
  const json::Value& details = status["details"];
  Error error{.code = CodeFromReason(std::string(status["reason"].AsString()),
                                     static_cast<int>(status["code"].AsInt(500))),
              .message = std::string(status["message"].AsString()),
              .group = std::string(details["group"].AsString()),
              .kind = std::string(details["kind"].AsString()),
              .name = std::string(details["name"].AsString()),
              .uid = std::string(details["uid"].AsString()),
              .retry_after_seconds = static_cast<int>(details["retryAfterSeconds"].AsInt())};
  for (const json::Value& cause : details["causes"].Items()) {
    error.causes.push_back({.reason = std::string(cause["reason"].AsString()),
                            .field = std::string(cause["field"].AsString()),
                            .message = std::string(cause["message"].AsString())});
  }
  return error;
}

json::Value SuccessStatus(json::Value details, int code) {
  json::Value status = json::Value::Object({
      {"kind", "Status"},
      {"apiVersion", "v1"},
      {"metadata", json::Value::Object()},
      {"status", "Success"},
  });
  if (details.IsObject()) status.Set("details", std::move(details));
  if (code != 0) status.Set("code", code);
  return status;
}

std::string QualifiedName(std::string_view group, std::string_view plural) {
  return group.empty() ? std::string(plural) : fmt::format("{}.{}", plural, group);
}

namespace {

Error ResourceError(Code code, std::string_view group, std::string_view plural,
                    std::string_view name, std::string message) {
  return {.code = code,
          .message = std::move(message),
          .group = std::string(group),
          .kind = std::string(plural),
          .name = std::string(name)};
}

}  // namespace

Error NotFoundError(std::string_view group, std::string_view plural, std::string_view name) {
  return ResourceError(Code::kNotFound, group, plural, name,
                       fmt::format("{} \"{}\" not found", QualifiedName(group, plural), name));
}

Error AlreadyExistsError(std::string_view group, std::string_view plural, std::string_view name) {
  return ResourceError(Code::kAlreadyExists, group, plural, name,
                       fmt::format("{} \"{}\" already exists", QualifiedName(group, plural), name));
}

Error ConflictError(std::string_view group, std::string_view plural, std::string_view name,
                    std::string_view why) {
  return ResourceError(Code::kConflict, group, plural, name,
                       fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                                   QualifiedName(group, plural), name, why));
}

Error ModifiedError(std::string_view group, std::string_view plural, std::string_view name) {
  return ConflictError(group, plural, name,
                       "the object has been modified; please apply your changes to the latest "
                       "version and try again");
}

Error ForbiddenError(std::string_view group, std::string_view plural, std::string_view name,
                     std::string_view why) {
  const std::string qualified = QualifiedName(group, plural);
  std::string message = name.empty()
                            ? fmt::format("{} is forbidden: {}", qualified, why)
                            : fmt::format("{} \"{}\" is forbidden: {}", qualified, name, why);
  return ResourceError(Code::kForbidden, group, plural, name, std::move(message));
}

Error NoSuchResourceError() {
  return {.code = Code::kNotFound, .message = "the server could not find the requested resource"};
}

Error MethodNotAllowedError() {
  return {.code = Code::kMethodNotAllowed,
          .message = "the server does not allow this method on the requested resource"};
}

Error InvalidFieldError(std::string_view group, std::string_view kind, std::string_view name,
                        std::string_view field, std::string_view reason, std::string_view message) {
  Error error = ResourceError(Code::kInvalid, group, kind, name,
                              fmt::format("{} \"{}\" is invalid: {}: {}",
                                          QualifiedName(group, kind), name, field, message));
  error.causes.push_back({.reason = std::string(reason),
                          .field = std::string(field),
                          .message = std::string(message)});
  return error;
}

}  // namespace drachma::apiserver
