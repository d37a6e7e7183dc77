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

}  // namespace drachma::cli
