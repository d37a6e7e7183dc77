#include "cel/check/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "cel/syntax/macros.h"
#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

using Path = std::vector<std::string_view>;

constexpr double kTwoTo64 = 18446744073709551616.0;

// Sizes of the keys (or indices) and values in a list or map.
struct EntrySize {
  bool list = false;
  Estimate key;
  Estimate value;
};

std::optional<EntrySize> UnionOf(const std::optional<EntrySize>& a,
                                 const std::optional<EntrySize>& b) {
  if (!a || !b) return std::nullopt;
  return EntrySize{.list = a->list, .key = a->key.Union(b->key), .value = a->value.Union(b->value)};
}

struct LocalCost {
  std::string_view name;
  Path path;
  std::optional<Estimate> size;
  std::optional<EntrySize> entry_size;
};

bool IsScalar(const Type* type) {
  switch (type->kind) {
    case TypeKind::kBool:
    case TypeKind::kDouble:
    case TypeKind::kDuration:
    case TypeKind::kInt:
    case TypeKind::kTimestamp:
    case TypeKind::kUint:
      return true;
    default:
      return IsOptional(type) && IsScalar(type->parameters[0]);
  }
}

// The size that the expression itself shows.
std::optional<Estimate> LiteralSize(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kLiteral:
      switch (expr->literal.kind) {
        case LiteralKind::kString:
          return Estimate::Fixed(CountCodePoints(expr->literal.text));
        case LiteralKind::kBytes:
          return Estimate::Fixed(expr->literal.text.size());
        default:
          return Estimate::Fixed(1);
      }
    case ExprKind::kList:
      return Estimate::Fixed(expr->args.size());
    case ExprKind::kMap:
      return Estimate::Fixed(expr->entries.size());
    default:
      return std::nullopt;
  }
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Comparisons whose cost grows with the shorter operand.
constexpr auto kComparisons = std::to_array<std::string_view>(
    {"less_string", "greater_string", "less_equals_string", "greater_equals_string", "less_bytes",
     "greater_bytes", "less_equals_bytes", "greater_equals_bytes", "equals", "not_equals"});

class Coster {
 public:
  Coster(const CheckedAst& checked, const CostHints& hints) : checked_(checked), hints_(hints) {}

  Estimate Cost(const Expr* expr) {
    switch (expr->kind) {
      case ExprKind::kIdent:
        return IdentCost(expr);
      case ExprKind::kSelect:
        return SelectCost(expr);
      case ExprKind::kCall:
        return CallCost(expr);
      case ExprKind::kList:
        return ListLiteralCost(expr);
      case ExprKind::kMap:
        return MapLiteralCost(expr);
      case ExprKind::kStruct: {
        Estimate sum;
        for (const Entry& entry : expr->entries) sum = sum + Cost(entry.value);
        return sum + Estimate::Fixed(kStructCost);
      }
      case ExprKind::kComprehension:
        return IsBind(*expr->comprehension) ? BindCost(expr) : FoldCost(expr);
      default:
        return {};
    }
  }

 private:
  // --- Bookkeeping per node

  [[nodiscard]] const Type* TypeOf(const Expr* expr) const {
    const Type* type = checked_.TypeOf(expr);
    return type == nullptr ? &types::kDyn : type;
  }

  [[nodiscard]] const LocalCost* FindLocal(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name == name) return &*local;
    }
    return nullptr;
  }

  [[nodiscard]] Path PathOf(const Expr* expr) const {
    if (expr->kind == ExprKind::kIdent) {
      if (const LocalCost* local = FindLocal(expr->name)) return local->path;
    }
    const auto found = paths_.find(expr->id);
    return found == paths_.end() ? Path() : found->second;
  }

  [[nodiscard]] Path Extended(const Expr* expr, std::string_view step) const {
    Path path = PathOf(expr);
    path.push_back(step);
    return path;
  }

  [[nodiscard]] std::optional<Estimate> SizeOf(const Expr* expr) {
    if (const auto found = sizes_.find(expr->id); found != sizes_.end()) return found->second;
    if (const auto size = LiteralSize(expr)) return size;
    const CostNode node{
        .path = PathOf(expr), .type = TypeOf(expr), .expr = expr, .computed_size = {}};
    if (const auto size = hints_.Size(node)) {
      sizes_[expr->id] = *size;
      return size;
    }
    if (IsScalar(node.type)) return Estimate::Fixed(1);
    if (expr->kind == ExprKind::kIdent) {
      if (const LocalCost* local = FindLocal(expr->name)) return local->size;
    }
    return std::nullopt;
  }
  [[nodiscard]] Estimate SizeOrUnknown(const Expr* expr) {
    return SizeOf(expr).value_or(Estimate::Unknown());
  }
  static Estimate SizeOrUnknown(const CostNode& node) {
    return node.computed_size.value_or(Estimate::Unknown());
  }
  void SetSize(const Expr* expr, const std::optional<Estimate>& size) {
    if (size) sizes_[expr->id] = *size;
  }

  [[nodiscard]] std::optional<EntrySize> EntrySizeOf(const Expr* expr) const {
    if (const auto found = entry_sizes_.find(expr->id); found != entry_sizes_.end()) {
      return found->second;
    }
    if (expr->kind == ExprKind::kIdent) {
      if (const LocalCost* local = FindLocal(expr->name)) return local->entry_size;
    }
    return std::nullopt;
  }
  void SetEntrySize(const Expr* expr, const std::optional<EntrySize>& size) {
    if (size) entry_sizes_[expr->id] = *size;
  }

  CostNode NodeOf(const Expr* expr) {
    Path path = PathOf(expr);
    if (!path.empty() && (path[0] == kAccumulator || path[0] == kOldAccumulator)) path.clear();
    return {
        .path = std::move(path), .type = TypeOf(expr), .expr = expr, .computed_size = SizeOf(expr)};
  }

  // --- Names and selections

  Estimate IdentCost(const Expr* expr) {
    const LocalCost* local = FindLocal(expr->name);
    paths_[expr->id] = local != nullptr ? local->path : Path{expr->name};
    return Estimate::Fixed(kIdentCost);
  }

  Estimate SelectCost(const Expr* expr) {
    Estimate sum = Cost(expr->target);
    if (expr->test_only) return sum;  // Kubernetes keeps presence tests free
    switch (TypeOf(expr->target)->kind) {
      case TypeKind::kMap:
      case TypeKind::kStruct:
      case TypeKind::kTypeParam:
        sum = sum + Estimate::Fixed(kIdentCost);
        break;
      default:
        break;
    }
    paths_[expr->id] = Extended(expr->target, expr->name);
    return sum;
  }

  // --- Calls

  Estimate CallCost(const Expr* expr) {
    if (expr->name == "dyn") {
      const Expr* arg = expr->args[0];
      const Estimate cost = Cost(arg);
      SetSize(expr, SizeOf(arg));
      SetEntrySize(expr, EntrySizeOf(arg));
      return Estimate::Fixed(1) + cost;
    }
    std::vector<CostNode> args;
    std::vector<Estimate> arg_costs;
    for (const Expr* arg : expr->args) {
      arg_costs.push_back(Cost(arg));
      args.push_back(NodeOf(arg));
    }
    const std::span<const std::string_view> overloads = checked_.InfoOf(expr).overloads;
    if (overloads.empty()) return {};
    Estimate sum;
    std::optional<CostNode> target;
    if (expr->member) {
      sum = Cost(expr->target);
      target = NodeOf(expr->target);
    }
    Estimate call_cost{kCostInfinite, 0};
    std::optional<Estimate> result_size;
    for (const std::string_view overload : overloads) {
      const CallEstimate estimate =
          OverloadCost(expr, overload, target ? &*target : nullptr, args, arg_costs);
      call_cost = call_cost.Union(estimate.cost);
      if (estimate.result_size) {
        result_size =
            result_size ? result_size->Union(*estimate.result_size) : *estimate.result_size;
      }
      if (overload == "index_list" || overload == "index_map") {
        const auto entry = EntrySizeOf(expr->args[0]);
        result_size = entry ? std::optional(entry->value) : std::nullopt;
        paths_[expr->id] = Extended(expr->args[0], overload == "index_list" ? "@items" : "@values");
      }
      if (!result_size) result_size = SizeOf(expr);
    }
    SetSize(expr, result_size);
    return sum + call_cost;
  }

  CallEstimate OverloadCost(const Expr* expr, std::string_view overload, const CostNode* target,
                            std::span<const CostNode> args, std::span<const Estimate> arg_costs) {
    Estimate args_sum;
    for (const Estimate& cost : arg_costs) args_sum = args_sum + cost;
    if (auto estimate = hints_.Call(expr->name, overload, target, args)) {
      estimate->cost = estimate->cost + args_sum;
      return *estimate;
    }
    if (overload == "logical_and" || overload == "logical_or") {
      return {.cost = {arg_costs[0].min, (arg_costs[0] + arg_costs[1]).max}, .result_size = {}};
    }
    if (overload == "conditional") return ConditionalCost(expr, args, arg_costs);
    CallEstimate estimate = StandardCost(expr, overload, target, args);
    estimate.cost = estimate.cost + args_sum;
    return estimate;
  }

  CallEstimate ConditionalCost(const Expr* expr, std::span<const CostNode> args,
                               std::span<const Estimate> arg_costs) {
    SetEntrySize(expr, UnionOf(EntrySizeOf(args[1].expr), EntrySizeOf(args[2].expr)));
    return {.cost = arg_costs[0] + arg_costs[1].Union(arg_costs[2]),
            .result_size = SizeOrUnknown(args[1]).Union(SizeOrUnknown(args[2]))};
  }

  // The standard's rules; the arguments' own costs come on top.
  CallEstimate StandardCost(const Expr* expr, std::string_view overload, const CostNode* target,
                            std::span<const CostNode> args) {
    const auto traversal = [](const CostNode& node) {
      return SizeOrUnknown(node).Scale(kStringFactor);
    };
    if (overload == "string_format" && target != nullptr) {
      return {.cost = traversal(*target), .result_size = {}};
    }
    if (overload == "string_to_bytes" && args.size() == 1) {
      const Estimate size = SizeOrUnknown(args[0]);
      return {.cost = traversal(args[0]), .result_size = Estimate{size.min, size.max * 4}};
    }
    if (overload == "bytes_to_string" && args.size() == 1) {
      const Estimate size = SizeOrUnknown(args[0]);
      return {.cost = traversal(args[0]), .result_size = Estimate{size.min / 4, size.max}};
    }
    if (overload == "strings_quote" && args.size() == 1) {
      const Estimate size = SizeOrUnknown(args[0]);
      return {.cost = traversal(args[0]), .result_size = Estimate{size.min + 2, size.max * 2 + 2}};
    }
    if ((overload == "starts_with_string" || overload == "ends_with_string") && args.size() == 1) {
      return {.cost = traversal(args[0]), .result_size = {}};
    }
    if (overload == "in_list" && args.size() == 2) {
      return {.cost = SizeOrUnknown(args[1]).Scale(1), .result_size = {}};
    }
    if (overload == "matches_string" && target != nullptr && args.size() == 1) {
      return {.cost = MatchCost(*target, args[0]), .result_size = {}};
    }
    if (overload == "matches" && target == nullptr && args.size() == 2) {
      return {.cost = MatchCost(args[0], args[1]), .result_size = {}};
    }
    if (overload == "contains_string" && target != nullptr && args.size() == 1) {
      return {.cost = traversal(*target) * traversal(args[0]), .result_size = {}};
    }
    if (overload == "add_string" || overload == "add_bytes" || overload == "add_list") {
      const Estimate size = SizeOrUnknown(args[0]) + SizeOrUnknown(args[1]);
      SetEntrySize(expr, UnionOf(EntrySizeOf(args[0].expr), EntrySizeOf(args[1].expr)));
      const bool list = overload == "add_list";
      return {.cost = list ? Estimate::Fixed(1) : size.Scale(kStringFactor), .result_size = size};
    }
    if (Contains(kComparisons, overload)) {
      const std::uint64_t max = std::min(SizeOrUnknown(args[0]).max, SizeOrUnknown(args[1]).max);
      return {.cost = Estimate{max > 0 ? 1u : 0u, max}.Scale(kStringFactor), .result_size = {}};
    }
    return {.cost = Estimate::Fixed(1), .result_size = {}};
  }

  static Estimate MatchCost(const CostNode& text, const CostNode& pattern) {
    // One more character, since an empty text does not make a pattern free.
    const Estimate text_cost = (SizeOrUnknown(text) + Estimate::Fixed(1)).Scale(kStringFactor);
    return text_cost * SizeOrUnknown(pattern).Scale(kRegexFactor);
  }

  // --- Lists, maps and folds

  Estimate ListLiteralCost(const Expr* expr) {
    Estimate sum;
    Estimate item{expr->args.empty() ? 0 : kCostInfinite, 0};
    for (const Expr* element : expr->args) {
      sum = sum + Cost(element);
      item = item.Union(SizeOrUnknown(element));
    }
    SetEntrySize(expr, EntrySize{.list = true, .key = Estimate::Fixed(1), .value = item});
    return sum + Estimate::Fixed(kListCost);
  }

  Estimate MapLiteralCost(const Expr* expr) {
    Estimate sum;
    Estimate key{expr->entries.empty() ? 0 : kCostInfinite, 0};
    Estimate value = key;
    for (const Entry& entry : expr->entries) {
      sum = sum + Cost(entry.key);
      sum = sum + Cost(entry.value);
      key = key.Union(SizeOrUnknown(entry.key));
      value = value.Union(SizeOrUnknown(entry.value));
    }
    SetEntrySize(expr, EntrySize{.list = false, .key = key, .value = value});
    return sum + Estimate::Fixed(kMapCost);
  }

  static bool IsBind(const Comprehension& fold) {
    return fold.range->kind == ExprKind::kList && fold.range->args.empty() &&
           fold.condition->kind == ExprKind::kLiteral &&
           fold.condition->literal.kind == LiteralKind::kBool && !fold.condition->literal.boolean &&
           fold.accu_var != kOldAccumulator;
  }

  void PushAccu(const Comprehension& fold) {
    locals_.push_back({.name = fold.accu_var,
                       .path = PathOf(fold.accu_init),
                       .size = SizeOf(fold.accu_init),
                       .entry_size = EntrySizeOf(fold.accu_init)});
  }

  Estimate BindCost(const Expr* expr) {
    const Comprehension& fold = *expr->comprehension;
    Estimate sum = Cost(fold.range);
    sum = sum + Cost(fold.accu_init);
    PushAccu(fold);
    sum = sum + Cost(fold.result);
    locals_.pop_back();
    SetSize(expr, SizeOf(fold.result));
    SetEntrySize(expr, EntrySizeOf(fold.result));
    return sum;
  }

  enum class IterPart : std::uint8_t { kKey, kValue };

  void PushIter(std::string_view name, const Expr* range, IterPart part, std::string_view step) {
    const auto entry = EntrySizeOf(range);
    std::optional<Estimate> size;
    if (entry) size = part == IterPart::kKey ? entry->key : entry->value;
    locals_.push_back(
        {.name = name, .path = Extended(range, step), .size = size, .entry_size = {}});
  }

  void PushIters(const Comprehension& fold) {
    const auto entry = EntrySizeOf(fold.range);
    const bool list = entry ? entry->list : TypeOf(fold.range)->kind == TypeKind::kList;
    if (fold.iter_var2.empty()) {
      PushIter(fold.iter_var, fold.range, list ? IterPart::kValue : IterPart::kKey,
               list ? "@items" : "@keys");
      return;
    }
    PushIter(fold.iter_var, fold.range, IterPart::kKey, list ? "@indices" : "@keys");
    PushIter(fold.iter_var2, fold.range, IterPart::kValue, list ? "@items" : "@values");
  }

  Estimate FoldCost(const Expr* expr) {
    const Comprehension& fold = *expr->comprehension;
    Estimate sum = Cost(fold.range);
    sum = sum + Cost(fold.accu_init);
    PushAccu(fold);
    PushIters(fold);
    const Estimate condition = Cost(fold.condition);
    const Estimate step = Cost(fold.step);
    locals_.resize(locals_.size() - (fold.iter_var2.empty() ? 1 : 2));
    sum = sum + Cost(fold.result);
    locals_.pop_back();
    const Estimate count = SizeOrUnknown(fold.range);
    sum = sum + count * (step + condition);
    switch (fold.accu_init->kind) {
      case ExprKind::kLiteral:
        SetSize(expr, SizeOf(fold.accu_init));
        break;
      case ExprKind::kList:
      case ExprKind::kMap:
        SetSize(expr, count);
        SetEntrySize(expr, EntrySizeOf(fold.step));
        break;
      default:
        break;
    }
    return sum;
  }

  const CheckedAst& checked_;
  const CostHints& hints_;
  std::unordered_map<std::int32_t, Path> paths_;
  std::unordered_map<std::int32_t, Estimate> sizes_;
  std::unordered_map<std::int32_t, EntrySize> entry_sizes_;
  std::vector<LocalCost> locals_;
};

}  // namespace

std::uint64_t CostAdd(std::uint64_t a, std::uint64_t b) {
  return b > kCostInfinite - a ? kCostInfinite : a + b;
}
std::uint64_t CostMultiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kCostInfinite / b ? kCostInfinite : a * b;
}
std::uint64_t CostScale(std::uint64_t a, double factor) {
  const double value = static_cast<double>(a);
  if (value > 0 && factor > 0 && value > kTwoTo64 / factor) return kCostInfinite;
  const double scaled = std::ceil(value * factor);
  return scaled >= kTwoTo64 ? kCostInfinite : static_cast<std::uint64_t>(scaled);
}

Estimate CostHints::SizeOf(const CostNode& node) const {
  if (node.computed_size) return *node.computed_size;
  return Size(node).value_or(Estimate::Unknown());
}

Estimate EstimateCost(const CheckedAst& checked, const CostHints& hints) {
  return Coster(checked, hints).Cost(checked.ast->root);
}

}  // namespace drachma::cel
