#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::api {

// metav1.Time from its JSON text: RFC 3339 in any zone; the result is in UTC with whole seconds.
// ERRORS: kBadRequest with Go's text (`parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot
// parse "x" as "2006"`).
[[nodiscard]] Result<std::string> CanonicalTime(std::string_view text);
// metav1.MicroTime: exactly six digits of a second.
[[nodiscard]] Result<std::string> CanonicalMicroTime(std::string_view text);
// The two from a Protobuf Timestamp; "" for the zero time of Go (year 1).
[[nodiscard]] std::string TimeFromUnix(std::int64_t seconds);
[[nodiscard]] std::string MicroTimeFromUnix(std::int64_t seconds, std::int32_t nanos);

// Standard base64, line breaks ignored. ERRORS: kBadRequest "illegal base64 data at input byte N".
[[nodiscard]] Result<std::string> DecodeBase64(std::string_view text);
[[nodiscard]] std::string EncodeBase64(std::string_view bytes);

}  // namespace drachma::api
