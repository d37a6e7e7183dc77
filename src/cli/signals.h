#pragma once

#include "base/clock.h"

namespace drachma::cli {

// Keeps SIGINT and SIGTERM for AwaitSignal. To be called before any thread is started.
void HoldSignals();
// Waits for SIGINT or SIGTERM.
void AwaitSignal();
// The same for at most `time`. Returns whether a signal came.
[[nodiscard]] bool AwaitSignalFor(Duration time);

}  // namespace drachma::cli
