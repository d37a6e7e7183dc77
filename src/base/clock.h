#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma {

using Duration = std::chrono::nanoseconds;
// Wall-clock time since the Unix epoch.
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;

// Where time comes from. Real code gets one injected and never asks the system, so that the whole
// cluster also runs under virtual time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // The wall-clock time.
  [[nodiscard]] virtual Time Now() const = 0;
  // Time that never goes back, for measuring.
  [[nodiscard]] virtual Duration Monotonic() const = 0;
};

// The system's clock.
Clock& RealClock();

// "2026-11-30T03:44:00Z": metav1.Time, whole seconds.
std::string FormatTime(Time time);
// "2026-11-30T03:44:00.000000Z": metav1.MicroTime.
std::string FormatMicroTime(Time time);
// Parses RFC 3339 with any fraction and offset. ERRORS: kBadRequest.
Result<Time> ParseTime(std::string_view text);

}  // namespace drachma
