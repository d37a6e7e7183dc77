#include "cli/signals.h"

#include <pthread.h>

#include <csignal>

namespace drachma::cli {
namespace {

sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void HoldSignals() {
  const sigset_t set = EndSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A client that goes away in the middle of an answer is no reason to die.
  std::signal(SIGPIPE, SIG_IGN);
}

void AwaitSignal() {
  const sigset_t set = EndSignals();
  int signal = 0;
  sigwait(&set, &signal);
}

bool AwaitSignalFor(Duration time) {
  const sigset_t set = EndSignals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
  return sigtimedwait(&set, nullptr, &timeout) > 0;
}

}  // namespace drachma::cli
