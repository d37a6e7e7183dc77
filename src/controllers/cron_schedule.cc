#include "controllers/cron_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "cel/eval/format.h"

namespace drachma::controllers {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kMonths = std::to_array<std::string_view>(
    {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"});
constexpr auto kWeekdays =
    std::to_array<std::string_view>({"sun", "mon", "tue", "wed", "thu", "fri", "sat"});
constexpr int kYearsMax = 5;  // further away is never

struct Descriptor {
  std::string_view name;
  std::string_view fields;
};
constexpr auto kDescriptors = std::to_array<Descriptor>({
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
});

std::vector<std::string_view> SplitBy(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : SplitBy(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

Result<int> Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(Code::kInvalid,
                fmt::format("failed to parse int from {0}: strconv.Atoi: parsing \"{0}\": invalid "
                            "syntax",
                            text));
  }
  if (number < 0) {
    return Fail(Code::kInvalid, fmt::format("negative number ({}) not allowed: {}", number, text));
  }
  return number;
}

// A Go duration in whole seconds: "1h30m", "90s".
std::optional<Duration> GoDuration(std::string_view text) {
  Duration total{0};
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    constexpr std::int64_t kNumberMax = 1'000'000'000;
    if (error != std::errc() || number < 0 || number > kNumberMax) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with("ms")) {
      total += std::chrono::milliseconds(number);
      text.remove_prefix(2);
      continue;
    }
    if (text.empty()) return std::nullopt;
    switch (text.front()) {
      case 'h':
        total += std::chrono::hours(number);
        break;
      case 'm':
        total += minutes(number);
        break;
      case 's':
        total += seconds(number);
        break;
      default:
        return std::nullopt;
    }
    text.remove_prefix(1);
  }
  return total;
}

std::int64_t SecondsOf(Time time) {
  return std::chrono::floor<seconds>(time.time_since_epoch()).count();
}

std::int64_t OffsetAt(std::string_view zone, std::int64_t moment) {
  std::string error;
  return cel::ZoneOffset(zone, moment, &error).value_or(0);
}

// A moment as the fields of a local clock.
struct Civil {
  std::chrono::year_month_day date;
  int hour = 0;
  int minute = 0;
  unsigned weekday = 0;  // Sunday is 0
};

Civil CivilOf(std::int64_t moment, std::string_view zone) {
  const auto local = std::chrono::sys_seconds(seconds(moment + OffsetAt(zone, moment)));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const auto into = local - day;
  return {.date = std::chrono::year_month_day(day),
          .hour = static_cast<int>(std::chrono::duration_cast<std::chrono::hours>(into).count()),
          .minute = static_cast<int>(std::chrono::duration_cast<minutes>(into).count() % 60),
          .weekday = std::chrono::weekday(day).c_encoding()};
}

// The moment at which the local day begins, as near as the zone has one.
std::int64_t MidnightOf(std::chrono::sys_days day, std::string_view zone) {
  const std::int64_t local = std::chrono::sys_seconds(day).time_since_epoch().count();
  const std::int64_t guess = local - OffsetAt(zone, local);
  return local - OffsetAt(zone, guess);
}

}  // namespace

struct CronSchedule::Bounds {
  int min;
  int max;
  std::span<const std::string_view> names;
  int first_name;  // the number of the first name
};

Status CronSchedule::ParsePart(std::string_view text, const Bounds& bounds, Field& field) {
  const auto value = [&](std::string_view word) -> Result<int> {
    std::string lower(word);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto name = std::ranges::find(bounds.names, lower);
    if (name != bounds.names.end()) {
      return static_cast<int>(name - bounds.names.begin()) + bounds.first_name;
    }
    return Number(word);
  };
  const auto refuse = [&](std::string words) { return Fail(Code::kInvalid, std::move(words)); };
  const std::vector<std::string_view> range_and_step = SplitBy(text, '/');
  const std::vector<std::string_view> ends = SplitBy(range_and_step.front(), '-');
  const bool single = ends.size() == 1;
  int first = bounds.min;
  int last = bounds.max;
  const bool any = single && (ends.front() == "*" || ends.front() == "?");
  if (!any) {
    DRA_ASSIGN(first, value(ends.front()));
    last = first;
    if (ends.size() == 2) {
      DRA_ASSIGN(last, value(ends[1]));
    }
    if (ends.size() > 2) return refuse(fmt::format("too many hyphens: {}", text));
  }
  int step = 1;
  if (range_and_step.size() == 2) {
    DRA_ASSIGN(step, Number(range_and_step[1]));
    if (single) last = bounds.max;
  } else if (range_and_step.size() > 2) {
    return refuse(fmt::format("too many slashes: {}", text));
  }
  if (first < bounds.min) {
    return refuse(
        fmt::format("beginning of range ({}) below minimum ({}): {}", first, bounds.min, text));
  }
  if (last > bounds.max) {
    return refuse(fmt::format("end of range ({}) above maximum ({}): {}", last, bounds.max, text));
  }
  if (first > last) {
    return refuse(
        fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text));
  }
  if (step == 0) {
    return refuse(fmt::format("step of range should be a positive number: {}", text));
  }
  // A step over everything is no star any more (robfig clears the bit for steps above one).
  field.any |= any && step == 1;
  for (int number = first; number <= last; number += step) {
    field.values.set(static_cast<std::size_t>(number));
  }
  return {};
}

Result<CronSchedule::Field> CronSchedule::ParseField(std::string_view text, const Bounds& bounds) {
  Field field;
  for (const std::string_view part : SplitBy(text, ',')) {
    if (!part.empty()) DRA_TRY(ParsePart(part, bounds, field));
  }
  return field;
}

Result<CronSchedule> CronSchedule::ParseDescriptor(std::string_view text, std::string zone) {
  for (const Descriptor& descriptor : kDescriptors) {
    if (descriptor.name == text) return Parse(descriptor.fields, zone);
  }
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery)) {
    return Fail(Code::kInvalid, fmt::format("unrecognized descriptor: {}", text));
  }
  const std::optional<Duration> every = GoDuration(text.substr(kEvery.size()));
  if (!every) return Fail(Code::kInvalid, fmt::format("failed to parse duration {}", text));
  CronSchedule schedule;
  schedule.zone_ = std::move(zone);
  // Whole seconds, at least one.
  schedule.every_ = std::max<Duration>(std::chrono::floor<seconds>(*every), seconds(1));
  return schedule;
}

Result<CronSchedule> CronSchedule::Parse(std::string_view text, std::string_view zone) {
  if (text.empty()) return Fail(Code::kInvalid, "empty spec string");
  std::string place(zone);
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    const std::size_t begin = text.find('=') + 1;
    const std::size_t end = text.find(' ');
    if (end == std::string_view::npos) {
      return Fail(Code::kInvalid, "expected exactly 5 fields, found 0: []");
    }
    place = text.substr(begin, end - begin);
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (!IsKnownZone(place)) {
      return Fail(Code::kInvalid,
                  fmt::format("provided bad location {0}: unknown time zone {0}", place));
    }
  }
  if (text.starts_with('@')) return ParseDescriptor(text, std::move(place));
  const std::vector<std::string_view> words = Words(text);
  if (words.size() != 5) {
    return Fail(Code::kInvalid, fmt::format("expected exactly 5 fields, found {}: [{}]",
                                            words.size(), fmt::join(words, " ")));
  }
  CronSchedule schedule;
  schedule.zone_ = std::move(place);
  DRA_ASSIGN(schedule.minutes_, ParseField(words[0], {0, 59, {}, 0}));
  DRA_ASSIGN(schedule.hours_, ParseField(words[1], {0, 23, {}, 0}));
  DRA_ASSIGN(schedule.days_, ParseField(words[2], {1, 31, {}, 0}));
  DRA_ASSIGN(schedule.months_, ParseField(words[3], {1, 12, kMonths, 1}));
  DRA_ASSIGN(schedule.weekdays_, ParseField(words[4], {0, 6, kWeekdays, 0}));
  return schedule;
}

std::optional<Time> CronSchedule::Next(Time time) const {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  const std::int64_t start = SecondsOf(time);
  if (every_) return Time(seconds(start)) + *every_;
  std::int64_t moment = (start >= 0 ? start / kMinute : (start - kMinute + 1) / kMinute) * kMinute;
  moment += kMinute;
  const int last_year = static_cast<int>(CivilOf(moment, zone_).date.year()) + kYearsMax;
  // Steps over what cannot fit; where the clock is changed a step may fall short, never back.
  const auto go_on = [&](std::int64_t to) { moment = to > moment ? to : moment + kHour; };
  for (;;) {
    const Civil now = CivilOf(moment, zone_);
    if (static_cast<int>(now.date.year()) > last_year) return std::nullopt;
    if (!months_.values.test(static_cast<unsigned>(now.date.month()))) {
      const auto next = now.date.year() / now.date.month() + std::chrono::months(1);
      go_on(MidnightOf(std::chrono::sys_days(next / 1), zone_));
      continue;
    }
    const bool day = days_.values.test(static_cast<unsigned>(now.date.day()));
    const bool weekday = weekdays_.values.test(now.weekday);
    if (days_.any || weekdays_.any ? !(day && weekday) : !(day || weekday)) {
      go_on(MidnightOf(std::chrono::sys_days(now.date) + std::chrono::days(1), zone_));
      continue;
    }
    if (!hours_.values.test(static_cast<std::size_t>(now.hour))) {
      moment += kHour - now.minute * kMinute;
      continue;
    }
    if (minutes_.values.test(static_cast<std::size_t>(now.minute))) return Time(seconds(moment));
    moment += kMinute;
  }
}

bool IsKnownZone(std::string_view zone) {
  std::string error;
  return zone.empty() || cel::ZoneOffset(zone, 0, &error).has_value();
}

std::string FormatInZone(Time time, std::string_view zone) {
  const std::int64_t moment = SecondsOf(time);
  const std::int64_t offset = OffsetAt(zone, moment);
  std::string text = FormatTime(Time(seconds(moment + offset)));
  if (offset == 0) return text;
  text.pop_back();  // the Z
  const std::int64_t in_minutes = std::abs(offset) / 60;
  return fmt::format("{}{}{:02}:{:02}", text, offset < 0 ? '-' : '+', in_minutes / 60,
                     in_minutes % 60);
}

}  // namespace drachma::controllers
