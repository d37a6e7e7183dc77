#include "base/clock.h"

#include <fmt/format.h>

#include <array>

namespace drachma {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time Now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  [[nodiscard]] Duration Monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

std::string FormatSeconds(Time time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - days));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

// Reads exactly `digits` decimal digits from the front of `text`; -1 when they are not there.
int TakeDigits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool TakeChar(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Nanoseconds of ".123"; digits after the ninth are dropped. -1 for a dot without digits.
std::int64_t TakeFraction(std::string_view& text) {
  if (!TakeChar(text, ".,")) return 0;
  std::int64_t nanos = 0;
  std::int64_t unit = 100'000'000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    nanos += unit * (text.front() - '0');
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? nanos : -1;
}

}  // namespace

Clock& RealClock() {
  static SystemClock clock;
  return clock;
}

std::string FormatTime(Time time) { return FormatSeconds(time) + "Z"; }

std::string FormatMicroTime(Time time) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time).time_since_epoch().count();
  const auto fraction = ((micros % 1'000'000) + 1'000'000) % 1'000'000;
  return fmt::format("{}.{:06}Z", FormatSeconds(time), fraction);
}

Result<Time> ParseTime(std::string_view text) {
  const auto fail = [whole = std::string(text)] {
    return BadInput(fmt::format("\"{}\" is not an RFC 3339 time", whole));
  };
  const int year = TakeDigits(text, 4);
  if (year < 0 || !TakeChar(text, "-")) return fail();
  const int month = TakeDigits(text, 2);
  if (month < 0 || !TakeChar(text, "-")) return fail();
  const int day = TakeDigits(text, 2);
  if (day < 0 || !TakeChar(text, "Tt")) return fail();
  const int hour = TakeDigits(text, 2);
  if (hour < 0 || hour > 23 || !TakeChar(text, ":")) return fail();
  const int minute = TakeDigits(text, 2);
  if (minute < 0 || minute > 59 || !TakeChar(text, ":")) return fail();
  const int second = TakeDigits(text, 2);
  if (second < 0 || second > 59) return fail();
  const std::int64_t nanos = TakeFraction(text);
  if (nanos < 0) return fail();
  std::chrono::minutes offset{0};
  if (!TakeChar(text, "Zz")) {
    if (text.empty()) return fail();
    const int sign = text.front() == '-' ? -1 : 1;
    if (!TakeChar(text, "+-")) return fail();
    const int hours = TakeDigits(text, 2);
    if (hours < 0 || hours > 23 || !TakeChar(text, ":")) return fail();
    const int minutes = TakeDigits(text, 2);
    if (minutes < 0 || minutes > 59) return fail();
    offset = sign * (std::chrono::hours(hours) + std::chrono::minutes(minutes));
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok()) return fail();
  // Nanoseconds since 1970 hold 1677 to 2262; further times are not of use in an API object.
  if (year < 1678 || year > 2261) return fail();
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + Duration(nanos) - offset;
}

}  // namespace drachma
