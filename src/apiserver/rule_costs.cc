#include "apiserver/rule_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "apiserver/cel_objects.h"
#include "cel/check/cost.h"
#include "cel/ext/costs.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// Sizes of JSON texts and of requests, in bytes.
constexpr std::int64_t kRequestMax = std::int64_t{3} * 1024 * 1024;
constexpr std::int64_t kTextMax = kRequestMax - 2;  // without its quotation marks
constexpr std::int64_t kTimeTextMax = 32;
constexpr std::int64_t kDateText = 12;
constexpr std::int64_t kBytesPerCharacter = 4;

bool IsIntOrString(const Value& schema) { return schema["x-kubernetes-int-or-string"].AsBool(); }
bool IsMap(const Value& schema) { return schema["additionalProperties"].IsObject(); }

std::int64_t NotNegative(const Value& number) { return std::max<std::int64_t>(0, number.AsInt()); }

// Whether expressions see values of the schema.
bool IsVisible(const Value& schema) {
  static constexpr std::string_view kScalars[] = {"string", "boolean", "number", "integer"};
  const std::string_view type = schema["type"].AsString();
  if (!schema.IsObject()) return false;
  if (IsIntOrString(schema)) return true;
  if (type == "array") return IsVisible(schema["items"]);
  if (type == "object") return !IsMap(schema) || IsVisible(schema["additionalProperties"]);
  return std::ranges::find(kScalars, type) != std::end(kScalars);
}

struct FormatSizes {
  std::string_view format;
  std::int64_t min;  // of the JSON text
  std::int64_t max;  // of the value
};
constexpr FormatSizes kFormats[] = {
    {"duration", 3, kTimeTextMax},
    {"date", kDateText, kDateText},
    {"date-time", 21, kTimeTextMax},
};

const FormatSizes* FormatOf(const Value& schema) {
  const auto* const found =
      std::ranges::find(kFormats, schema["format"].AsString(), &FormatSizes::format);
  return found == std::end(kFormats) ? nullptr : found;
}

// The bytes of the smallest JSON text of a value.
std::int64_t MinBytes(const Value& schema) {
  const std::string_view type = schema["type"].AsString();
  if (IsIntOrString(schema) || type == "number" || type == "integer") return 1;
  if (type == "boolean") return 4;
  if (type == "string") {
    const FormatSizes* format = FormatOf(schema);
    return format == nullptr ? 2 : format->min;
  }
  if (type != "object" || IsMap(schema)) return 2;
  std::int64_t bytes = 2;
  for (const Value& name : schema["required"].Items()) {
    const Value& property = schema["properties"][name.AsString()];
    if (!IsVisible(property) || property.Has("default")) continue;
    bytes += static_cast<std::int64_t>(name.AsString().size()) + MinBytes(property) + 4;
  }
  return bytes;
}

std::int64_t LongestOf(const Value& texts) {
  std::size_t longest = 0;
  for (const Value& text : texts.Items()) longest = std::max(longest, text.AsString().size());
  return static_cast<std::int64_t>(longest);
}

std::int64_t MaxText(const Value& schema) {
  if (!IsIntOrString(schema)) {
    if (const FormatSizes* format = FormatOf(schema)) return format->max;
  }
  const bool bytes = !IsIntOrString(schema) && schema["format"].AsString() == "byte";
  if (schema["maxLength"].IsNumber()) {
    return NotNegative(schema["maxLength"]) * (bytes ? 1 : kBytesPerCharacter);
  }
  const bool named = !IsIntOrString(schema) && !bytes && !schema["enum"].empty();
  return named ? LongestOf(schema["enum"]) : kTextMax;
}

// How many elements, properties or bytes a value has at most; 0 for those without a size.
std::int64_t MaxSize(const Value& schema) {
  const std::string_view type = schema["type"].AsString();
  if (IsIntOrString(schema) || type == "string") return MaxText(schema);
  if (type == "array") {
    if (schema["maxItems"].IsNumber()) return NotNegative(schema["maxItems"]);
    return (kRequestMax - 2) / (MinBytes(schema["items"]) + 1);
  }
  if (type == "object" && IsMap(schema)) {
    if (schema["maxProperties"].IsNumber()) return NotNegative(schema["maxProperties"]);
    return (kRequestMax - 2) / (MinBytes(schema["additionalProperties"]) + 6);
  }
  return 0;
}

// Sizes of what is reached from `self`.
class SchemaHints final : public cel::KubernetesCostHints {
 public:
  explicit SchemaHints(const Value& schema) : schema_(schema) {}

  [[nodiscard]] std::optional<cel::Estimate> Size(const cel::CostNode& node) const override {
    if (node.path.empty()) return std::nullopt;
    const Value* at = &schema_;
    for (std::size_t i = 1; i < node.path.size(); ++i) {
      // The names of properties have no size of their own there.
      if (node.path[i] == "@keys" && IsMap(*at)) return cel::Estimate{0, 0};
      at = Step(*at, node.path[i]);
      if (at == nullptr || !IsVisible(*at)) return std::nullopt;
    }
    return cel::Estimate{0, static_cast<std::uint64_t>(MaxSize(*at))};
  }

 private:
  static const Value* Step(const Value& schema, std::string_view name) {
    if (name == "@items" || name == "@values") {
      if (schema["type"].AsString() == "array") return &schema["items"];
      return IsMap(schema) ? &schema["additionalProperties"] : nullptr;
    }
    for (const json::Member& property : schema["properties"].Members()) {
      if (EscapedName(property.key()) == name) return &property.value;
    }
    return nullptr;
  }

  const Value& schema_;
};

std::string ExceededText(std::string_view name, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  const std::string shown = factor > 100.0 ? "more than 100x"
                            : factor < 1.5 ? fmt::format("{:f}x", factor)
                                           : fmt::format("{:.1f}x", factor);
  return fmt::format(
      "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
      "maxProperties, and maxLength where arrays, maps, and strings are declared)",
      name, shown);
}

}  // namespace

Cardinality CardinalityBelow(const Value& schema, Cardinality around) {
  const std::string_view type = schema["type"].AsString();
  const Value* most = type == "array"                     ? &schema["maxItems"]
                      : type == "object" && IsMap(schema) ? &schema["maxProperties"]
                                                          : nullptr;
  if (!around || most == nullptr) return around;
  if (!most->IsNumber()) return std::nullopt;
  return cel::CostMultiply(*around, static_cast<std::uint64_t>(NotNegative(*most)));
}

std::uint64_t ExpressionCost(const cel::CheckedAst& checked, const Value& schema) {
  return cel::EstimateCost(checked, SchemaHints(schema)).max;
}

std::uint64_t RuleCost(std::uint64_t cost, const Value& schema, Cardinality times) {
  const auto most = static_cast<std::uint64_t>(kRequestMax / (MinBytes(schema) + 1));
  return cel::CostMultiply(cost, times.value_or(most));
}

void RuleCosts::Add(const std::string& path, std::string_view name, std::uint64_t cost,
                    validation::ErrorList& errors) {
  constexpr std::size_t kShownMax = 4;
  constexpr std::uint64_t kShownShare = 100;  // of the limit: cheaper ones are not named
  if (limits_ == CostLimits::kEach && cost > kEachMax) {
    errors.push_back(validation::Forbidden(path, ExceededText(name, cost, kEachMax)));
  }
  total_ = cel::CostAdd(total_, cost);
  if (cost < kTotalMax / kShownShare) return;
  most_expensive_.push_back({.path = path, .cost = cost});
  std::ranges::stable_sort(most_expensive_, std::greater(), &Expensive::cost);
  if (most_expensive_.size() > kShownMax) most_expensive_.pop_back();
}

validation::ErrorList RuleCosts::TotalFaults(const std::string& path) const {
  if (total_ <= kTotalMax) return {};
  validation::ErrorList errors;
  for (const Expensive& rule : most_expensive_) {
    errors.push_back(validation::Forbidden(
        rule.path,
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
        "schema"));
  }
  errors.push_back(validation::Forbidden(
      path, ExceededText("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
                         "schema",
                         total_, kTotalMax)));
  return errors;
}

}  // namespace drachma::apiserver
