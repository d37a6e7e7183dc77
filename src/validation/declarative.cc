#include "validation/declarative.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "validation/declarative_formats.h"
#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

using json::Value;

constexpr const char kRules[] =
#include "validation/declarative_rules.inc"
    ;

enum class Level : std::uint8_t { kStandard, kBeta, kAlpha };

struct TypeRules;

struct DeclaredRule {
  std::string name;
  std::vector<std::string> args;
  std::int64_t number = 0;
  Level level = Level::kStandard;
  bool stops = false;  // what it reports ends the field at the next barrier
  std::vector<DeclaredRule> inner;
  const TypeRules* type = nullptr;  // of "is"
};

struct FieldRules {
  std::string name;  // "-" is an embedded structure, "self" the type itself
  std::vector<DeclaredRule> rules;
};

struct TypeRules {
  std::vector<FieldRules> fields;
};

// group/version, then type name.
using RuleTable = std::map<std::string, std::map<std::string, TypeRules>>;

// Reads one token: NAME[:ARG…][:(INNER)][~LEVEL][!].
DeclaredRule ParseRule(std::string_view token) {
  DeclaredRule rule;
  if (token.ends_with('!')) {
    rule.stops = true;
    token.remove_suffix(1);
  }
  if (token.ends_with("~a") || token.ends_with("~b")) {
    rule.level = token.ends_with("~a") ? Level::kAlpha : Level::kBeta;
    token.remove_suffix(2);
  }
  if (token.ends_with(')')) {
    const std::size_t open = token.find('(');
    rule.inner.push_back(ParseRule(token.substr(open + 1, token.size() - open - 2)));
    token = token.substr(0, open - 1);
  }
  const auto parts = Split(token, ':');
  rule.name = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    // "*" is a value of one enumeration and the sign for "the whole item" elsewhere.
    for (const std::string_view arg : Split(parts[i], rule.name == "if" ? ':' : ',')) {
      rule.args.emplace_back(arg);
    }
  }
  if (!rule.args.empty()) {
    const std::string& arg = rule.args.front();
    std::from_chars(arg.data(), arg.data() + arg.size(), rule.number);
  }
  return rule;
}

std::vector<DeclaredRule> ParseRules(std::span<const std::string_view> tokens, std::size_t* at) {
  std::vector<DeclaredRule> rules;
  while (*at < tokens.size()) {
    const std::string_view token = tokens[(*at)++];
    if (token == ")") break;
    if (token == "(") {
      DeclaredRule cohort{.name = "cohort"};
      cohort.inner = ParseRules(tokens, at);
      rules.push_back(std::move(cohort));
    } else if (token == "|") {
      rules.push_back({.name = "|"});
    } else {
      rules.push_back(ParseRule(token));
    }
  }
  return rules;
}

void Link(std::map<std::string, TypeRules>& types, std::vector<DeclaredRule>& rules) {
  for (DeclaredRule& rule : rules) {
    if (rule.name == "is") {
      const auto found = types.find(rule.args.at(0));
      rule.type = found == types.end() ? nullptr : &found->second;
    }
    Link(types, rule.inner);
  }
}

RuleTable ParseTable() {
  RuleTable table;
  std::map<std::string, TypeRules>* types = nullptr;
  TypeRules* type = nullptr;
  for (const std::string_view line : Split(kRules, '\n')) {
    if (line.empty()) continue;
    if (line.front() == '@') {
      types = &table[std::string(line.substr(1))];
    } else if (line.starts_with("type ")) {
      type = &(*types)[std::string(line.substr(5))];
    } else {
      const auto tokens = Split(line.substr(1), ' ');
      std::size_t at = 1;
      type->fields.push_back({std::string(tokens[0]), ParseRules(tokens, &at)});
    }
  }
  for (auto& [version, all] : table) {
    for (auto& [name, rules] : all) {
      for (FieldRules& field : rules.fields) Link(all, field.rules);
    }
  }
  return table;
}

const RuleTable& Table() {
  static const RuleTable table = ParseTable();
  return table;
}

const TypeRules* FindType(std::string_view group, std::string_view version, std::string_view kind) {
  const auto found = Table().find(fmt::format("{}/{}", group, version));
  if (found == Table().end()) return nullptr;
  const auto type = found->second.find(std::string(kind));
  return type == found->second.end() ? nullptr : &type->second;
}

// Go's zero value of a field that is not a pointer.
bool IsZero(const Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return true;
    case json::Kind::kBool:
      return !value.AsBool();
    case json::Kind::kInt:
      return value.AsInt() == 0;
    case json::Kind::kDouble:
      return value.AsDouble() == 0;
    case json::Kind::kString:
      return value.AsString().empty();
    default:
      return value.empty();
  }
}

std::string ShownScalar(const Value& value) { return ShownNamed(value.AsString()); }

// Walks one object along the rules.
class Walker {
 public:
  Walker(const Context& context, bool update) : context_(context), update_(update) {}

  // The rules of a type for `value` at `path`; `old` is null when there is no old value.
  void Type(const TypeRules& type, const std::string& path, const Value& value, const Value* old,
            ErrorList& errors) const {
    for (const FieldRules& field : type.fields) {
      if (field.name == "self") {
        Sequence(field.rules, path, value, old, errors);
        continue;
      }
      const bool embedded = field.name == "-";
      const Value& child = embedded ? value : value[field.name];
      const Value* old_child = old == nullptr ? nullptr : embedded ? old : &(*old)[field.name];
      if (update_ && old_child != nullptr && SemanticEqual(child, *old_child)) continue;
      Sequence(field.rules, embedded ? path : Child(path, field.name), child, old_child, errors);
    }
  }

 private:
  // The rules of one field, up to the first barrier behind a rule that stops.
  void Sequence(std::span<const DeclaredRule> rules, const std::string& path, const Value& value,
                const Value* old, ErrorList& errors) const {
    bool stop = false;
    for (const DeclaredRule& rule : rules) {
      if (rule.name == "|") {
        if (stop) return;
      } else if (rule.name == "cohort") {
        Sequence(rule.inner, path, value, old, errors);
      } else {
        stop = One(rule, path, value, old, errors) || stop;
      }
    }
  }

  // Whether the rule reported something and stops.
  bool One(const DeclaredRule& rule, const std::string& path, const Value& value, const Value* old,
           ErrorList& errors) const {
    bool quiet = false;
    ErrorList found = Evaluate(rule, path, value, old, &quiet);
    const bool stops = rule.stops && !found.empty();
    if (quiet || rule.level == Level::kAlpha) return stops;
    for (FieldError& error : found) {
      // Errors of types carry the level of their own rules.
      if (rule.level == Level::kBeta) error.source = Source::kDeclarativeBeta;
      errors.push_back(std::move(error));
    }
    return stops;
  }

  [[nodiscard]] ErrorList Evaluate(const DeclaredRule& rule, const std::string& path,
                                   const Value& value, const Value* old, bool* quiet) const {
    const std::string_view name = rule.name;
    if (name.starts_with("opt") || name.starts_with("req")) {
      *quiet = name.starts_with("opt");
      const bool missing = name.ends_with('P') ? value.IsNull() : IsZero(value);
      return missing ? Declared({Required(path)}) : ErrorList();
    }
    if (name.starts_with("forbid")) {
      const bool missing = name.ends_with('P') ? value.IsNull() : value.empty();
      return missing ? ErrorList() : Declared({Forbidden(path, "")});
    }
    if (name == "is") {
      ErrorList errors;
      if (rule.type != nullptr) Type(*rule.type, path, value, old, errors);
      return errors;
    }
    if (name == "each" || name == "eachKey" || name == "eachValue") {
      return Each(rule, path, value, old);
    }
    if (name == "if") {
      const bool wanted = rule.args.at(1) == "true";
      if (context_.Enabled(rule.args.at(0)) != wanted) return {};
      return Evaluate(rule.inner.front(), path, value, old, quiet);
    }
    if (name == "sub") {
      const Value* old_child = old == nullptr ? nullptr : &(*old)[rule.args.at(0)];
      const Value& child = value[rule.args.at(0)];
      if (update_ && old_child != nullptr && SemanticEqual(child, *old_child)) return {};
      return Evaluate(rule.inner.front(), Child(path, rule.args.at(0)), child, old_child, quiet);
    }
    if (name == "immutable" || name == "update") {
      return update_ ? Declared(Changed(rule, path, value, old)) : ErrorList();
    }
    return Declared(Plain(rule, path, value));
  }

  // Rules that look at nothing but the value.
  [[nodiscard]] static ErrorList Plain(const DeclaredRule& rule, const std::string& path,
                                       const Value& value) {
    const std::string_view name = rule.name;
    if (const auto format = DeclaredFormats().find(name); format != DeclaredFormats().end()) {
      return format->second(path, value.AsString());
    }
    const auto max = static_cast<std::size_t>(rule.number);
    if (name == "maxItems" && value.size() > max) {
      return WithOrigin({TooMany(path, value.size(), max)}, "maxItems");
    }
    if (name == "maxBytes" && value.AsString().size() > max) {
      return WithOrigin({TooLong(path, rule.number)}, "maxBytes");
    }
    if (name == "maxLength" && RuneCount(value.AsString()) > max) {
      return WithOrigin({TooLongCharacters(path, rule.number)}, "maxLength");
    }
    if (name == "minimum" && !value.IsNull() && value.AsInt() < rule.number) {
      return WithOrigin({Invalid(path, ShownInt(value.AsInt()),
                                 fmt::format("must be greater than or equal to {}", rule.number))},
                        "minimum");
    }
    if (name == "maximum" && !value.IsNull() && value.AsInt() > rule.number) {
      return WithOrigin({Invalid(path, ShownInt(value.AsInt()),
                                 fmt::format("must be less than or equal to {}", rule.number))},
                        "maximum");
    }
    if (name == "enum") return Enumerated(rule, path, value);
    if (name == "union" || name == "zeroOrOne") return Union(rule, path, value);
    if (name == "unique") return Unique(rule, path, value);
    return {};
  }

  [[nodiscard]] static ErrorList Enumerated(const DeclaredRule& rule, const std::string& path,
                                            const Value& value) {
    if (std::ranges::find(rule.args, value.AsString()) != rule.args.end()) return {};
    const std::vector<std::string_view> supported(rule.args.begin(), rule.args.end());
    return {NotSupported(path, ShownScalar(value), supported)};
  }

  [[nodiscard]] static ErrorList Union(const DeclaredRule& rule, const std::string& path,
                                       const Value& value) {
    std::vector<std::string> set;
    std::string all;
    for (const std::string& member : rule.args) {
      const Value& field = value[member];
      if (!field.IsNull() && !(field.IsArray() && field.empty())) set.push_back(member);
      all += fmt::format("{}`{}`", all.empty() ? "" : ", ", member);
    }
    if (set.empty() && rule.name == "union") {
      return WithOrigin({Invalid(path, "\"\"", "must specify one of: " + all)}, "union");
    }
    if (set.size() <= 1) return {};
    const std::string shown = ShownText(fmt::format("{{{}}}", fmt::join(set, ", ")));
    const char* words =
        rule.name == "union" ? "must specify exactly one of: " : "must specify at most one of: ";
    return WithOrigin({Invalid(path, shown, words + all)}, "union");
  }

  // Whether two items of a list have the same key ("*": are the same).
  [[nodiscard]] static bool SameKey(std::string_view keys, const Value& a, const Value& b) {
    if (keys == "*") return a == b;
    return std::ranges::all_of(Split(keys, '+'),
                               [&](std::string_view key) { return SemanticEqual(a[key], b[key]); });
  }

  [[nodiscard]] static ErrorList Unique(const DeclaredRule& rule, const std::string& path,
                                        const Value& value) {
    ErrorList errors;
    const auto items = value.Items();
    for (std::size_t later = 1; later < items.size(); ++later) {
      const auto before = items.first(later);
      if (std::ranges::any_of(before, [&](const Value& item) {
            return SameKey(rule.args.at(0), item, items[later]);
          })) {
        errors.push_back(Duplicate(Index(path, later), Shown(items[later])));
      }
    }
    return errors;
  }

  [[nodiscard]] static ErrorList Changed(const DeclaredRule& rule, const std::string& path,
                                         const Value& value, const Value* old) {
    static const Value kNone;
    const Value& before = old == nullptr ? kNone : *old;
    if (rule.name == "immutable") {
      return WithOrigin({Invalid(path, "null", "field is immutable")}, "immutable");
    }
    ErrorList errors;
    const bool was = !IsZero(before) || before.IsObject();
    const bool is = !IsZero(value) || value.IsObject();
    for (const std::string& arg : rule.args) {
      const auto invalid = [&](const char* detail) {
        errors.push_back(Invalid(path, "null", detail));
      };
      if (arg == "NoSet" && !was && is) invalid("field cannot be set once created");
      if (arg == "NoUnset" && was && !is) invalid("field cannot be cleared once set");
      if (arg == "NoModify" && was && is) invalid("field cannot be modified once set");
      if (arg == "NoAddItem") {
        for (std::size_t i = 0; i < value.size(); ++i) {
          if (Lookup(before, value.Items()[i], "name") != nullptr) continue;
          errors.push_back(Forbidden(Index(path, i), "item may not be added"));
        }
      }
      if (arg == "NoRemoveItem") {
        for (const Value& item : before.Items()) {
          if (Lookup(value, item, "name") != nullptr) continue;
          errors.push_back(Forbidden(path, "item may not be removed"));
        }
      }
    }
    return WithOrigin(std::move(errors), "update");
  }

  [[nodiscard]] static const Value* Lookup(const Value& list, const Value& item,
                                           std::string_view keys) {
    for (const Value& other : list.Items()) {
      if (SameKey(keys, other, item)) return &other;
    }
    return nullptr;
  }

  [[nodiscard]] ErrorList Each(const DeclaredRule& rule, const std::string& path,
                               const Value& value, const Value* old) const {
    ErrorList errors;
    const DeclaredRule& inner = rule.inner.front();
    if (rule.name == "each") {
      const std::string keys = rule.args.empty() ? "" : rule.args.front();
      for (std::size_t i = 0; i < value.size(); ++i) {
        const Value& item = value.Items()[i];
        const Value* before = old == nullptr || keys.empty() ? nullptr : Lookup(*old, item, keys);
        if (update_ && before != nullptr && SemanticEqual(item, *before)) continue;
        One(inner, Index(path, i), item, before, errors);
      }
      return errors;
    }
    for (const json::Member& member : value.Members()) {
      const Value* before = old == nullptr ? nullptr : old->Find(member.key());
      if (rule.name == "eachKey") {
        if (update_ && before != nullptr) continue;
        One(inner, path, Value(member.key()), nullptr, errors);
      } else {
        if (update_ && before != nullptr && SemanticEqual(member.value, *before)) continue;
        One(inner, Key(path, member.key()), member.value, before, errors);
      }
    }
    return errors;
  }

  [[nodiscard]] static ErrorList Declared(ErrorList errors) {
    for (FieldError& error : errors) error.source = Source::kDeclarative;
    return errors;
  }

  const Context& context_;
  const bool update_;
};

// v1beta1 has the fields of `exactly` in the request and those of a device under `basic`.
std::string NormalPath(const std::string& path) {
  static const RE2 kRequest(
      R"((spec\.(?:spec\.)?devices\.requests\[\d+\])\.(deviceClassName|selectors|allocationMode|)"
      R"(count|adminAccess|tolerations|derivedAttributes))");
  static const RE2 kBasic(R"((spec\.devices\[\d+\])\.basic\.)");
  std::string out = path;
  if (RE2::Replace(&out, kRequest, R"(\1.exactly.\2)")) return out;
  RE2::Replace(&out, kBasic, R"(\1.)");
  return out;
}

bool Replaces(const FieldError& declared, const FieldError& written) {
  if (declared.source != Source::kDeclarativeBeta || declared.type != written.type) return false;
  if (declared.origin != written.origin) return false;
  if (written.type == ErrorType::kInvalid && written.origin.empty()) return false;
  return declared.path == written.path || NormalPath(declared.path) == written.path;
}

}  // namespace

bool HasDeclarativeRules(std::string_view group, std::string_view version, std::string_view kind) {
  return FindType(group, version, kind) != nullptr;
}

ErrorList ValidateDeclaratively(const Context& context, std::string_view group,
                                std::string_view version, std::string_view kind,
                                const Value& object, const Value* old) {
  const TypeRules* type = FindType(group, version, kind);
  ErrorList errors;
  if (type != nullptr) {
    Walker(context, old != nullptr).Type(*type, "", object, old, errors);
  }
  return errors;
}

ErrorList MergeDeclarative(ErrorList hand_written, ErrorList declarative) {
  std::erase_if(hand_written, [&](const FieldError& error) {
    return error.source == Source::kCovered &&
           std::ranges::any_of(
               declarative, [&](const FieldError& declared) { return Replaces(declared, error); });
  });
  Append(hand_written, std::move(declarative));
  return hand_written;
}

}  // namespace drachma::validation
