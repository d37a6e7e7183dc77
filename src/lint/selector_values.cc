#include "lint/selector_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "gpu/catalogue.h"

namespace drachma::lint {
namespace {

constexpr std::string_view kProduct = "productName";
// What NVML's names of products begin with.
constexpr std::array<std::string_view, 4> kMakes = {"NVIDIA ", "Tesla ", "Quadro ", "GeForce "};

// A value behind an attribute, with what asks about it.
struct Asked {
  std::string op;     // "==", "!=", "in", "contains", "startsWith", "endsWith"
  std::string value;  // without quotes
  bool quoted = false;
  std::size_t offset = 0;
  std::size_t length = 0;
};

std::size_t OffsetIn(std::string_view rest, const re2::StringPiece& part) {
  return static_cast<std::size_t>(part.data() - rest.data());
}

std::optional<Asked> Read(std::string_view rest) {
  static const RE2 kCompared(R"re(^(\s*(==|!=)\s*('[^']*'|"[^"]*"|true\b|false\b|-?[0-9]+\b)))re");
  static const RE2 kCalled(R"re(^(\.(startsWith|endsWith|contains)\(\s*('[^']*'|"[^"]*")\s*\)))re");
  re2::StringPiece all;
  re2::StringPiece op;
  re2::StringPiece value;
  const re2::StringPiece text(rest.data(), rest.size());
  if (!RE2::PartialMatch(text, kCompared, &all, &op, &value) &&
      !RE2::PartialMatch(text, kCalled, &all, &op, &value)) {
    return std::nullopt;
  }
  Asked asked{.op = op.as_string(),
              .value = value.as_string(),
              .offset = OffsetIn(rest, value),
              .length = all.size()};
  // `== 7 + 1`, `== '7' + 'g'`: no value by itself.
  const std::size_t next = rest.find_first_not_of(" \n", asked.length);
  if (next != std::string_view::npos && std::string_view("+-*/%").contains(rest[next])) {
    return std::nullopt;
  }
  asked.quoted = asked.value[0] == '\'' || asked.value[0] == '"';
  if (asked.quoted) asked.value = asked.value.substr(1, asked.value.size() - 2);
  return asked;
}

// The values of `in ['x', 'y']`.
std::vector<Asked> ReadList(std::string_view rest) {
  static const RE2 kList(R"re(^\s+in\s*\[([^\]]*)\])re");
  static const RE2 kItem(R"re(('[^']*'|"[^"]*"))re");
  re2::StringPiece items;
  std::vector<Asked> list;
  if (!RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), kList, &items)) return list;
  re2::StringPiece item;
  while (RE2::FindAndConsume(&items, kItem, &item)) {
    list.push_back({.op = "in",
                    .value = item.as_string().substr(1, item.size() - 2),
                    .quoted = true,
                    .offset = OffsetIn(rest, item)});
  }
  return list;
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// `part` as `text` spells it, whatever the case; empty when it is not there.
std::string_view PartOf(std::string_view text, std::string_view part) {
  const auto found = std::ranges::search(text, part, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
  return {found.begin(), found.end()};
}

bool Fulfils(std::string_view product, const Asked& asked) {
  if (asked.op == "contains") return product.contains(asked.value);
  if (asked.op == "startsWith") return product.starts_with(asked.value);
  if (asked.op == "endsWith") return product.ends_with(asked.value);
  return product == asked.value;
}

// The product that `value` names in full: by its label ("NVIDIA-L4"), by its name in fleets
// ("H100-80GB") or without its make ("H200").
std::string_view ProductMeant(std::string_view value) {
  for (const gpu::Model& model : gpu::Models()) {
    const std::string folded = Folded(value);
    if (folded == Folded(model.product) || folded == Folded(model.key)) return model.product;
    for (const std::string_view make : kMakes) {
      if (model.product.starts_with(make) && folded == Folded(model.product.substr(make.size()))) {
        return model.product;
      }
    }
  }
  return {};
}

ValueFault ProductFault(const Asked& asked, std::string_view access) {
  const bool compared = asked.op == "==" || asked.op == "!=";
  ValueFault fault{.rule = "selector-value",
                   .message = fmt::format("no product name is like '{}': they are as NVML says "
                                          "them, like 'NVIDIA A100-SXM4-40GB' or 'NVIDIA L4'",
                                          asked.value),
                   .offset = asked.offset,
                   .length = asked.length};
  if (const std::string_view product = ProductMeant(asked.value); compared && !product.empty()) {
    fault.replacement = fmt::format("{} {} '{}'", access, asked.op, product);
    return fault;
  }
  for (const gpu::Model& model : gpu::Models()) {
    const std::string_view part = PartOf(model.product, asked.value);
    if (part.empty() || asked.op == "in") continue;
    fault.replacement =
        fmt::format("{}{}.contains('{}')", asked.op == "!=" ? "!" : "", access, part);
    return fault;
  }
  fault.severity = Severity::kWarning;
  return fault;
}

// The one of `values` that `value` spells differently; empty when there is none.
std::string_view Spelled(const std::vector<std::string_view>& values, std::string_view value) {
  std::string folded = Folded(value);
  if (folded.starts_with("mig") && folded.size() > 3) folded.erase(0, 3);
  const auto found = std::ranges::find(values, folded, Folded);
  return found == values.end() ? std::string_view() : *found;
}

std::optional<ValueFault> CheckText(const KnownName& known, const Asked& asked,
                                    std::string_view access) {
  if (known.values == nullptr) return std::nullopt;
  const std::vector<std::string_view> values = known.values();
  const bool there =
      std::ranges::any_of(values, [&](std::string_view value) { return Fulfils(value, asked); });
  if (there) return std::nullopt;
  if (known.name == kProduct) {
    const bool other_board = std::ranges::any_of(
        kMakes, [&](std::string_view make) { return asked.value.starts_with(make); });
    if (other_board && ProductMeant(asked.value).empty()) return std::nullopt;
    const bool part = asked.op != "==" && asked.op != "!=" && asked.op != "in";
    const bool elsewhere = std::ranges::any_of(
        values, [&](std::string_view value) { return !PartOf(value, asked.value).empty(); });
    if (part && !elsewhere) return std::nullopt;
    return ProductFault(asked, access);
  }
  if (asked.op != "==" && asked.op != "!=" && asked.op != "in") return std::nullopt;
  const std::string_view meant = Spelled(values, asked.value);
  const bool open = known.name == "profile";  // boards differ in theirs
  if (meant.empty() && open) return std::nullopt;
  ValueFault fault{.rule = "selector-value",
                   .severity = meant.empty() ? Severity::kWarning : Severity::kError,
                   .message = fmt::format("no device has the {} '{}'", known.name, asked.value),
                   .offset = asked.offset,
                   .length = asked.length};
  if (meant.empty()) fault.message += fmt::format(": it is one of {}", fmt::join(values, ", "));
  if (!meant.empty() && asked.op != "in") {
    fault.replacement = fmt::format("{} {} '{}'", access, asked.op, meant);
  }
  if (!meant.empty()) fault.message += fmt::format(": it is spelled '{}'", meant);
  return fault;
}

// A value of another type makes the comparison false on every device.
std::optional<ValueFault> CheckType(const KnownName& known, const Asked& asked,
                                    std::string_view access) {
  const bool truth = asked.value == "true" || asked.value == "false";
  const bool number = IsNumber(asked.value);
  std::string_view wanted;
  std::string right;
  if (known.type == ValueType::kText && !asked.quoted) {
    wanted = "a string";
    right = fmt::format("'{}'", asked.value);
  } else if (known.type == ValueType::kInt && (asked.quoted || truth)) {
    wanted = "an integer";
    if (number) right = asked.value;
  } else if (known.type == ValueType::kBool && (asked.quoted || !truth)) {
    wanted = "true or false";
    if (truth) right = asked.value;
  } else {
    return std::nullopt;
  }
  const char* quote = asked.quoted ? "'" : "";
  return ValueFault{
      .rule = "selector-value-type",
      .message = fmt::format("{} is {}, which never equals {}{}{}", known.name, wanted, quote,
                             asked.value, quote),
      .offset = asked.offset,
      .replacement = right.empty() ? "" : fmt::format("{} {} {}", access, asked.op, right),
      .length = asked.length};
}

}  // namespace

std::optional<ValueFault> CheckValue(const KnownName& known, std::string_view access,
                                     std::string_view rest) {
  if (const std::optional<Asked> asked = Read(rest)) {
    if (std::optional<ValueFault> fault = CheckType(known, *asked, access)) return fault;
    return known.type == ValueType::kText ? CheckText(known, *asked, access) : std::nullopt;
  }
  if (known.type != ValueType::kText) return std::nullopt;
  for (const Asked& asked : ReadList(rest)) {
    if (std::optional<ValueFault> fault = CheckText(known, asked, access)) return fault;
  }
  return std::nullopt;
}

}  // namespace drachma::lint
