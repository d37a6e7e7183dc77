#pragma once

namespace drachma::cli {

// Keeps SIGINT and SIGTERM for AwaitSignal. To be called before any thread is started.
void HoldSignals();
// Waits for SIGINT or SIGTERM.
void AwaitSignal();

}  // namespace drachma::cli
