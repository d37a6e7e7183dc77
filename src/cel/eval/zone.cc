#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cel/eval/format.h"

namespace drachma::cel {
namespace {

constexpr const char* kZoneFolder = "/usr/share/zoneinfo/";
constexpr std::size_t kZoneBytesMax = 1 << 20;

// The rule of a POSIX TZ string for one half of the year: "M3.2.0/2".
struct Rule {
  int month = 0;  // 0: a day of the year in `day`
  int week = 0;
  int day = 0;
  bool julian_without_leap = false;
  int seconds = 7200;
};

// What a zone does after the last transition in its file.
struct Tail {
  int standard = 0;  // seconds east
  bool has_summer = false;
  int summer = 0;
  Rule begin;
  Rule end;
};

// A time zone file (RFC 8536): the moments at which the offset changes.
struct Zone {
  std::vector<std::int64_t> moments;
  std::vector<int> offsets;  // after the moment of the same number
  int first_offset = 0;
  Tail tail;
  bool has_tail = false;
};

// Reads the text behind the data: "CET-1CEST,M3.5.0,M10.5.0/3".
class TailReader {
 public:
  explicit TailReader(std::string_view text) : text_(text) {}

  bool Read(Tail& tail) {
    if (!Name() || !Offset(tail.standard)) return false;
    if (text_.empty()) return true;
    tail.has_summer = true;
    if (!Name()) return false;
    tail.summer = tail.standard + 3600;
    if (!text_.empty() && text_.front() != ',' && !Offset(tail.summer)) return false;
    return ReadRule(tail.begin) && ReadRule(tail.end);
  }

 private:
  bool Accept(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool Name() {
    if (Accept('<')) {
      const std::size_t end = text_.find('>');
      if (end == std::string_view::npos) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    std::size_t end = 0;
    while (end < text_.size() && std::isalpha(static_cast<unsigned char>(text_[end])) != 0) ++end;
    text_.remove_prefix(end);
    return end > 0;
  }
  bool Number(int& value) {
    const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) return false;
    text_.remove_prefix(parsed.ptr - text_.data());
    return true;
  }
  bool Clock(int& seconds) {
    const bool negative = Accept('-');
    if (!negative) Accept('+');
    int hours = 0;
    int minutes = 0;
    int rest = 0;
    if (!Number(hours)) return false;
    if (Accept(':') && !Number(minutes)) return false;
    if (Accept(':') && !Number(rest)) return false;
    seconds = hours * 3600 + minutes * 60 + rest;
    if (negative) seconds = -seconds;
    return true;
  }
  // POSIX counts west of Greenwich.
  bool Offset(int& east) {
    if (!Clock(east)) return false;
    east = -east;
    return true;
  }
  bool ReadRule(Rule& rule) {
    if (!Accept(',')) return false;
    if (Accept('M')) {
      if (!Number(rule.month) || !Accept('.') || !Number(rule.week) || !Accept('.') ||
          !Number(rule.day)) {
        return false;
      }
    } else {
      rule.julian_without_leap = Accept('J');
      if (!Number(rule.day)) return false;
    }
    return !Accept('/') || Clock(rule.seconds);
  }

  std::string_view text_;
};

class BigEndian {
 public:
  explicit BigEndian(std::string_view data) : data_(data) {}
  [[nodiscard]] bool Has(std::size_t bytes) const { return data_.size() >= bytes; }
  std::int64_t Take(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(data_[i]);
    data_.remove_prefix(bytes);
    const int unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  void Skip(std::size_t bytes) { data_.remove_prefix(std::min(bytes, data_.size())); }
  [[nodiscard]] std::string_view rest() const { return data_; }

 private:
  std::string_view data_;
};

struct Counts {
  std::size_t utc = 0, wall = 0, leap = 0, times = 0, types = 0, chars = 0;
  [[nodiscard]] std::size_t DataBytes(std::size_t time_bytes) const {
    return times * time_bytes + times + types * 6 + chars + leap * (time_bytes + 4) + wall + utc;
  }
};

constexpr std::size_t kHeaderBytes = 44;

bool ReadHeader(BigEndian& in, Counts& counts) {
  if (!in.Has(kHeaderBytes) || !in.rest().starts_with("TZif")) return false;
  in.Skip(20);
  for (std::size_t* count :
       {&counts.utc, &counts.wall, &counts.leap, &counts.times, &counts.types, &counts.chars}) {
    *count = static_cast<std::size_t>(in.Take(4));
  }
  return true;
}

std::unique_ptr<Zone> ParseZone(std::string_view data) {
  BigEndian in(data);
  Counts counts;
  if (!ReadHeader(in, counts)) return nullptr;
  in.Skip(counts.DataBytes(4));
  if (!ReadHeader(in, counts) || counts.types == 0 || !in.Has(counts.DataBytes(8))) return nullptr;
  auto zone = std::make_unique<Zone>();
  for (std::size_t i = 0; i < counts.times; ++i) zone->moments.push_back(in.Take(8));
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < counts.times; ++i) {
    kinds.push_back(static_cast<std::size_t>(in.Take(1)) & 0xFF);
  }
  std::vector<int> offsets;
  for (std::size_t i = 0; i < counts.types; ++i) {
    offsets.push_back(static_cast<int>(in.Take(4)));
    in.Skip(2);
  }
  for (const std::size_t kind : kinds) {
    if (kind >= offsets.size()) return nullptr;
    zone->offsets.push_back(offsets[kind]);
  }
  zone->first_offset = offsets.front();
  in.Skip(counts.chars + counts.leap * 12 + counts.wall + counts.utc);
  std::string_view footer = in.rest();
  if (footer.starts_with('\n')) {
    footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    zone->has_tail = !footer.empty() && TailReader(footer).Read(zone->tail);
  }
  return zone;
}

// The second of `year` at which a rule takes effect, in the clock before it.
std::int64_t RuleSeconds(const Rule& rule, std::int64_t year) {
  std::int64_t days = 0;
  if (rule.month == 0) {
    const bool leap = DaysFromCivil(year + 1, 1, 1) - DaysFromCivil(year, 1, 1) == 366;
    const int day =
        rule.julian_without_leap ? rule.day - 1 + (leap && rule.day >= 60 ? 1 : 0) : rule.day;
    days = DaysFromCivil(year, 1, 1) + day;
  } else {
    const std::int64_t first = DaysFromCivil(year, rule.month, 1);
    const int weekday = static_cast<int>((first % 7 + 11) % 7);
    std::int64_t day = (rule.day - weekday + 7) % 7 + (rule.week - 1) * 7;
    const std::int64_t next =
        rule.month == 12 ? DaysFromCivil(year + 1, 1, 1) : DaysFromCivil(year, rule.month + 1, 1);
    while (first + day >= next) day -= 7;
    days = first + day;
  }
  return days * 86400 + rule.seconds;
}

int TailOffset(const Tail& tail, std::int64_t seconds) {
  if (!tail.has_summer) return tail.standard;
  const std::int64_t year = ToCivil(seconds + tail.standard).year;
  const std::int64_t begin = RuleSeconds(tail.begin, year) - tail.standard;
  const std::int64_t end = RuleSeconds(tail.end, year) - tail.summer;
  const bool summer =
      begin < end ? seconds >= begin && seconds < end : seconds >= begin || seconds < end;
  return summer ? tail.summer : tail.standard;
}

int OffsetIn(const Zone& zone, std::int64_t seconds) {
  if (zone.moments.empty() || seconds < zone.moments.front()) {
    return zone.moments.empty() && zone.has_tail ? TailOffset(zone.tail, seconds)
                                                 : zone.first_offset;
  }
  if (seconds >= zone.moments.back() && zone.has_tail) return TailOffset(zone.tail, seconds);
  const auto next = std::upper_bound(zone.moments.begin(), zone.moments.end(), seconds);
  return zone.offsets[next - zone.moments.begin() - 1];
}

// A zone by name, read once; null when there is none.
const Zone* FindZone(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Zone>> zones;
  const std::lock_guard lock(mutex);
  const auto known = zones.find(name);
  if (known != zones.end()) return known->second.get();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(kZoneFolder + name, ignored)) return nullptr;
  std::ifstream file(kZoneFolder + name, std::ios::binary);
  std::string data;
  if (file) data.assign(std::istreambuf_iterator<char>(file), {});
  std::unique_ptr<Zone> zone =
      data.size() <= kZoneBytesMax ? ParseZone(data) : std::unique_ptr<Zone>();
  if (zone == nullptr) return nullptr;
  return (zones[name] = std::move(zone)).get();
}

// In the words of Go's time.LoadLocation, which passes on what opening the file gave.
std::string WhyNoZone(std::string_view name) {
  if (name.contains('\0')) return "invalid argument";
  std::error_code problem;
  if (std::filesystem::is_directory(kZoneFolder + std::string(name), problem)) {
    return "is a directory";
  }
  if (problem == std::errc::filename_too_long) return "file name too long";
  if (problem == std::errc::not_a_directory) return "not a directory";
  return "unknown time zone " + std::string(name);
}

std::optional<std::int64_t> Atoi(std::string_view text, std::string* error) {
  const std::optional<std::int64_t> value = ParseInt(text);
  if (!value) *error = "strconv.Atoi: parsing " + QuoteGo(text) + ": invalid syntax";
  return value;
}

}  // namespace

std::optional<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds,
                                       std::string* error) {
  if (zone == "UTC" || zone.empty() || zone == "Local") return 0;
  const std::size_t colon = zone.find(':');
  if (colon != std::string_view::npos) {
    const auto hours = Atoi(zone.substr(0, colon), error);
    if (!hours) return std::nullopt;
    const auto minutes = Atoi(zone.substr(colon + 1), error);
    if (!minutes) return std::nullopt;
    const std::int64_t total =
        zone.starts_with('-') ? *hours * 60 - *minutes : *hours * 60 + *minutes;
    return total * 60;
  }
  if (zone.contains("..") || zone.front() == '/' || zone.front() == '\\') {
    *error = "time: invalid location name";
    return std::nullopt;
  }
  const Zone* found = FindZone(std::string(zone));
  if (found == nullptr) {
    *error = WhyNoZone(zone);
    return std::nullopt;
  }
  return OffsetIn(*found, seconds);
}

}  // namespace drachma::cel
