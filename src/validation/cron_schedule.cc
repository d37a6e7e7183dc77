#include "validation/cron_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "validation/names.h"

namespace drachma::validation {
namespace {

// Whether each part of a cron schedule has a form that the parser takes: numbers, ranges, steps and
// lists within the bounds of the field, or names of months and days.
struct CronField {
  std::string_view name;
  int min;
  int max;
  std::string_view names;  // separated by spaces, the first is `min`
};
constexpr std::array<CronField, 5> kCronFields = {{
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"dom", 1, 31, ""},
    {"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
    {"dow", 0, 6, "sun mon tue wed thu fri sat"},
}};

std::optional<int> CronNumber(std::string_view text, const CronField& field, std::string& fault) {
  const auto names = Split(field.names, ' ');
  const std::string lower = AsciiLower(text);
  const auto found = std::ranges::find(names, std::string_view(lower));
  if (!field.names.empty() && found != names.end()) {
    return field.min + static_cast<int>(found - names.begin());
  }
  const bool digits = !text.empty() && text.size() < 9 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    fault = fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax",
                        text, ShownText(text));
    return std::nullopt;
  }
  return std::stoi(std::string(text));
}

std::string CronRangeFault(std::string_view text, const CronField& field) {
  const auto step_parts = Split(text, '/');
  const auto bounds = Split(step_parts[0], '-');
  if (step_parts.size() > 2) return fmt::format("too many slashes: {}", text);
  if (bounds.size() > 2) return fmt::format("too many hyphens: {}", text);
  std::string fault;
  int first = field.min;
  int last = field.max;
  if (bounds[0] != "*" && bounds[0] != "?") {
    const auto low = CronNumber(bounds[0], field, fault);
    if (!low) return fault;
    first = *low;
    last = first;
    if (bounds.size() == 2) {
      const auto high = CronNumber(bounds[1], field, fault);
      if (!high) return fault;
      last = *high;
    } else if (step_parts.size() == 2) {
      last = field.max;
    }
  }
  int step = 1;
  if (step_parts.size() == 2) {
    const auto number = CronNumber(step_parts[1], {field.name, 0, 0, ""}, fault);
    if (!number) return fault;
    step = *number;
  }
  if (first < field.min) {
    return fmt::format("beginning of range ({}) below minimum ({}): {}", first, field.min, text);
  }
  if (last > field.max) {
    return fmt::format("end of range ({}) above maximum ({}): {}", last, field.max, text);
  }
  if (first > last) {
    return fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text);
  }
  if (step == 0) return fmt::format("step of range should be a positive number: {}", text);
  return {};
}

}  // namespace

std::string CronScheduleFault(std::string_view schedule) {
  static constexpr std::array<std::string_view, 7> kDescriptors = {
      "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"};
  for (const std::string_view zone : {"TZ=", "CRON_TZ="}) {
    if (schedule.starts_with(zone)) {
      const std::size_t space = schedule.find(' ');
      schedule = space == std::string_view::npos ? "" : schedule.substr(space + 1);
    }
  }
  if (schedule.starts_with('@')) {
    if (std::ranges::find(kDescriptors, schedule) != kDescriptors.end() ||
        schedule.starts_with("@every ")) {
      return {};
    }
    return fmt::format("unrecognized descriptor: {}", schedule);
  }
  std::vector<std::string_view> fields;
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  for (std::size_t at = schedule.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(schedule.find_first_of(kSpaces, at), schedule.size());
    fields.push_back(schedule.substr(at, end - at));
    at = schedule.find_first_not_of(kSpaces, end);
  }
  if (fields.size() != kCronFields.size()) {
    return fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                       fmt::join(fields, " "));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view range : Split(fields[i], ',')) {
      if (range.empty()) continue;
      std::string fault = CronRangeFault(range, kCronFields[i]);
      if (!fault.empty()) return fault;
    }
  }
  return {};
}

bool IsTimeZone(std::string_view name) {
  static const std::filesystem::path kDatabase = "/usr/share/zoneinfo";
  if (name == "UTC") return true;
  const bool plain = !name.empty() && name.front() != '/' && !name.contains("..") &&
                     std::ranges::all_of(name, [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '/' || c == '_' || c == '-' || c == '+';
                     });
  if (!plain) return false;
  std::error_code fault;
  if (!std::filesystem::is_directory(kDatabase, fault)) return true;
  return std::filesystem::is_regular_file(kDatabase / name, fault);
}

}  // namespace drachma::validation
