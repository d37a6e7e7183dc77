#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace drachma::controllers {

// A schedule of five fields (minute, hour, day of month, month, day of week) as robfig/cron reads
// it: lists, ranges, steps, names, "?", @daily and the like, "@every 90s", and a leading
// "TZ=Europe/Berlin". When both days are given either may fit. Moments that a change of the clock
// leaves out are left out; those it repeats come twice. A value type.
class CronSchedule {
 public:
  // `zone` is an IANA name; empty is UTC. One in the text wins.
  // ERRORS: kInvalid with cron's words ("expected exactly 5 fields, found 4: [a b c d]").
  [[nodiscard]] static Result<CronSchedule> Parse(std::string_view text, std::string_view zone);

  // The first moment after `time`; nothing when there is none in five years.
  [[nodiscard]] std::optional<Time> Next(Time time) const;

 private:
  // Which values of a field fit. `any` says that it was given as * or ?.
  struct Field {
    std::bitset<64> values;
    bool any = false;
  };
  struct Bounds;
  static Result<Field> ParseField(std::string_view text, const Bounds& bounds);
  static Status ParsePart(std::string_view text, const Bounds& bounds, Field& field);
  static Result<CronSchedule> ParseDescriptor(std::string_view text, std::string zone);

  std::string zone_;
  Field minutes_;
  Field hours_;
  Field days_;
  Field months_;
  Field weekdays_;
  std::optional<Duration> every_;
};

// Whether the system knows the time zone.
[[nodiscard]] bool IsKnownZone(std::string_view zone);
// "2026-11-30T10:00:00+01:00": a moment as a clock in `zone` shows it.
[[nodiscard]] std::string FormatInZone(Time time, std::string_view zone);

}  // namespace drachma::controllers
