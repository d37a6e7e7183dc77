#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/selectors.h"
#include "base/check.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;

// Terms are separated by commas that no backslash stands before.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

// fields.UnescapeValue.
Result<std::string> Unescape(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',' || c == '=') {
      return BadInput(fmt::format("invalid field selector: unescaped character in value: {}", c));
    }
    if (c != '\\') {
      value += c;
      continue;
    }
    ++i;
    if (i == text.size()) {
      return BadInput("invalid field selector: invalid escape sequence: \\");
    }
    if (text[i] != '\\' && text[i] != ',' && text[i] != '=') {
      return BadInput(
          fmt::format("invalid field selector: invalid escape sequence: \\{}", text[i]));
    }
    value += text[i];
  }
  return value;
}

std::string UnknownLabel(const KindInfo& kind, std::string_view version, std::string_view label) {
  const std::string quoted = json::Write(Value(label));
  if (kind.field_labels.empty()) {
    return fmt::format(
        "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", quoted);
  }
  if (kind.kind == "Job") return fmt::format("field label {} not supported for Job", quoted);
  if (kind.kind == "ResourceSlice") {
    return fmt::format("field label not supported for {}, Kind={}: {}",
                       GroupVersion(kind.group, version), kind.kind, label);
  }
  return fmt::format("field label not supported: {}", label);
}

// Follows "spec.nodeName" or "status.podIPs[0].ip" from the root.
const Value* Follow(const Value& object, std::string_view path) {
  const Value* at = &object;
  while (!path.empty() && at != nullptr) {
    const std::size_t end = path.find_first_of(".[");
    const std::string_view step = path.substr(0, end);
    if (!step.empty()) at = at->Find(step);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    if (path.starts_with('[') && at != nullptr) {
      std::size_t index = 0;
      const std::size_t close = path.find(']');
      std::from_chars(path.data() + 1, path.data() + close, index);
      at = index < at->size() ? &at->Items()[index] : nullptr;
      path.remove_prefix(close + 1);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return at;
}

}  // namespace

std::string FieldText(const Value& object, std::string_view path) {
  if (const std::size_t bar = path.find('|'); bar != std::string_view::npos) {
    std::string first = FieldText(object, path.substr(0, bar));
    return first.empty() ? FieldText(object, path.substr(bar + 1)) : first;
  }
  std::string_view missing;
  if (path.ends_with('#') || path.ends_with('?')) {
    missing = path.back() == '#' ? "0" : "false";
    path.remove_suffix(1);
  }
  const Value* value = Follow(object, path);
  if (value == nullptr || value->IsNull()) return std::string(missing);
  return value->IsString() ? std::string(value->AsString()) : json::Write(*value);
}

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  std::vector<std::string_view> terms = SplitTerms(text);
  std::ranges::sort(terms);
  for (const std::string_view term : terms) {
    if (term.empty()) continue;
    // "!=", "==" or "=", whichever comes first.
    const std::size_t at = [&] {
      for (std::size_t i = 0; i < term.size(); ++i) {
        if (term[i] == '=' || term.substr(i, 2) == "!=") return i;
      }
      return std::string_view::npos;
    }();
    if (at == std::string_view::npos) {
      return BadInput(fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
    }
    const std::string_view op = term.substr(at, 2);
    const bool two = op == "!=" || op == "==";
    DRA_ASSIGN(std::string value, Unescape(term.substr(at + (two ? 2 : 1))));
    selector.terms_.push_back({std::string(term.substr(0, at)), std::move(value), op != "!="});
  }
  return selector;
}

Status FieldSelector::Resolve(const KindInfo& kind, std::string_view version) {
  paths_.clear();
  for (const Term& term : terms_) {
    if (term.label == "metadata.name") {
      paths_.push_back("metadata.name");
      continue;
    }
    if (term.label == "metadata.namespace" && (kind.namespaced() || kind.field_labels.empty())) {
      paths_.push_back("metadata.namespace");
      continue;
    }
    const auto found = std::ranges::find(kind.field_labels, term.label, &FieldLabelInfo::label);
    if (found == kind.field_labels.end()) {
      return BadInput(UnknownLabel(kind, version, term.label));
    }
    paths_.push_back(found->path.empty() ? found->label : found->path);
  }
  return {};
}

bool FieldSelector::Matches(const Value& object) const {
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const std::string_view path = paths_.empty() ? std::string_view(terms_[i].label) : paths_[i];
    if ((FieldText(object, path) == terms_[i].value) != terms_[i].equal) return false;
  }
  return true;
}

std::vector<std::string> FieldSelector::Members() const {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    std::string_view path = paths_.empty() ? std::string_view(terms_[i].label) : paths_[i];
    while (!path.empty()) {
      const std::string_view one = path.substr(0, path.find('|'));
      path.remove_prefix(std::min(path.size(), one.size() + 1));
      members.emplace_back(one.substr(0, one.find_first_of("[#?")));
    }
  }
  return members;
}

const std::string* FieldSelector::RequiredValue(std::string_view label) const {
  for (const Term& term : terms_) {
    if (term.equal && term.label == label) return &term.value;
  }
  return nullptr;
}

}  // namespace drachma::api
