#include "validation/drop_fields.h"

#include <algorithm>
#include <string>

namespace drachma::validation {
namespace {

using json::Value;

// One step of a path: a member, then how to go on from it.
struct Step {
  std::string_view name;
  enum class Into : std::uint8_t { kMember, kItems, kValues } into = Into::kMember;
  std::string_view rest;
};

Step FirstStep(std::string_view path) {
  const std::size_t dot = path.find('.');
  Step step{.name = path.substr(0, dot),
            .rest = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1)};
  if (step.name.ends_with("[]")) step.into = Step::Into::kItems;
  if (step.name.ends_with("{}")) step.into = Step::Into::kValues;
  if (step.into != Step::Into::kMember) step.name.remove_suffix(2);
  return step;
}

}  // namespace

bool InUse(const Value& object, std::string_view path) {
  const Step step = FirstStep(path);
  const Value& child = object[step.name];
  if (step.rest.empty()) return !child.IsNull() && !(child.IsArray() && child.empty());
  const auto use = [&](const Value& value) { return InUse(value, step.rest); };
  switch (step.into) {
    case Step::Into::kItems:
      return std::ranges::any_of(child.Items(), use);
    case Step::Into::kValues:
      return std::ranges::any_of(child.Members(), use, &json::Member::value);
    default:
      return use(child);
  }
}

void RemoveAt(Value& object, std::string_view path) {
  // Looking first keeps shared trees shared.
  const Step step = FirstStep(path);
  if (object[step.name].IsNull()) return;
  if (step.rest.empty()) {
    object.Erase(step.name);
    return;
  }
  if (!InUse(object, path) && !object[step.name].IsArray()) return;
  Value& child = object.Edit(step.name);
  if (step.into == Step::Into::kItems) {
    for (std::size_t i = 0; i < child.size(); ++i) RemoveAt(child.EditItem(i), step.rest);
  } else if (step.into == Step::Into::kValues) {
    std::vector<std::string> keys;
    for (const json::Member& member : child.Members()) keys.emplace_back(member.key());
    for (const std::string& key : keys) RemoveAt(child.Edit(key), step.rest);
  } else {
    RemoveAt(child, step.rest);
  }
}

void DropDisabled(const Context& context, const std::vector<GatedFields>& rows, Value& object,
                  const Value* old) {
  for (const GatedFields& row : rows) {
    const auto on = [&](std::string_view gate) { return context.Enabled(gate); };
    if (std::ranges::all_of(row.gates, on)) continue;
    const auto used = [&](std::string_view path) { return old != nullptr && InUse(*old, path); };
    if (std::ranges::any_of(row.paths, used) || std::ranges::any_of(row.also_in_use, used))
      continue;
    for (const std::string_view path : row.paths) RemoveAt(object, path);
  }
}

}  // namespace drachma::validation
