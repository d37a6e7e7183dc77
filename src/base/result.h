#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace drachma {

// What went wrong, as metav1.Status.reason names it; the HTTP code follows from it
// (apimachinery's pkg/api/errors). kUnknown is upstream's empty reason (500 without a reason).
enum class Code : std::uint8_t {
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kNotAcceptable,
  kAlreadyExists,
  kConflict,
  kGone,
  kExpired,
  kTooLarge,
  kUnsupportedMediaType,
  kInvalid,
  kTooManyRequests,
  kInternal,
  kUnavailable,
  kTimeout,
  kUnknown,
};

// The HTTP status code of `code`, 400 to 599.
int HttpStatus(Code code);
// metav1.StatusReason's spelling: "Invalid", "NotFound", …; empty for kUnknown.
const char* ReasonName(Code code);
// The code that a reason's spelling means; kUnknown for spellings that are not known.
Code CodeFromReason(const std::string& reason, int http_status);

// One fault of an input, as metav1.StatusCause: `reason` is "FieldValueInvalid", …; `field` is the
// path ("spec.devices.requests[0].name").
struct Cause {
  std::string reason;
  std::string field;
  std::string message;

  friend bool operator==(const Cause&, const Cause&) = default;
};

// An error as a value. It maps one to one on metav1.Status, so that an error of the API keeps its
// form from the validation that found it to the client that prints it.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::vector<Cause> causes;
  // metav1.StatusDetails: group, and the resource's plural name or (for kInvalid) the Kind.
  std::string group;
  std::string kind;
  std::string name;
  std::string uid;
  int retry_after_seconds = 0;

  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

// An error of `code` with nothing but a message.
[[nodiscard]] inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected(Error{.code = code, .message = std::move(message)});
}
// The common case: the caller's input is wrong.
[[nodiscard]] inline std::unexpected<Error> BadInput(std::string message) {
  return Fail(Code::kBadRequest, std::move(message));
}

}  // namespace drachma

#define DRA_CONCAT_INNER(a, b) a##b
#define DRA_CONCAT(a, b) DRA_CONCAT_INNER(a, b)

// DRA_TRY(status): returns the error of a Status to the caller.
#define DRA_TRY(expression)                                                    \
  do {                                                                         \
    if (auto dra_status = (expression); !dra_status) {                         \
      return std::unexpected(std::move(dra_status).error());                   \
    }                                                                          \
  } while (false)

// DRA_ASSIGN(auto x, result): x is the value, or the error is returned to the caller.
#define DRA_ASSIGN(declaration, expression)                                    \
  DRA_ASSIGN_INNER(DRA_CONCAT(dra_result_, __LINE__), declaration, expression)
#define DRA_ASSIGN_INNER(temporary, declaration, expression)                   \
  auto temporary = (expression);                                               \
  if (!temporary) return std::unexpected(std::move(temporary).error());        \
  declaration = std::move(*temporary)
