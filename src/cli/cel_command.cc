#include "cli/cel_command.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "selector/device.h"
#include "selector/explain.h"

namespace drachma::cli {
namespace {

using selector::Verdict;

struct Candidate {
  std::string name;  // driver/pool/device
  selector::Device device;
};

struct Row {
  std::string device;
  std::string result;
  std::string cost;
  std::string why;
};

std::vector<Candidate> DevicesOf(std::span<const json::Value> slices, std::ostream& err) {
  std::vector<Candidate> candidates;
  for (const json::Value& slice : slices) {
    const json::Value& spec = slice["spec"];
    const std::string_view driver = spec["driver"].AsString();
    for (const json::Value& item : spec["devices"].Items()) {
      std::string name = std::string(driver) + "/" +
                         std::string(spec.At({"pool", "name"}).AsString()) + "/" +
                         std::string(item["name"].AsString());
      auto device = selector::Device::FromJson(driver, item);
      if (!device) {
        err << name << ": " << device.error().message << '\n';
        continue;
      }
      candidates.push_back({.name = std::move(name), .device = *std::move(device)});
    }
  }
  return candidates;
}

// What is usually meant by an expression that does not compile.
struct CompileHint {
  std::string_view expression;  // is part of the expression
  std::string_view message;     // is part of the message
  std::string_view hint;
};
constexpr auto kCompileHints = std::to_array<CompileHint>({
    {"", "(kubernetes.Quantity, kubernetes.Quantity)",
     "quantities are compared with a.isGreaterThan(b), a.isLessThan(b) or a.compareTo(b) >= 0"},
    {"", "(kubernetes.Quantity, string)", "write quantity(\"10Gi\") for a quantity"},
    {"", "(kubernetes.Quantity, int)", "write quantity(\"10\") for a quantity"},
    {"", "applied to '(map(string, ",
     "names stand under a domain: device.attributes[\"domain\"].name, "
     "device.capacity[\"domain\"].name"},
    {" = ", "token recognition error at: '= '", "values are compared with =="},
    {" and ", "input 'and'", "parts are joined with &&"},
    {" or ", "input 'or'", "parts are joined with ||"},
    {"not ", "extraneous input", "a part is negated with !"},
    {"[", "undeclared reference to",
     "names of domains stand in quotes: device.attributes[\"a.example.com\"]"},
    {"", "undefined field",
     "a device has driver, attributes, capacity and allowMultipleAllocations"},
});

void WriteCompileError(const std::string& expression, const std::string& message,
                       std::ostream& err) {
  err << message << '\n';
  for (const CompileHint& hint : kCompileHints) {
    if (!expression.contains(hint.expression) || !message.contains(hint.message)) continue;
    err << "hint: " << hint.hint << '\n';
    return;
  }
}

std::string_view ResultName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatch:
      return "match";
    case Verdict::kNoMatch:
      return "no match";
    case Verdict::kError:
      break;
  }
  return "error";
}

void WriteTable(const std::vector<Row>& rows, std::ostream& out) {
  std::array<std::size_t, 3> widths{};
  for (const Row& row : rows) {
    widths[0] = std::max(widths[0], row.device.size());
    widths[1] = std::max(widths[1], row.result.size());
    widths[2] = std::max(widths[2], row.cost.size());
  }
  for (const Row& row : rows) {
    const auto cell = [&](const std::string& text, std::size_t width) {
      return text + std::string(width - text.size() + 3, ' ');
    };
    std::string line = cell(row.device, widths[0]) + cell(row.result, widths[1]) +
                       cell(row.cost, widths[2]) + row.why;
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

json::Value ToJson(const Candidate& candidate, const selector::Outcome& outcome,
                   const selector::Explanation& why) {
  json::Value entry =
      json::Value::Object({{"device", candidate.name}, {"result", ResultName(outcome.verdict)}});
  if (outcome.has_cost) entry.Set("cost", static_cast<std::int64_t>(outcome.cost));
  if (!outcome.error.empty()) entry.Set("error", outcome.error.view());
  for (const selector::Reason& reason : why.reasons) {
    entry.Edit("reasons").Append(json::Value::Object({{"line", reason.line},
                                                      {"column", reason.column},
                                                      {"expression", reason.expression},
                                                      {"text", reason.text}}));
  }
  for (const std::string& hint : why.hints) entry.Edit("hints").Append(hint);
  return entry;
}

}  // namespace

int RunCel(const CelOptions& options, std::span<const json::Value> slices, std::ostream& out,
           std::ostream& err) {
  const bool is_new = options.compile.environment == selector::Environment::kNew;
  if (is_new && options.expression.size() > selector::kExpressionBytesMax) {
    err << "the expression has " << options.expression.size() << " bytes, more than the "
        << selector::kExpressionBytesMax << " that an object may have\n";
    return 1;
  }
  const auto program = selector::Compile(options.expression, options.compile);
  if (!program) {
    WriteCompileError(options.expression, program.error().message, err);
    return 1;
  }
  const std::vector<Candidate> candidates = DevicesOf(slices, err);
  std::vector<const selector::Device*> devices;
  for (const Candidate& candidate : candidates) devices.push_back(&candidate.device);

  std::vector<Row> rows = {{"DEVICE", "RESULT", "COST", "WHY"}};
  json::Value items = json::Value::Array();
  bool any_matches = false;
  for (const Candidate& candidate : candidates) {
    const selector::Outcome outcome = program->Match(candidate.device);
    any_matches = any_matches || outcome.verdict == Verdict::kMatch;
    const selector::Explanation why = selector::Explain(*program, candidate.device, devices);
    if (options.json) {
      items.Append(ToJson(candidate, outcome, why));
    } else {
      rows.push_back({candidate.name, std::string(ResultName(outcome.verdict)),
                      outcome.has_cost ? std::to_string(outcome.cost) : "", why.ToString()});
    }
  }
  const bool too_expensive = is_new && program->max_cost() > selector::kCostMax;
  if (options.json) {
    json::Value answer = json::Value::Object({{"expression", options.expression},
                                              {"type", program->output_type()},
                                              {"tooExpensive", too_expensive}});
    if (program->max_cost() != selector::kCostUnknown) {
      const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      answer.Set("maxCost", static_cast<std::int64_t>(std::min(program->max_cost(), most)));
    }
    answer.Set("devices", std::move(items));
    out << json::WritePretty(answer) << '\n';
  } else {
    WriteTable(rows, out);
  }
  if (too_expensive) {
    err << "too complex, exceeds cost limit: at worst the expression costs " << program->max_cost()
        << ", the limit is " << selector::kCostMax << '\n';
  }
  return any_matches && !too_expensive ? 0 : 1;
}

}  // namespace drachma::cli
