#include "lint/selector_form.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "lint/known_names.h"
#include "lint/selector_values.h"

namespace drachma::lint {
namespace {

// Suffixes that named the type of a value in old forms.
constexpr std::array<std::string_view, 7> kTypeSuffixes = {"string",   "int",   "bool",  "version",
                                                           "quantity", "value", "double"};
constexpr std::array<std::string_view, 6> kOperators = {">=", "<=", "==", "!=", ">", "<"};

bool IsIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Memory of 80 means 80Gi: no GPU has so few bytes.
bool MeansGibibytes(std::string_view literal) {
  constexpr std::size_t kDigitsMax = 4;
  return !literal.empty() && literal.size() <= kDigitsMax &&
         std::ranges::all_of(literal, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// `device.attributes[…].…` as it stands in an expression: [begin, end) and the names behind it.
struct Access {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool capacity = false;
  std::vector<std::string> names;
};

// Reads `['x']`, `["x"]` or `.x` (unless a call) at `at`; moves `at` behind it.
std::optional<std::string> TakeName(std::string_view text, std::size_t& at) {
  if (at + 2 < text.size() && text[at] == '[' && (text[at + 1] == '\'' || text[at + 1] == '"')) {
    const std::size_t close = text.find(text[at + 1], at + 2);
    if (close == std::string_view::npos || close + 1 >= text.size() || text[close + 1] != ']') {
      return std::nullopt;
    }
    std::string name(text.substr(at + 2, close - at - 2));
    at = close + 2;
    return name;
  }
  if (at + 1 >= text.size() || text[at] != '.' || !IsIdentifier(text[at + 1])) return std::nullopt;
  std::size_t end = at + 1;
  while (end < text.size() && IsIdentifier(text[end])) ++end;
  if (end < text.size() && text[end] == '(') return std::nullopt;
  std::string name(text.substr(at + 1, end - at - 1));
  at = end;
  return name;
}

std::optional<Access> NextAccess(std::string_view text, std::size_t from) {
  while (true) {
    const std::size_t begin = text.find("device.", from);
    if (begin == std::string_view::npos) return std::nullopt;
    from = begin + 1;
    if (begin > 0 && (IsIdentifier(text[begin - 1]) || text[begin - 1] == '.')) continue;
    Access access{.begin = begin};
    std::size_t at = begin + std::string_view("device").size();
    const std::optional<std::string> collection = TakeName(text, at);
    if (collection != "attributes" && collection != "capacity") continue;
    access.capacity = collection == "capacity";
    while (std::optional<std::string> name = TakeName(text, at)) {
      access.names.push_back(*std::move(name));
    }
    access.end = at;
    if (!access.names.empty()) return access;
  }
}

std::size_t SkipSpace(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// `OP LITERAL` behind an access: a quantity, version, number or string.
struct Comparison {
  std::string_view op;
  std::size_t literal_begin = 0;
  std::size_t end = 0;
  std::string literal;
  bool bare = false;     // 16Gi: neither a number nor a string of CEL
  bool wrapped = false;  // quantity('16Gi'), semver('8.0.0')
};

std::optional<Comparison> TakeComparison(std::string_view text, std::size_t at) {
  at = SkipSpace(text, at);
  Comparison comparison;
  const auto op = std::ranges::find_if(kOperators, [&](std::string_view candidate) {
    return text.substr(at).starts_with(candidate);
  });
  if (op == kOperators.end()) return std::nullopt;
  comparison.op = *op;
  comparison.literal_begin = SkipSpace(text, at + op->size());
  static const RE2 kLiteral(
      R"re(^(?:(quantity|semver)\(\s*(?:'([^']*)'|"([^"]*)")\s*\)|'([^']*)'|"([^"]*)"|)re"
      R"re(([0-9][0-9.]*)([A-Za-z]*)))re");
  std::string function;
  std::string call1;
  std::string call2;
  std::string single;
  std::string twice;
  std::string number;
  std::string suffix;
  re2::StringPiece rest(text.data() + comparison.literal_begin,
                        text.size() - comparison.literal_begin);
  const std::size_t before = rest.size();
  if (!RE2::Consume(&rest, kLiteral, &function, &call1, &call2, &single, &twice, &number,
                    &suffix)) {
    return std::nullopt;
  }
  comparison.end = comparison.literal_begin + (before - rest.size());
  comparison.wrapped = !function.empty();
  comparison.bare = !suffix.empty() && suffix != "u";
  comparison.literal = call1 + call2 + single + twice + number + (suffix == "u" ? "" : suffix);
  return comparison;
}

// "8.0" as a semantic version: "8.0.0".
std::string PaddedVersion(std::string version) {
  const auto dots = std::ranges::count(version, '.');
  for (auto i = dots; i < 2; ++i) version += ".0";
  return version;
}

class Corrector {
 public:
  Corrector(std::string_view expression, std::string_view driver)
      : text_(expression), domain_(driver) {
    static const RE2 kDriver(R"re(device\.driver\s*==\s*(?:'([^']+)'|"([^"]+)"))re");
    std::string single;
    std::string twice;
    if (RE2::PartialMatch(re2::StringPiece(text_.data(), text_.size()), kDriver, &single, &twice)) {
      domain_ = single + twice;
      guarded_ = true;
    }
  }

  SelectorForm Run() {
    std::size_t copied = 0;
    while (const std::optional<Access> access = NextAccess(text_, copied)) {
      form_.corrected += text_.substr(copied, access->begin - copied);
      copied = Correct(*access);
    }
    form_.corrected += text_.substr(copied);
    const auto mended = [](const SelectorFault& fault) { return fault.mended; };
    if (std::ranges::none_of(form_.faults, mended)) form_.corrected = text_;
    if (domain_added_ && !guarded_) {
      const bool alternatives = form_.corrected.find("||") != std::string::npos;
      form_.corrected = alternatives
                            ? fmt::format("device.driver == '{}' && ({})", domain_, form_.corrected)
                            : fmt::format("device.driver == '{}' && {}", domain_, form_.corrected);
    }
    return std::move(form_);
  }

 private:
  void Fault(std::size_t offset, std::string rule, std::string message) {
    form_.faults.push_back(
        {.offset = offset, .rule = std::move(rule), .message = std::move(message)});
  }
  void Report(std::size_t offset, const ValueFault& fault) {
    form_.faults.push_back({.offset = offset + fault.offset,
                            .rule = fault.rule,
                            .message = fault.message,
                            .severity = fault.severity,
                            .mended = !fault.replacement.empty()});
  }

  // Appends the corrected form of `access` (and of the comparison behind it); returns where the
  // rest of the expression goes on.
  std::size_t Correct(const Access& access) {
    std::vector<std::string> names = access.names;
    SplitQualified(access, names);
    DropTypeSuffix(access, names);
    const bool no_domain = names.size() == 1 && names[0].find('.') == std::string::npos;
    if (names.size() != 2 && !no_domain) return Keep(access);
    std::string name = names.back();
    std::string domain = no_domain ? domain_ : names[0];
    const KnownName* known = FindKnown(domain, name);
    const bool capacity =
        access.capacity || (known != nullptr && known->type == ValueType::kQuantity);
    if (capacity && !access.capacity) {
      Fault(access.begin, "selector-capacity-as-attribute",
            fmt::format("{} is a capacity of a device, not an attribute: it is read with "
                        "device.capacity",
                        name));
    }
    if (no_domain) {
      domain_added_ = true;
      Fault(access.begin, "selector-name-without-domain",
            fmt::format("\"{}\" has no domain: the first index of device.{} is the domain of the "
                        "name (usually the driver), here {}",
                        name, access.capacity ? "capacity" : "attributes",
                        known == nullptr ? Rendered(capacity, domain, name)
                                         : Rendered(capacity, DomainOf(*known), known->name)));
    }
    if (known != nullptr && name != known->name) {
      Fault(access.begin, "selector-unknown-name",
            fmt::format("the driver {} publishes \"{}\" as \"{}\"", domain, name, known->name));
      name = known->name;
    }
    if (known != nullptr && domain != DomainOf(*known)) {
      if (!no_domain) {
        Fault(access.begin, "selector-unknown-name",
              fmt::format("{} has the domain {}, whichever driver publishes it", name,
                          DomainOf(*known)));
      }
      domain = DomainOf(*known);
    }
    if (known == nullptr && !access.capacity) Unknown(access, domain, name);
    const std::string rendered = Rendered(capacity, domain, name);
    if (known != nullptr) {
      if (const auto fault = CheckValue(*known, rendered, text_.substr(access.end))) {
        Report(access.end, *fault);
        form_.corrected += fault->replacement.empty() ? rendered : fault->replacement;
        return access.end + (fault->replacement.empty() ? 0 : fault->length);
      }
    }
    form_.corrected += rendered;
    return CorrectComparison(
        access, capacity, known != nullptr && known->type == ValueType::kVersion, name == "memory");
  }

  static std::string_view DomainOf(const KnownName& known) {
    return known.domain.empty() ? known.driver : known.domain;
  }

  // Reading what no device has makes the selector fail.
  void Unknown(const Access& access, std::string_view driver, std::string_view name) {
    const std::string attributes = AttributesOf(driver);
    if (attributes.empty()) return;
    form_.faults.push_back(
        {.offset = access.begin,
         .rule = "selector-unknown-name",
         .message = fmt::format("the driver {} of today publishes no attribute \"{}\" but {}",
                                driver, name, attributes),
         .severity = Severity::kWarning,
         .mended = false});
  }

  std::size_t Keep(const Access& access) {
    form_.corrected += text_.substr(access.begin, access.end - access.begin);
    return access.end;
  }

  // ["dra.net/rdma"] → ["dra.net"].rdma
  void SplitQualified(const Access& access, std::vector<std::string>& names) {
    const std::size_t slash = names[0].find('/');
    if (slash == std::string::npos) return;
    Fault(access.begin, "selector-qualified-index",
          fmt::format("\"{}\" is no domain: domain and name are two steps, ['{}'].{}", names[0],
                      names[0].substr(0, slash), names[0].substr(slash + 1)));
    const std::string name = names[0].substr(slash + 1);
    names[0].resize(slash);
    names.insert(names.begin() + 1, name);
  }

  void DropTypeSuffix(const Access& access, std::vector<std::string>& names) {
    const bool typed = std::ranges::find(kTypeSuffixes, names.back()) != kTypeSuffixes.end();
    const std::size_t needed = names[0].find('.') == std::string::npos ? 2 : 3;
    if (!typed || names.size() != needed) return;
    Fault(access.end - names.back().size() - 1, "selector-type-suffix",
          fmt::format("an attribute is its value already: there is no \".{}\" behind it",
                      names.back()));
    names.pop_back();
  }

  static std::string Rendered(bool capacity, std::string_view domain, std::string_view name) {
    const bool field = std::ranges::all_of(name, IsIdentifier);
    const char* collection = capacity ? "capacity" : "attributes";
    return field ? fmt::format("device.{}['{}'].{}", collection, domain, name)
                 : fmt::format("device.{}['{}']['{}']", collection, domain, name);
  }

  std::size_t CorrectComparison(const Access& access, bool capacity, bool version, bool memory) {
    const std::optional<Comparison> comparison = TakeComparison(text_, access.end);
    if (!comparison || !(capacity || version)) return access.end;
    const bool equality = comparison->op == "==" || comparison->op == "!=";
    if (comparison->wrapped && equality) return access.end;
    std::string literal = version ? PaddedVersion(comparison->literal) : comparison->literal;
    if (memory && !comparison->bare && !comparison->wrapped && MeansGibibytes(literal)) {
      literal += "Gi";
    }
    const char* function = version ? "semver" : "quantity";
    const char* rule = version ? "selector-version-literal" : "selector-quantity-literal";
    const std::string shown = fmt::format("{}('{}')", function, literal);
    if (comparison->bare) {
      Fault(comparison->literal_begin, rule,
            fmt::format("{} is no literal of CEL: a quantity is written {}", comparison->literal,
                        shown));
    } else if (!comparison->wrapped) {
      Fault(comparison->literal_begin, rule,
            fmt::format("a {} does not compare with {}: write {}", version ? "version" : "quantity",
                        text_.substr(comparison->literal_begin,
                                     comparison->end - comparison->literal_begin),
                        shown));
    } else {
      Fault(comparison->literal_begin, "selector-comparison",
            fmt::format("a {} has no operator {}: compareTo answers -1, 0 or 1",
                        version ? "version" : "quantity", comparison->op));
    }
    form_.corrected += fmt::format(".compareTo({}) {} 0", shown, comparison->op);
    return comparison->end;
  }

  std::string_view text_;
  std::string domain_;
  bool guarded_ = false;
  bool domain_added_ = false;
  SelectorForm form_;
};

}  // namespace

SelectorForm CorrectSelector(std::string_view expression, std::string_view driver) {
  return Corrector(expression, driver).Run();
}

}  // namespace drachma::lint
