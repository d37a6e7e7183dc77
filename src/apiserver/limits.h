#pragma once

#include <cstddef>

#include "base/clock.h"
#include "store/store.h"

namespace drachma::apiserver {

// What an API server lets its clients ask of it. The defaults are upstream's; the flags of `up`
// have upstream's names.
struct Limits {
  // Requests under way that read and that write (--max-requests-inflight and
  // --max-mutating-requests-inflight); beyond them 429 with Retry-After. 0: no limit. Watches do
  // not count, members of system:masters and health checks are not held up.
  int requests_in_flight_max = 400;
  int mutating_in_flight_max = 200;
  // Of everything but watches (--request-timeout); then 504. Clients may ask for less (?timeout=).
  Duration request_timeout = std::chrono::seconds(60);
  // Watches without timeoutSeconds end after a random time in [1, 2) of this, so that they spread
  // over the servers (--min-request-timeout).
  Duration watch_duration_min = std::chrono::minutes(30);
  // How long /readyz fails before the server stops taking requests (--shutdown-delay-duration).
  Duration shutdown_delay = Duration::zero();
  // Events that may wait for one watch; beyond it 410.
  std::size_t watch_lag_events_max = store::kWatchLagDefault;
};

// The largest object that is stored, as text; a patch that makes one grow beyond it is refused
// with 413 (a body can be no larger, either).
inline constexpr std::size_t kObjectBytesMax = 3 * 1024 * 1024;

}  // namespace drachma::apiserver
