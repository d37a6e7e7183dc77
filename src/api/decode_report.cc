#include "api/decode_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace drachma::api {

using json::Value;

namespace {

constexpr std::size_t kStrictErrorsMax = 100;  // as sigs.k8s.io/json

}  // namespace

DecodeReport::DecodeReport(StrictFields strict, std::span<const json::DuplicateKey> duplicates)
    : report_(strict == StrictFields::kReport) {
  std::string of_yaml;
  for (const json::DuplicateKey& duplicate : duplicates) {
    // YAML's are told by its own reader, all at once and before the others.
    if (duplicate.line != 0) {
      of_yaml += fmt::format("\n  line {}: key {} already set in map", duplicate.line,
                             json::Write(Value(duplicate.key)));
      continue;
    }
    std::string parent = duplicate.path.substr(0, duplicate.path.size() - duplicate.key.size());
    if (!parent.empty()) parent.pop_back();
    duplicates_[std::move(parent)].keys.push_back(&duplicate);
  }
  if (!of_yaml.empty() && report_) {
    strict_errors_.push_back("yaml: unmarshal errors:" + of_yaml);
  }
}

std::string DecodeReport::Path() const {
  std::string path;
  for (const PathStep& step : path_) {
    if (step.is_index) {
      path += fmt::format("[{}]", step.index);
    } else {
      if (!path.empty()) path += '.';
      path += step.key;
    }
  }
  return path;
}

void DecodeReport::Report(std::string_view what, std::string_view field) {
  if (strict_errors_.size() >= kStrictErrorsMax) return;
  std::string path = Path();
  if (!path.empty()) path += '.';
  path += field;
  std::string text = fmt::format("{} {}", what, json::Write(json::Value(path)));
  if (std::ranges::find(strict_errors_, text) == strict_errors_.end()) {
    strict_errors_.push_back(std::move(text));
  }
}

void DecodeReport::TypeError(std::string_view got, std::string_view go_type) {
  if (!type_error_) type_error_ = TypeErrorText(got, go_type);
}

std::string DecodeReport::TypeErrorText(std::string_view got, std::string_view go_type) const {
  if (stack_.empty()) {
    return fmt::format("json: cannot unmarshal {} into Go value of type {}", got, go_type);
  }
  std::string field;
  for (const StackStep& step : stack_) {
    for (const std::string_view through : step.flat->through) {
      field += through;
      field += '.';
    }
    field += step.flat->field->json_name;
    field += '.';
  }
  field.pop_back();
  return fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", got,
                     stack_.back().owner->BareName(), field, go_type);
}

DecodeReport::Duplicates* DecodeReport::DuplicatesHere() {
  if (duplicates_.empty()) return nullptr;
  const auto found = duplicates_.find(Path());
  return found == duplicates_.end() ? nullptr : &found->second;
}

void DecodeReport::ReportDuplicates(const Duplicates& duplicates, std::size_t number,
                                    const FlatType* flat) {
  for (const json::DuplicateKey* key : duplicates.keys) {
    if (key->members_before != number) continue;
    if (flat == nullptr || flat->Find(key->key, 0) >= 0) Report("duplicate field", key->key);
  }
}

}  // namespace drachma::api
