#include "selector/explain.h"

#include <algorithm>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cel/eval/format.h"
#include "selector/device_impl.h"
#include "selector/program_impl.h"

namespace drachma::selector {
namespace {

using cel::Expr;
using cel::ExprKind;
using cel::Value;

// The fewest insertions, deletions and replacements that make `b` of `a`.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// The known name most like `name`; nothing when all are too different.
std::optional<std::string> Nearest(std::string_view name, const std::set<std::string>& known) {
  constexpr std::size_t kLongestName = 128;
  if (name.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 4) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName || candidate == name) continue;
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best_distance && distance < name.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Quoted(std::string_view text) { return cel::QuoteGo(text); }

std::string Show(const Value& value) {
  switch (value.kind()) {
    case cel::ValueKind::kString:
      return Quoted(value.AsText());
    case cel::ValueKind::kOpaque:
      return value.AsOpaque().type->ToString(value.AsOpaque());
    default:
      return cel::DebugString(value);
  }
}

// device.driver, device.attributes["domain"].id and other chains of fixed names.
struct Path {
  const Expr* expr = nullptr;
  std::vector<std::string_view> names;  // after `device`
};

const Expr* StringLiteral(const Expr* expr) {
  const bool literal =
      expr->kind == ExprKind::kLiteral && expr->literal.kind == cel::LiteralKind::kString;
  return literal ? expr : nullptr;
}

std::optional<std::vector<std::string_view>> NamesOf(const Expr* expr) {
  std::vector<std::string_view> names;
  for (;;) {
    if (expr->kind == ExprKind::kIdent) {
      if (expr->name != "device") return std::nullopt;
      std::ranges::reverse(names);
      return names;
    }
    if (expr->kind == ExprKind::kSelect && !expr->test_only) {
      names.push_back(expr->name);
      expr = expr->target;
      continue;
    }
    const bool step = expr->kind == ExprKind::kCall && expr->args.size() == 2 &&
                      (expr->name == "_[_]" || expr->name == "_[?_]" || expr->name == "_?._");
    if (!step) return std::nullopt;
    const Expr* key = StringLiteral(expr->args[1]);
    if (key == nullptr) return std::nullopt;
    names.push_back(key->literal.text);
    expr = expr->args[0];
  }
}

void ForChildren(const Expr* expr, const std::function<void(const Expr*)>& visit) {
  if (expr->target != nullptr) visit(expr->target);
  for (const Expr* arg : expr->args) visit(arg);
  for (const cel::Entry& entry : expr->entries) {
    if (entry.key != nullptr) visit(entry.key);
    if (entry.value != nullptr) visit(entry.value);
  }
  if (const cel::Comprehension* fold = expr->comprehension; fold != nullptr) {
    for (const Expr* part :
         {fold->range, fold->accu_init, fold->condition, fold->step, fold->result}) {
      if (part != nullptr) visit(part);
    }
  }
}

void CollectPaths(const Expr* expr, std::vector<Path>& paths) {
  if (expr->kind == ExprKind::kSelect || expr->kind == ExprKind::kCall) {
    if (auto names = NamesOf(expr); names && !names->empty()) {
      paths.push_back({.expr = expr, .names = *std::move(names)});
      return;
    }
  }
  ForChildren(expr, [&](const Expr* child) { CollectPaths(child, paths); });
}

class Explainer {
 public:
  Explainer(const Program& program, const Device& device, std::span<const Device* const> others)
      : program_(program.impl()), device_(device.impl()), others_(others) {}

  void Run(Explanation& explanation) {
    const Expr* root = program_.checked.ast->root;
    CollectReasons(root, explanation.reasons);
    std::vector<Path> paths;
    CollectPaths(root, paths);
    for (const Path& path : paths) AddHint(path, explanation.hints);
    AddDriverHints(root, explanation.hints);
  }

 private:
  [[nodiscard]] std::string TextOf(const Expr* expr) const {
    return std::string(program_.checked.ast->TextOf(expr->id));
  }

  // What came of a part of the expression; in the arena of this object.
  Value Evaluate(const Expr* expr) {
    auto plan = cel::MakePlanFor(program_.checked, expr, PlanOptionsFor(*program_.env));
    if (!plan) return cel::MakeError(arena_, plan.error());
    const DeviceActivation activation(device_);
    cel::Frame frame{.arena = arena_, .activation = &activation, .host = &device_};
    frame.cost_limit = program_.options.cost_limit;
    const Value value = (*plan)->Eval(frame);
    plans_.push_back(*std::move(plan));  // constants of it may be part of the value
    return value;
  }

  // Goes down through && and || to the parts that are not true.
  void CollectReasons(const Expr* expr, std::vector<Reason>& reasons) {
    const bool junction = expr->kind == ExprKind::kCall && expr->args.size() == 2 &&
                          (expr->name == "_&&_" || expr->name == "_||_");
    if (junction) {
      if (Evaluate(expr).IsTrue()) return;
      for (const Expr* arg : expr->args) CollectReasons(arg, reasons);
      return;
    }
    const Value value = Evaluate(expr);
    if (value.IsTrue()) return;
    const cel::Location location = program_.checked.ast->LocationOf(expr->id);
    Reason reason{.line = location.line, .column = location.column + 1, .expression = TextOf(expr)};
    if (value.IsError()) {
      reason.text = reason.expression + ": " + std::string(value.AsText());
    } else {
      reason.text = reason.expression + " is " + Show(value) + ValuesIn(expr);
    }
    reasons.push_back(std::move(reason));
  }

  std::string ValuesIn(const Expr* expr) {
    std::vector<Path> paths;
    CollectPaths(expr, paths);
    std::string text;
    std::set<std::string> shown;
    for (const Path& path : paths) {
      if (path.expr == expr || path.names.size() == 2) continue;  // whole maps are too much to read
      const std::string source = TextOf(path.expr);
      if (source.empty() || !shown.insert(source).second) continue;
      const Value value = Evaluate(path.expr);
      text += text.empty() ? " (" : ", ";
      text +=
          source + (value.IsError() ? ": " + std::string(value.AsText()) : " is " + Show(value));
    }
    return text.empty() ? text : text + ")";
  }

  // --- Names that are not there

  static const NameTable& TableOf(const Device::Impl& device, bool attributes) {
    return attributes ? device.attributes : device.capacity;
  }
  template <typename Visit>
  void ForEntries(bool attributes, const Visit& visit) const {
    for (const auto& entry : TableOf(device_, attributes).entries()) visit(entry);
    for (const Device* other : others_) {
      for (const auto& entry : TableOf(other->impl(), attributes).entries()) visit(entry);
    }
  }

  static void Add(std::vector<std::string>& hints, std::string hint) {
    if (std::ranges::find(hints, hint) == hints.end()) hints.push_back(std::move(hint));
  }

  void AddHint(const Path& path, std::vector<std::string>& hints) const {
    if (path.names.size() < 2) return;
    const bool attributes = path.names[0] == "attributes";
    if (!attributes && path.names[0] != "capacity") return;
    const std::string_view domain = path.names[1];
    const auto& own = TableOf(device_, attributes).entries();
    const bool known = std::ranges::any_of(
        own, [&](const NameTable::Entry& entry) { return entry.domain() == domain; });
    if (path.names.size() == 2) {
      if (!known) AddDomainHint(attributes, domain, hints);
      return;
    }
    const std::string_view id = path.names[2];
    const bool there = std::ranges::any_of(own, [&](const NameTable::Entry& entry) {
      return entry.domain() == domain && entry.id() == id;
    });
    if (there) return;
    if (!known) return AddDomainHint(attributes, domain, hints);
    AddIdHint(attributes, domain, id, hints);
  }

  void AddDomainHint(bool attributes, std::string_view domain,
                     std::vector<std::string>& hints) const {
    std::set<std::string> domains;
    for (const bool table : {true, false}) {
      ForEntries(table, [&](const auto& entry) { domains.emplace(entry.domain()); });
    }
    std::string hint = "the device has no " + std::string(attributes ? "attribute" : "capacity") +
                       " under domain " + Quoted(domain);
    if (const auto nearest = Nearest(domain, domains)) {
      hint += ", did you mean " + Quoted(*nearest) + "?";
    }
    Add(hints, std::move(hint));
  }

  void AddIdHint(bool attributes, std::string_view domain, std::string_view id,
                 std::vector<std::string>& hints) const {
    const std::string name = std::string(domain) + "/" + std::string(id);
    std::string hint =
        "the device has no " + std::string(attributes ? "attribute " : "capacity ") + Quoted(name);
    if (TableOf(device_, !attributes).Find(HashName(name), name) != nullptr) {
      hint += attributes ? ", it is a capacity" : ", it is an attribute";
      return Add(hints, std::move(hint));
    }
    for (const auto& entry : TableOf(device_, attributes).entries()) {
      if (entry.id() != id) continue;
      hint += ", did you mean " + Quoted(entry.name) + "?";
      return Add(hints, std::move(hint));
    }
    std::set<std::string> ids;
    ForEntries(attributes, [&](const auto& entry) {
      if (entry.domain() == domain) ids.emplace(entry.id());
    });
    if (const auto nearest = Nearest(id, ids)) hint += ", did you mean " + Quoted(*nearest) + "?";
    Add(hints, std::move(hint));
  }

  // device.driver == "almost its name".
  void AddDriverHints(const Expr* expr, std::vector<std::string>& hints) const {
    if (expr->kind == ExprKind::kCall && expr->name == "_==_" && expr->args.size() == 2) {
      for (const int side : {0, 1}) {
        const auto names = NamesOf(expr->args[side]);
        const Expr* literal = StringLiteral(expr->args[1 - side]);
        if (literal == nullptr || !names || *names != std::vector<std::string_view>{"driver"}) {
          continue;
        }
        if (const auto nearest = Nearest(literal->literal.text, {device_.driver})) {
          Add(hints, "the device's driver is " + Quoted(*nearest) + ", not " +
                         Quoted(literal->literal.text));
        }
      }
    }
    ForChildren(expr, [&](const Expr* child) { AddDriverHints(child, hints); });
  }

  const Program::Impl& program_;
  const Device::Impl& device_;
  std::span<const Device* const> others_;
  cel::Arena arena_;
  std::vector<std::unique_ptr<cel::Plan>> plans_;
};

}  // namespace

std::string Explanation::ToString() const {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += "; ";
    text += part;
  };
  // Also where the parts do not say what is wrong with the whole: no bool, too expensive.
  const bool said = std::ranges::any_of(
      reasons, [this](const Reason& reason) { return reason.text.contains(error); });
  if (!said && !error.empty()) add(error);
  for (const Reason& reason : reasons) add(reason.text);
  for (const std::string& hint : hints) add(hint);
  return text;
}

Explanation Explain(const Program& program, const Device& device,
                    std::span<const Device* const> others) {
  const Outcome outcome = program.Match(device);
  Explanation explanation{.verdict = outcome.verdict, .error = std::string(outcome.error)};
  if (explanation.verdict != Verdict::kMatch && outcome.has_cost) {
    Explainer(program, device, others).Run(explanation);
  }
  return explanation;
}

}  // namespace drachma::selector
