#include "lint/flow.h"

#include "json/json.h"
#include "json/yaml.h"

namespace drachma::lint {
namespace {

using json::Value;

// A text as a plain scalar; with the quotes of JSON (which YAML reads, too) where it would end the
// flow, hold a line break or be read as something else.
std::string PlainScalar(const Value& value) {
  std::string block = json::WriteYaml(value);
  while (!block.empty() && block.back() == '\n') block.pop_back();
  const bool fits = block.find_first_of(",[]{}\n") == std::string::npos &&
                    !block.starts_with('|') && !block.starts_with('>');
  return fits ? block : json::Write(value);
}

}  // namespace

std::string Comma(FlowStyle style) { return style == FlowStyle::kCompactJson ? "," : ", "; }

std::string WriteFlowMember(std::string_view key, const Value& value, FlowStyle style) {
  const Value name{key};
  return (style == FlowStyle::kPlain ? PlainScalar(name) : json::Write(name)) +
         (style == FlowStyle::kCompactJson ? ":" : ": ") + WriteFlow(value, style);
}

std::string WriteFlow(const Value& value, FlowStyle style) {
  std::string inside;
  const auto add = [&](const std::string& text) {
    if (!inside.empty()) inside += Comma(style);
    inside += text;
  };
  if (value.IsObject()) {
    for (const json::Member& member : value.Members()) {
      add(WriteFlowMember(member.key(), member.value, style));
    }
    return "{" + inside + "}";
  }
  if (value.IsArray()) {
    for (const Value& item : value.Items()) add(WriteFlow(item, style));
    return "[" + inside + "]";
  }
  return style == FlowStyle::kPlain && value.IsString() ? PlainScalar(value) : json::Write(value);
}

}  // namespace drachma::lint
