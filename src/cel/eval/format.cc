#include "cel/eval/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

std::optional<std::string> SpecialDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return std::nullopt;
}

template <typename... Args>
std::string ToChars(double value, Args... args) {
  std::array<char, 1200> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, args...);
  return {buffer.data(), result.ptr};
}

bool AllDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Two digits at `index`; -1 when there are none.
int TwoDigits(std::string_view text, std::size_t index) {
  if (index + 2 > text.size() || !AllDigits(text.substr(index, 2))) return -1;
  return (text[index] - '0') * 10 + (text[index + 1] - '0');
}

bool IsLeap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysIn(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[month - 1];
}

}  // namespace

std::string FormatDoubleG(double value) {
  if (const auto special = SpecialDouble(value)) return *special;
  constexpr int kPrecision = 6;  // decides between the two forms, though all digits are shown
  const std::string scientific = ToChars(value, std::chars_format::scientific);
  const std::size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  if (exponent < -4 || exponent >= kPrecision) return scientific;
  return ToChars(value, std::chars_format::fixed);
}

std::string FormatDoubleShort(double value) {
  if (const auto special = SpecialDouble(value)) return *special;
  return ToChars(value, std::chars_format::fixed);
}
std::string FormatDoubleFixed(double value, int precision) {
  if (const auto special = SpecialDouble(value)) return *special;
  return ToChars(value, std::chars_format::fixed, precision);
}
std::string FormatDoubleScientific(double value, int precision) {
  if (const auto special = SpecialDouble(value)) return *special;
  return ToChars(value, std::chars_format::scientific, precision);
}

std::string QuoteGo(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = DecodeUtf8(text, &at);
    constexpr std::string_view kNames = "abfnrtv\\\"";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\\"";
    std::array<char, 16> escape{};
    if (c == 0xFFFD && at - begin == 1) {
      std::snprintf(escape.data(), escape.size(), "\\x%02x",
                    static_cast<unsigned char>(text[begin]));
      out += escape.data();
    } else if (c < 0x80 && kValues.find(static_cast<char>(c)) != std::string_view::npos) {
      out += '\\';
      out += kNames[kValues.find(static_cast<char>(c))];
    } else if (c < 0x20 || c == 0x7F) {
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned>(c));
      out += escape.data();
    } else if (c >= 0x80 && c < 0xA0) {
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  return out + "\"";
}

std::optional<std::int64_t> ParseInt(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

namespace {

// Go's rule for `_` in numbers: between digits, or after the letter of a base (0x_1p4).
bool UnderscoresFit(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  bool after_digit = hex;
  bool after_underscore = false;
  for (const char c : hex ? text.substr(2) : text) {
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (c == '_' && !after_digit) return false;
    const bool digit = (c >= '0' && c <= '9') || (hex && letter);
    if (after_underscore && c != '_' && !digit) return false;
    after_underscore = c == '_';
    after_digit = digit;
  }
  return !after_underscore;
}

}  // namespace

std::optional<double> ParseDouble(std::string_view text) {
  if (text.contains('_')) {
    if (!UnderscoresFit(text)) return std::nullopt;
    std::string plain(text);
    std::erase(plain, '_');
    return ParseDouble(plain);
  }
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  std::string_view rest = lower;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const double sign = negative ? -1.0 : 1.0;
  if (rest == "inf" || rest == "infinity") return sign * HUGE_VAL;
  if (rest == "nan") return std::nan("");
  const bool hex = rest.starts_with("0x");
  // A sign, an underscore or a word in the rest is no number; hexadecimal ones need an exponent.
  const auto allowed = [hex](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == '+' || c == '-' ||
           (hex && ((c >= 'a' && c <= 'f') || c == 'x' || c == 'p'));
  };
  if (rest.empty() || !std::ranges::all_of(rest, allowed)) return std::nullopt;
  if (rest.front() == '+' || rest.front() == '-') return std::nullopt;
  if (hex && !rest.contains('p')) return std::nullopt;
  const std::string number(rest);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (end != number.c_str() + number.size() || std::isinf(value)) return std::nullopt;
  return sign * value;
}

std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t nanos;
  };
  static constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                                  {"us", 1'000},
                                                  {"\u00b5s", 1'000},
                                                  {"\u03bcs", 1'000},
                                                  {"ms", 1'000'000},
                                                  {"s", 1'000'000'000},
                                                  {"m", 60'000'000'000},
                                                  {"h", 3'600'000'000'000}}};
  constexpr std::uint64_t kMax = std::uint64_t{1} << 63;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.front() != '.' && !is_digit(text.front())) return std::nullopt;
    std::uint64_t whole = 0;
    std::size_t digits = 0;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), ++digits) {
      if (whole > kMax / 10) return std::nullopt;
      whole = whole * 10 + static_cast<std::uint64_t>(text.front() - '0');
      if (whole > kMax) return std::nullopt;
    }
    std::uint64_t fraction = 0;
    double scale = 1;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      bool overflow = false;
      for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), ++digits) {
        if (overflow) continue;
        if (fraction > (kMax - 1) / 10) {
          overflow = true;
          continue;
        }
        const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(text.front() - '0');
        if (next > kMax) {
          overflow = true;
          continue;
        }
        fraction = next;
        scale *= 10;
      }
    }
    if (digits == 0) return std::nullopt;
    std::size_t name_end = 0;
    while (name_end < text.size() && text[name_end] != '.' && !is_digit(text[name_end])) ++name_end;
    const std::string_view name = text.substr(0, name_end);
    const auto unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == kUnits.end()) return std::nullopt;
    text.remove_prefix(name_end);
    if (whole > kMax / unit->nanos) return std::nullopt;
    std::uint64_t nanos = whole * unit->nanos;
    if (fraction > 0) {
      nanos += static_cast<std::uint64_t>(static_cast<double>(fraction) *
                                          (static_cast<double>(unit->nanos) / scale));
      if (nanos > kMax) return std::nullopt;
    }
    total += nanos;
    if (total > kMax) return std::nullopt;
  }
  if (negative) return static_cast<std::int64_t>(0 - total);
  if (total > kMax - 1) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string DurationString(std::int64_t nanos) {
  if (nanos == 0) return "0s";
  const bool negative = nanos < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  std::string out = negative ? "-" : "";
  const auto with_fraction = [](std::uint64_t value, std::uint64_t unit) {
    std::string text = std::to_string(value / unit);
    if (value % unit == 0) return text;
    std::string fraction = std::to_string(unit + value % unit).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return text + "." + fraction;
  };
  if (magnitude < 1'000) return out + std::to_string(magnitude) + "ns";
  if (magnitude < 1'000'000) return out + with_fraction(magnitude, 1'000) + "\u00b5s";
  if (magnitude < 1'000'000'000) return out + with_fraction(magnitude, 1'000'000) + "ms";
  constexpr std::uint64_t kMinute = 60'000'000'000;
  const std::uint64_t minutes = magnitude / kMinute;
  if (minutes >= 60) out += std::to_string(minutes / 60) + "h";
  if (minutes > 0) out += std::to_string(minutes % 60) + "m";
  return out + with_fraction(magnitude % kMinute, 1'000'000'000) + "s";
}

std::string DurationSeconds(std::int64_t nanos) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const double seconds = static_cast<double>(nanos / kSecond) +
                         static_cast<double>(nanos % kSecond) / static_cast<double>(kSecond);
  return FormatDoubleShort(seconds) + "s";
}

std::int64_t DaysFromCivil(std::int64_t year, int month, int day) {
  using namespace std::chrono;
  // Howard Hinnant's days_from_civil, for any year.
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

CivilTime ToCivil(std::int64_t seconds) {
  constexpr std::int64_t kDay = 86400;
  std::int64_t days = seconds / kDay;
  std::int64_t rest = seconds % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_index = (5 * day_of_year + 2) / 153;
  CivilTime civil;
  civil.day = static_cast<int>(day_of_year - (153 * month_index + 2) / 5 + 1);
  civil.month = static_cast<int>(month_index < 10 ? month_index + 3 : month_index - 9);
  civil.year = year_of_era + era * 400 + (civil.month <= 2 ? 1 : 0);
  civil.day_of_year = static_cast<int>(days - DaysFromCivil(civil.year, 1, 1)) + 1;
  civil.day_of_week = static_cast<int>(((days % 7) + 11) % 7);
  civil.hour = static_cast<int>(rest / 3600);
  civil.minute = static_cast<int>(rest / 60 % 60);
  civil.second = static_cast<int>(rest % 60);
  return civil;
}

std::optional<Instant> ParseTimestamp(std::string_view text) {
  // "2009-02-13T23:31:30.123Z": four digits of year, two of all else; the hour may have one.
  constexpr std::size_t kHourAt = 11;
  std::string padded;
  if (text.size() > kHourAt + 1 && text[kHourAt + 1] == ':') {
    padded.append(text.substr(0, kHourAt)).append("0").append(text.substr(kHourAt));
    text = padded;
  }
  constexpr std::size_t kDateTimeSize = 19;
  if (text.size() < kDateTimeSize + 1 || !AllDigits(text.substr(0, 4))) return std::nullopt;
  const int year = std::atoi(std::string(text.substr(0, 4)).c_str());
  const int month = TwoDigits(text, 5);
  const int day = TwoDigits(text, 8);
  const int hour = TwoDigits(text, 11);
  const int minute = TwoDigits(text, 14);
  const int second = TwoDigits(text, 17);
  const bool punctuated =
      text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
  if (!punctuated || month < 1 || month > 12 || day < 1 || day > DaysIn(year, month) || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  text.remove_prefix(kDateTimeSize);
  Instant instant;
  if (text.front() == '.' || text.front() == ',') {
    std::size_t end = 1;
    std::uint32_t unit = 100'000'000;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end, unit /= 10) {
      instant.nanos += static_cast<std::uint32_t>(text[end] - '0') * unit;
    }
    if (end == 1) return std::nullopt;
    text.remove_prefix(end);
  }
  std::int64_t offset = 0;
  if (text != "Z") {
    const int zone_hour = TwoDigits(text, 1);
    const int zone_minute = TwoDigits(text, 4);
    const bool zone = text.size() == 6 && (text[0] == '+' || text[0] == '-') && text[3] == ':' &&
                      zone_hour >= 0 && zone_hour <= 24 && zone_minute >= 0 && zone_minute < 60;
    if (!zone) return std::nullopt;
    offset = zone_hour * 60 + zone_minute;
    if (text[0] == '-') offset = -offset;
  }
  instant.offset_minutes = static_cast<std::int16_t>(offset);
  instant.seconds =
      DaysFromCivil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset * 60;
  return instant;
}

std::string FormatTimestamp(const Instant& instant) {
  const CivilTime civil = ToCivil(instant.seconds + instant.offset_minutes * 60);
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02dT%02d:%02d:%02d",
                static_cast<long long>(civil.year), civil.month, civil.day, civil.hour,
                civil.minute, civil.second);
  std::string out = buffer.data();
  if (instant.nanos > 0) {
    std::string fraction = std::to_string(1'000'000'000 + instant.nanos).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += "." + fraction;
  }
  if (instant.offset_minutes == 0) return out + "Z";
  const int offset = std::abs(instant.offset_minutes);
  std::snprintf(buffer.data(), buffer.size(), "%c%02d:%02d", instant.offset_minutes < 0 ? '-' : '+',
                offset / 60, offset % 60);
  return out + buffer.data();
}

}  // namespace drachma::cel
