#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::explain {

using json::Value;

namespace {

Value ListOf(const std::vector<std::string>& texts) {
  Value list = Value::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

void AddList(std::string_view title, const std::vector<std::string>& entries, std::string& text) {
  if (entries.empty()) return;
  text += fmt::format("\n{}:\n", title);
  // One more line would say no more than the entry itself.
  const std::size_t shown =
      entries.size() <= Explanation::kShownMax + 1 ? entries.size() : Explanation::kShownMax;
  for (std::size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", entries[i]);
  if (shown < entries.size()) text += fmt::format("  … and {} more\n", entries.size() - shown);
}

}  // namespace

Value Explanation::ToJson() const {
  Value steps_json = Value::Array();
  for (const Step& step : steps) {
    steps_json.Append(
        Value::Object({{"step", step.step}, {"count", static_cast<std::int64_t>(step.count)}}));
  }
  return Value::Object({{"cause", cause},
                        {"steps", std::move(steps_json)},
                        {"blockers", ListOf(blockers)},
                        {"devices", ListOf(devices)},
                        {"users", ListOf(users)},
                        {"preemption", preemption},
                        {"change", change},
                        {"asOf", as_of}});
}

std::string Explanation::ToText() const {
  std::string text = cause + "\n";
  std::size_t width = 0;
  for (const Step& step : steps) width = std::max(width, step.step.size());
  if (!steps.empty()) text += "\n";
  for (const Step& step : steps)
    text += fmt::format("  {:<{}}  {:>6}\n", step.step, width, step.count);
  AddList("Devices", devices, text);
  AddList("Used by", users, text);
  AddList("Blocked by", blockers, text);
  if (!preemption.empty()) text += fmt::format("\nPreemption: {}\n", preemption);
  if (!change.empty()) text += fmt::format("\nIt would go on {}.\n", change);
  if (!as_of.empty()) text += fmt::format("\nAs of resourceVersion {}.\n", as_of);
  return text;
}

}  // namespace drachma::explain
