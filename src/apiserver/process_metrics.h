#pragma once

#include <string>

namespace drachma::apiserver {

// What the system says of this process, under the names that Prometheus' clients use
// ("process_cpu_seconds_total"). Any thread.
[[nodiscard]] std::string ProcessMetricsText();

}  // namespace drachma::apiserver
