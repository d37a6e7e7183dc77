#include "api/scalar_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace drachma::api {

namespace {

constexpr std::string_view kRfc3339 = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kRfc3339Micro = "2006-01-02T15:04:05.000000Z07:00";
constexpr std::int64_t kZeroTime = -62135596800;  // year 1: Go's zero time.Time

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Go's strconv.Quote as time.ParseError uses it: printable ASCII stays.
std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Go's time.Parse for the two layouts above.
class TimeParser {
 public:
  TimeParser(std::string_view text, bool micro) : text_(text), rest_(text), micro_(micro) {}

  Status Run() {
    DRA_TRY(Number(year_, 4, "2006", 0, 9999, ""));
    DRA_TRY(Literal("-"));
    DRA_TRY(Number(month_, 2, "01", 1, 12, "month"));
    DRA_TRY(Literal("-"));
    DRA_TRY(Number(day_, 2, "02", 0, 99, ""));
    DRA_TRY(Literal("T"));
    DRA_TRY(Hour());
    DRA_TRY(Literal(":"));
    DRA_TRY(Number(minute_, 2, "04", 0, 59, "minute"));
    DRA_TRY(Literal(":"));
    DRA_TRY(Number(second_, 2, "05", 0, 59, "second"));
    DRA_TRY(Fraction());
    DRA_TRY(Zone());
    if (!rest_.empty()) return Bad(fmt::format(": extra text: {}", Quote(rest_)));
    if (day_ < 1 || day_ > DaysOfMonth()) return Bad(": day out of range");
    return {};
  }

  [[nodiscard]] std::int64_t UnixSeconds() const {
    const std::chrono::year_month_day date{std::chrono::year(year_),
                                           std::chrono::month(static_cast<unsigned>(month_)),
                                           std::chrono::day(static_cast<unsigned>(day_))};
    const auto days = std::chrono::sys_days(date).time_since_epoch().count();
    return static_cast<std::int64_t>(days) * 86400 + hour_ * 3600 + minute_ * 60 + second_ -
           offset_seconds_;
  }
  [[nodiscard]] std::int32_t Nanos() const { return nanos_; }

 private:
  std::unexpected<Error> Bad(std::string_view message) const {
    return BadInput(fmt::format("parsing time {}{}", Quote(text_), message));
  }
  std::unexpected<Error> CannotParse(std::string_view rest, std::string_view element) const {
    return BadInput(fmt::format("parsing time {} as {}: cannot parse {} as {}", Quote(text_),
                                Quote(micro_ ? kRfc3339Micro : kRfc3339), Quote(rest),
                                Quote(element)));
  }

  Status Number(int& value, std::size_t digits, std::string_view element, int min, int max,
                std::string_view range_name) {
    const std::string_view before = rest_;
    if (rest_.size() < digits ||
        !std::ranges::all_of(rest_.substr(0, digits), [](char c) { return IsDigit(c); })) {
      return CannotParse(before, element);
    }
    value = 0;
    for (const char c : rest_.substr(0, digits)) value = value * 10 + (c - '0');
    rest_.remove_prefix(digits);
    if (value < min || value > max) return Bad(fmt::format(": {} out of range", range_name));
    return {};
  }

  // Go takes one digit for the hour, too.
  Status Hour() {
    const std::string_view before = rest_;
    std::size_t digits = 0;
    hour_ = 0;
    while (digits < 2 && digits < rest_.size() && IsDigit(rest_[digits])) {
      hour_ = hour_ * 10 + (rest_[digits++] - '0');
    }
    if (digits == 0) return CannotParse(before, "15");
    rest_.remove_prefix(digits);
    if (hour_ > 23) return Bad(": hour out of range");
    return {};
  }

  Status Literal(std::string_view literal) {
    if (!rest_.starts_with(literal)) return CannotParse(rest_, literal);
    rest_.remove_prefix(literal.size());
    return {};
  }

  Status Fraction() {
    const bool has = rest_.size() > 1 && (rest_[0] == '.' || rest_[0] == ',') && IsDigit(rest_[1]);
    if (micro_) {
      if (rest_.size() < 7 || rest_[0] != '.' ||
          !std::ranges::all_of(rest_.substr(1, 6), [](char c) { return IsDigit(c); })) {
        return CannotParse(rest_, ".000000");
      }
      TakeFraction(6);
      return {};
    }
    if (!has) return {};
    std::size_t digits = 1;
    while (digits + 1 < rest_.size() && IsDigit(rest_[digits + 1])) ++digits;
    TakeFraction(digits);
    return {};
  }

  void TakeFraction(std::size_t digits) {
    std::int32_t scale = 100'000'000;
    for (std::size_t i = 1; i <= digits; ++i, scale /= 10) nanos_ += (rest_[i] - '0') * scale;
    rest_.remove_prefix(digits + 1);
  }

  Status Zone() {
    const std::string_view before = rest_;
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return {};
    }
    const bool shaped = rest_.size() >= 6 && (rest_[0] == '+' || rest_[0] == '-') &&
                        IsDigit(rest_[1]) && IsDigit(rest_[2]) && rest_[3] == ':' &&
                        IsDigit(rest_[4]) && IsDigit(rest_[5]);
    if (!shaped) return CannotParse(before, "Z07:00");
    const int hours = (rest_[1] - '0') * 10 + (rest_[2] - '0');
    const int minutes = (rest_[4] - '0') * 10 + (rest_[5] - '0');
    if (hours > 24) return Bad(": time zone offset hour out of range");
    if (minutes > 60) return Bad(": time zone offset minute out of range");
    offset_seconds_ = (hours * 3600 + minutes * 60) * (rest_[0] == '-' ? -1 : 1);
    rest_.remove_prefix(6);
    return {};
  }

  [[nodiscard]] int DaysOfMonth() const {
    const std::chrono::year_month_day_last last{
        std::chrono::year(year_),
        std::chrono::month_day_last(std::chrono::month(static_cast<unsigned>(month_)))};
    return static_cast<int>(static_cast<unsigned>(last.day()));
  }

  const std::string_view text_;
  std::string_view rest_;
  const bool micro_;
  int year_ = 0;
  int month_ = 1;
  int day_ = 1;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  std::int32_t nanos_ = 0;
  int offset_seconds_ = 0;
};

std::string FormatSeconds(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::unexpected<Error> IllegalBase64(std::size_t at) {
  return BadInput(fmt::format("illegal base64 data at input byte {}", at));
}

}  // namespace

std::string TimeFromUnix(std::int64_t seconds) {
  return seconds == kZeroTime ? std::string() : FormatSeconds(seconds) + "Z";
}

std::string MicroTimeFromUnix(std::int64_t seconds, std::int32_t nanos) {
  if (seconds == kZeroTime && nanos == 0) return {};
  return fmt::format("{}.{:06}Z", FormatSeconds(seconds), nanos / 1000);
}

Result<std::string> CanonicalTime(std::string_view text) {
  TimeParser parser(text, false);
  DRA_TRY(parser.Run());
  return TimeFromUnix(parser.UnixSeconds());
}

Result<std::string> CanonicalMicroTime(std::string_view text) {
  TimeParser parser(text, true);
  DRA_TRY(parser.Run());
  return MicroTimeFromUnix(parser.UnixSeconds(), parser.Nanos());
}

Result<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int count = 0;
  std::size_t at = 0;
  const auto skip_breaks = [&] {
    while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
  };
  for (skip_breaks(); at < text.size(); skip_breaks()) {
    const char c = text[at];
    if (c == '=') {
      // Padding: "==" after two characters, "=" after three, then nothing.
      if (count < 2) return IllegalBase64(at);
      if (count == 2) {
        ++at;
        skip_breaks();
        if (at == text.size()) return IllegalBase64(text.size());
        if (text[at] != '=') return IllegalBase64(at);
      }
      ++at;
      skip_breaks();
      if (at < text.size()) return IllegalBase64(at);
      bytes += static_cast<char>(group >> (count == 2 ? 4 : 10));
      if (count == 3) bytes += static_cast<char>(group >> 2);
      return bytes;
    }
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return IllegalBase64(at);
    group = group << 6 | static_cast<std::uint32_t>(digit);
    ++at;
    if (++count == 4) {
      bytes += static_cast<char>(group >> 16);
      bytes += static_cast<char>(group >> 8);
      bytes += static_cast<char>(group);
      group = 0;
      count = 0;
    }
  }
  if (count != 0) return IllegalBase64(text.size() - static_cast<std::size_t>(count));
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kBase64[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace drachma::api
