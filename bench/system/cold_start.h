#pragma once

#include <string>

#include "base/result.h"

namespace drachma::bench {

// Milliseconds from starting a process to what it does.
struct ColdStart {
  double kubeconfig = 0;  // keys and certificates are made, the server listens
  double allocated = 0;   // a claim of a pod given by -f is allocated
  double idle_bytes = 0;  // resident memory two seconds later
  double idle_cpu = 0;    // seconds of CPU time until then
};

// Starts `drachma up` in an empty folder with `manifest` and watches its claims over HTTPS.
// ERRORS: kUnavailable when it does not come up.
[[nodiscard]] Result<ColdStart> MeasureColdStart(const std::string& drachma,
                                                 const std::string& folder,
                                                 const std::string& manifest);

}  // namespace drachma::bench
