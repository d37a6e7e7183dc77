#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The metav1.Status of an error: reason, details, causes, code.
[[nodiscard]] json::Value StatusOf(const Error& error);
// 500 `Internal error occurred: why` with the cause.
[[nodiscard]] Error InternalError(std::string_view why);
// The error that a Status object tells (webhooks' answers).
[[nodiscard]] Error ErrorOf(const json::Value& status);
// "Success" with details of the object that was deleted; `details` may be null.
[[nodiscard]] json::Value SuccessStatus(json::Value details, int code);

// The errors of apimachinery's pkg/api/errors that name a resource (plural) or kind.
[[nodiscard]] Error NotFoundError(std::string_view group, std::string_view plural,
                                  std::string_view name);
[[nodiscard]] Error AlreadyExistsError(std::string_view group, std::string_view plural,
                                       std::string_view name);
[[nodiscard]] Error ConflictError(std::string_view group, std::string_view plural,
                                  std::string_view name, std::string_view why);
// 409 of an update whose resourceVersion is not the newest.
[[nodiscard]] Error ModifiedError(std::string_view group, std::string_view plural,
                                  std::string_view name);
[[nodiscard]] Error ForbiddenError(std::string_view group, std::string_view plural,
                                   std::string_view name, std::string_view why);
// 404 of a path that nothing serves.
[[nodiscard]] Error NoSuchResourceError();
[[nodiscard]] Error MethodNotAllowedError();
// 422 of a single field of `kind`; `message` holds its cause's words ("Required value: …").
[[nodiscard]] Error InvalidFieldError(std::string_view group, std::string_view kind,
                                      std::string_view name, std::string_view field,
                                      std::string_view reason, std::string_view message);
// "deployments.apps"; "pods" in the core group.
[[nodiscard]] std::string QualifiedName(std::string_view group, std::string_view plural);

}  // namespace drachma::apiserver
