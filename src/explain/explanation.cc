#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::explain {

using json::Value;

Value Explanation::ToJson() const {
  Value steps_json = Value::Array();
  for (const Step& step : steps) {
    steps_json.Append(
        Value::Object({{"step", step.step}, {"count", static_cast<std::int64_t>(step.count)}}));
  }
  Value blockers_json = Value::Array();
  for (const std::string& blocker : blockers) blockers_json.Append(blocker);
  return Value::Object({{"cause", cause},
                        {"steps", std::move(steps_json)},
                        {"blockers", std::move(blockers_json)},
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
  if (!blockers.empty()) text += "\nBlocked by:\n";
  for (const std::string& blocker : blockers) text += fmt::format("  {}\n", blocker);
  if (!preemption.empty()) text += fmt::format("\nPreemption: {}\n", preemption);
  if (!change.empty()) text += fmt::format("\nIt would go on {}.\n", change);
  if (!as_of.empty()) text += fmt::format("\nAs of resourceVersion {}.\n", as_of);
  return text;
}

}  // namespace drachma::explain
