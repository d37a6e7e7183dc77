#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drachma::cel {

// Numbers and times as Go's strconv, fmt and time packages write and read them: the texts show in
// results and messages.

[[nodiscard]] std::string FormatDoubleG(double value);  // %g: "1e+06", "0.1", "+Inf"
// %f with the fewest digits that read back ("1000000", "0.1").
[[nodiscard]] std::string FormatDoubleShort(double value);
[[nodiscard]] std::string FormatDoubleFixed(double value, int precision);       // %.Nf
[[nodiscard]] std::string FormatDoubleScientific(double value, int precision);  // %.Ne
[[nodiscard]] std::string QuoteGo(std::string_view text);                       // %q

[[nodiscard]] std::optional<std::int64_t> ParseInt(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> ParseUint(std::string_view text);
[[nodiscard]] std::optional<double> ParseDouble(std::string_view text);
[[nodiscard]] std::optional<bool> ParseBool(std::string_view text);

// time.ParseDuration: nanoseconds of "1h2m3.5s".
[[nodiscard]] std::optional<std::int64_t> ParseDuration(std::string_view text);
[[nodiscard]] std::string DurationString(std::int64_t nanos);   // "1h0m0s"
[[nodiscard]] std::string DurationSeconds(std::int64_t nanos);  // "3600s", as string() gives

struct Instant {
  std::int64_t seconds = 0;  // since 1970
  std::uint32_t nanos = 0;
  std::int16_t offset_minutes = 0;
};
inline constexpr std::int64_t kSecondsMin = -62135596800;  // 0001-01-01T00:00:00Z
inline constexpr std::int64_t kSecondsMax = 253402300799;  // 9999-12-31T23:59:59Z

// time.Parse(time.RFC3339, text); not limited to years 1 to 9999.
[[nodiscard]] std::optional<Instant> ParseTimestamp(std::string_view text);
[[nodiscard]] std::string FormatTimestamp(const Instant& instant);  // RFC3339Nano, in its offset

// A moment's fields in some zone.
struct CivilTime {
  std::int64_t year = 0;
  int month = 0;        // 1 to 12
  int day = 0;          // 1 to 31
  int day_of_year = 0;  // 1 to 366
  int day_of_week = 0;  // 0 is Sunday
  int hour = 0;
  int minute = 0;
  int second = 0;
};
[[nodiscard]] CivilTime ToCivil(std::int64_t seconds);
// Days since 1970-01-01 of a date.
[[nodiscard]] std::int64_t DaysFromCivil(std::int64_t year, int month, int day);

// The seconds east of UTC at `seconds` in a zone: "" and "UTC", an IANA name, or "-08:00".
// ERRORS (text in *error): as Go's time.LoadLocation and cel-go.
[[nodiscard]] std::optional<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds,
                                                     std::string* error);

}  // namespace drachma::cel
