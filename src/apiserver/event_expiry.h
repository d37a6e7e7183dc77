#pragma once

#include <cstddef>

#include "base/clock.h"
#include "store/store.h"

namespace drachma::apiserver {

// Events live this long after they were last seen (upstream's --event-ttl).
inline constexpr Duration kEventTtl = std::chrono::hours(1);
// How often the server looks for events that are due.
inline constexpr Duration kEventSweepInterval = std::chrono::minutes(1);

// Removes the events that were last seen more than kEventTtl before `now`; one that is written at
// the same time stays. Returns how many were due.
std::size_t ExpireEvents(store::Store& store, Time now);

}  // namespace drachma::apiserver
