#include "apiserver/human.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace drachma::apiserver {

std::string HumanDuration(Duration duration) {
  using std::chrono::seconds;
  const std::int64_t total = std::chrono::duration_cast<seconds>(duration).count();
  // Clocks of two machines may differ a little: up to a second ahead counts as now.
  if (total < -1) return "<invalid>";
  if (total < 0) return "0s";
  if (total < 60 * 2) return fmt::format("{}s", total);
  const std::int64_t minutes = total / 60;
  if (minutes < 10) {
    return total % 60 == 0 ? fmt::format("{}m", minutes)
                           : fmt::format("{}m{}s", minutes, total % 60);
  }
  if (minutes < 60 * 3) return fmt::format("{}m", minutes);
  const std::int64_t hours = minutes / 60;
  if (hours < 8) {
    return minutes % 60 == 0 ? fmt::format("{}h", hours)
                             : fmt::format("{}h{}m", hours, minutes % 60);
  }
  if (hours < 48) return fmt::format("{}h", hours);
  const std::int64_t days = hours / 24;
  if (hours < 24 * 8) {
    return hours % 24 == 0 ? fmt::format("{}d", days) : fmt::format("{}d{}h", days, hours % 24);
  }
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) {
    return days % 365 == 0 ? fmt::format("{}y", days / 365)
                           : fmt::format("{}y{}d", days / 365, days % 365);
  }
  return fmt::format("{}y", days / 365);
}

std::string Ages::Since(Time then) {
  using std::chrono::seconds;
  // What HumanDuration() counts in, from the age on.
  static constexpr std::pair<seconds, seconds> kSteps[] = {
      {std::chrono::days(8), std::chrono::days(1)},
      {std::chrono::hours(8), std::chrono::hours(1)},
      {std::chrono::minutes(10), std::chrono::minutes(1)},
      {seconds(0), seconds(1)},
  };
  const Duration age = now_ - then;
  Time changes = now_;
  for (const auto& [from, step] : kSteps) {
    if (age < from) continue;
    changes = then + (age / step + 1) * step;
    break;
  }
  until_ = std::min(until_, changes);
  return HumanDuration(age);
}

std::string AgeOf(const json::Value& timestamp, Ages& ages) {
  if (timestamp.AsString().empty()) return "<unknown>";
  const Result<Time> time = ParseTime(timestamp.AsString());
  return time ? ages.Since(*time) : "<unknown>";
}

namespace {

std::map<std::string_view, std::string_view> Sorted(const json::Value& labels) {
  std::map<std::string_view, std::string_view> sorted;
  for (const json::Member& member : labels.Members()) {
    sorted.emplace(member.key(), member.value.AsString());
  }
  return sorted;
}

std::string RequirementText(const json::Value& expression) {
  const std::string_view key = expression["key"].AsString();
  const std::string_view op = expression["operator"].AsString();
  if (op == "Exists") return std::string(key);
  if (op == "DoesNotExist") return fmt::format("!{}", key);
  std::vector<std::string_view> values;
  for (const json::Value& value : expression["values"].Items()) values.push_back(value.AsString());
  std::ranges::sort(values);
  return fmt::format("{} {} ({})", key, op == "In" ? "in" : "notin", fmt::join(values, ","));
}

}  // namespace

std::string FormatLabels(const json::Value& labels) {
  std::string text;
  for (const auto& [key, value] : Sorted(labels)) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  }
  return text.empty() ? "<none>" : text;
}

std::string LabelSelectorText(const json::Value& selector) {
  std::vector<std::pair<std::string_view, std::string>> requirements;
  for (const auto& [key, value] : Sorted(selector["matchLabels"])) {
    requirements.emplace_back(key, fmt::format("{}={}", key, value));
  }
  for (const json::Value& expression : selector["matchExpressions"].Items()) {
    requirements.emplace_back(expression["key"].AsString(), RequirementText(expression));
  }
  std::ranges::stable_sort(requirements, {}, [](const auto& r) { return r.first; });
  std::string text;
  for (const auto& [key, requirement] : requirements) {
    if (!text.empty()) text += ',';
    text += requirement;
  }
  return text;
}

std::string FormatLabelSelector(const json::Value& selector) {
  std::string text = LabelSelectorText(selector);
  return text.empty() ? "<none>" : text;
}

}  // namespace drachma::apiserver
