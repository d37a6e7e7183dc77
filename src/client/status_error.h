#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::client {

// The Error that a metav1.Status says; `http_status` counts when the Status has no code.
[[nodiscard]] Error ErrorFromStatus(const json::Value& status, int http_status);
// The Error of an answer whose body may be a Status or any text.
[[nodiscard]] Error ErrorFromBody(std::string_view body, int http_status);
// Whether a write failed because its resourceVersion (or uid) is no longer the current one: read
// again and decide anew.
[[nodiscard]] inline bool IsConflict(const Error& error) { return error.code == Code::kConflict; }

}  // namespace drachma::client
