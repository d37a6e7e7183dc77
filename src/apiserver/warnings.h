#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drachma::apiserver {

// The values of the Warning headers (RFC 7234, 299: "miscellaneous persistent warning") for these
// texts: each text once, none with control characters. When all together are longer than 4096 code
// points each is cut at 256, and what then still goes beyond is left out (upstream's
// WithWarningRecorder). Pure; any thread.
[[nodiscard]] std::vector<std::string> WarningHeaders(const std::vector<std::string>& texts);

}  // namespace drachma::apiserver
