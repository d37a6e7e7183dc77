#include "base/result.h"

#include <array>
#include <string_view>

namespace drachma {
namespace {

struct CodeRow {
  Code code;
  int http_status;
  const char* reason;
};

constexpr std::array kCodes = {
    CodeRow{Code::kBadRequest, 400, "BadRequest"},
    CodeRow{Code::kUnauthorized, 401, "Unauthorized"},
    CodeRow{Code::kForbidden, 403, "Forbidden"},
    CodeRow{Code::kNotFound, 404, "NotFound"},
    CodeRow{Code::kMethodNotAllowed, 405, "MethodNotAllowed"},
    CodeRow{Code::kNotAcceptable, 406, "NotAcceptable"},
    CodeRow{Code::kAlreadyExists, 409, "AlreadyExists"},
    CodeRow{Code::kConflict, 409, "Conflict"},
    CodeRow{Code::kGone, 410, "Gone"},
    CodeRow{Code::kExpired, 410, "Expired"},
    CodeRow{Code::kTooLarge, 413, "RequestEntityTooLarge"},
    CodeRow{Code::kUnsupportedMediaType, 415, "UnsupportedMediaType"},
    CodeRow{Code::kInvalid, 422, "Invalid"},
    CodeRow{Code::kTooManyRequests, 429, "TooManyRequests"},
    CodeRow{Code::kInternal, 500, "InternalError"},
    CodeRow{Code::kUnavailable, 503, "ServiceUnavailable"},
    CodeRow{Code::kTimeout, 504, "Timeout"},
    CodeRow{Code::kUnknown, 500, ""},
};

const CodeRow& RowOf(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

}  // namespace

int HttpStatus(Code code) { return RowOf(code).http_status; }

const char* ReasonName(Code code) { return RowOf(code).reason; }

Code CodeFromReason(const std::string& reason, int http_status) {
  for (const CodeRow& row : kCodes) {
    if (!reason.empty() && reason == std::string_view(row.reason)) return row.code;
  }
  for (const CodeRow& row : kCodes) {
    if (row.http_status == http_status && row.code != Code::kInternal) return row.code;
  }
  return Code::kUnknown;
}

}  // namespace drachma
