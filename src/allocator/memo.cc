#include "allocator/memo.h"

#include <algorithm>
#include <utility>

#include "selector/device.h"

namespace drachma::allocator {
namespace {

// One element of a value as a text that no element of another kind or value has.
std::string ElementKey(std::int64_t value) { return "i" + std::to_string(value); }
std::string ElementKey(bool value) { return value ? "b1" : "b0"; }
std::string ElementKey(const std::string& value) { return "s" + value; }
std::string ElementKey(const api::VersionText& value) { return "v" + value.text; }

std::vector<std::string> KeysOf(const api::DeviceAttribute& attribute, bool lists) {
  std::vector<std::string> keys;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return;
        } else if constexpr (requires { value.begin(); } && !std::is_same_v<T, std::string>) {
          if (!lists) return;
          for (const typename T::value_type& item : value) keys.push_back(ElementKey(item));
        } else {
          keys.push_back(ElementKey(value));
        }
      },
      attribute);
  return keys;
}

api::DeviceAttribute FromSelector(const selector::AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> api::DeviceAttribute {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, selector::Version>) {
          return api::VersionText{v.text};
        } else if constexpr (std::is_same_v<T, std::vector<selector::Version>>) {
          std::vector<api::VersionText> versions;
          for (const auto& version : v) versions.push_back({version.text});
          return versions;
        } else {
          return v;
        }
      },
      value);
}

// An attribute by its full name, or by the bare id under the driver's own domain.
const json::Value* FindAttribute(const json::Value& device, std::string_view driver,
                                 std::string_view name) {
  const json::Value& attributes = device["attributes"];
  if (const json::Value* found = attributes.Find(name)) return found;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  return attributes.Find(name.substr(slash + 1));
}

}  // namespace

selector::CompileOptions Memo::OptionsFor(selector::Purpose purpose) const {
  return {.consumable_capacity = features_.consumable_capacity,
          .list_type_attributes = features_.list_type_attributes,
          .environment = selector::Environment::kStored,
          .purpose = purpose,
          .estimate_cost = false};
}

ExpressionIndex Memo::Register(std::string_view expression) {
  if (const auto known = expression_index_.find(expression); known != expression_index_.end()) {
    return known->second;
  }
  auto entry = std::make_unique<Expression>();
  entry->text = expression;
  if (auto program = selector::Compile(expression, OptionsFor(selector::Purpose::kSelector))) {
    entry->program = std::move(*program);
  } else {
    entry->compile_error = std::move(program.error().message);
  }
  entry->known.Resize(words_);
  entry->match.Resize(words_);
  entry->failed.Resize(words_);
  const auto index = static_cast<ExpressionIndex>(expressions_.size());
  expressions_.push_back(std::move(entry));
  expression_index_.emplace(expression, index);
  return index;
}

ColumnIndex Memo::RegisterAttribute(std::string_view name) {
  if (const auto known = attribute_index_.find(name); known != attribute_index_.end()) {
    return known->second;
  }
  auto column = std::make_unique<Column>();
  column->attribute = name;
  column->values.Resize(records_);
  const auto index = static_cast<ColumnIndex>(columns_.size());
  columns_.push_back(std::move(column));
  attribute_index_.emplace(name, index);
  return index;
}

ColumnIndex Memo::RegisterDerived(std::string_view expression) {
  if (const auto known = derived_index_.find(expression); known != derived_index_.end()) {
    return known->second;
  }
  auto column = std::make_unique<Column>();
  column->expression = expression;
  if (auto program =
          selector::Compile(expression, OptionsFor(selector::Purpose::kDerivedAttribute))) {
    column->program = std::move(*program);
  } else {
    column->compile_error = std::move(program.error().message);
  }
  column->values.Resize(records_);
  const auto index = static_cast<ColumnIndex>(columns_.size());
  columns_.push_back(std::move(column));
  derived_index_.emplace(expression, index);
  return index;
}

void Memo::Resize(std::size_t words, std::size_t records) {
  words_ = std::max(words_, words);
  records_ = std::max(records_, records);
  for (const auto& expression : expressions_) {
    expression->known.Resize(words_);
    expression->match.Resize(words_);
    expression->failed.Resize(words_);
  }
  for (const auto& column : columns_) column->values.Resize(records_);
}

void Memo::Forget(const Slice& slice) {
  const std::size_t words = WordsFor(slice.devices.size());
  for (const auto& expression : expressions_) {
    expression->known.Clear(slice.first_word, words);
    expression->match.Clear(slice.first_word, words);
    expression->failed.Clear(slice.first_word, words);
  }
  for (const auto& column : columns_) {
    column->values.Clear(slice.first_record, slice.devices.size());
  }
}

void Memo::Trim() {
  if (expressions_.size() < kExpressionsMax && columns_.size() < kExpressionsMax) return;
  expressions_.clear();
  expression_index_.clear();
  columns_.clear();
  attribute_index_.clear();
  derived_index_.clear();
  element_index_.clear();
  element_texts_.clear();
  value_index_.clear();
  values_.clear();
  ++epoch_;
}

void Memo::Fill(const std::vector<ExpressionIndex>& expressions, const Slice& slice) const {
  // Each device is decoded once for all expressions, and not kept: what the bits say is all that
  // is ever asked again.
  for (std::size_t i = 0; i < slice.devices.size(); ++i) {
    const std::size_t word = slice.first_word + i / kWordBits;
    const std::uint64_t bit = std::uint64_t{1} << (i % kWordBits);
    std::optional<Result<selector::Device>> device;
    for (const ExpressionIndex index : expressions) {
      const Expression& expression = *expressions_[index];
      if (!expression.program ||
          (expression.known[word].load(std::memory_order_acquire) & bit) != 0) {
        continue;
      }
      if (!device) device = selector::Device::FromJson(slice.driver, slice.DeviceJson(i));
      const selector::Verdict verdict =
          *device ? expression.program->Match(**device).verdict : selector::Verdict::kError;
      if (verdict == selector::Verdict::kMatch) {
        expression.match[word].fetch_or(bit, std::memory_order_relaxed);
      } else if (verdict == selector::Verdict::kError) {
        expression.failed[word].fetch_or(bit, std::memory_order_relaxed);
      }
      expression.known[word].fetch_or(bit, std::memory_order_release);
    }
  }
}

std::string Memo::ErrorOf(ExpressionIndex expression, const Slice& slice,
                          std::size_t device) const {
  const auto decoded = selector::Device::FromJson(slice.driver, slice.DeviceJson(device));
  if (!decoded) return decoded.error().message;
  return selector::EnhanceRuntimeError(
      std::string(expressions_[expression]->program->Match(*decoded).error.view()));
}

ValueId Memo::ValueOf(ColumnIndex index, const Slice& slice, std::size_t device) const {
  const Column& column = *columns_[index];
  std::atomic<ValueId>& cell = column.values[slice.first_record + device];
  ValueId value = cell.load(std::memory_order_relaxed);
  if (value == kValueUnread) {
    value = Read(column, slice, device);
    cell.store(value, std::memory_order_relaxed);
  }
  return value;
}

ValueId Memo::Read(const Column& column, const Slice& slice, std::size_t device) const {
  const json::Value& json = slice.DeviceJson(device);
  if (column.expression.empty()) {
    const json::Value* attribute = FindAttribute(json, slice.driver, column.attribute);
    if (attribute == nullptr) return kValueMissing;
    const auto value = api::AttributeFromJson(*attribute);
    return value ? Intern(*value) : kValueUnknown;
  }
  if (!column.program) return kValueFailed;
  const auto decoded = selector::Device::FromJson(slice.driver, json);
  if (!decoded) return kValueFailed;
  const auto derived = column.program->EvaluateDerived(*decoded);
  return derived.value ? Intern(FromSelector(*derived.value)) : kValueFailed;
}

std::string Memo::DerivedErrorOf(ColumnIndex index, const Slice& slice, std::size_t device) const {
  const Column& column = *columns_[index];
  if (!column.program) return column.compile_error;
  const auto decoded = selector::Device::FromJson(slice.driver, slice.DeviceJson(device));
  if (!decoded) return decoded.error().message;
  const auto derived = column.program->EvaluateDerived(*decoded);
  return derived.value ? std::string() : derived.value.error().message;
}

ValueId Memo::Intern(const api::DeviceAttribute& attribute) const {
  const std::vector<std::string> keys = KeysOf(attribute, features_.list_type_attributes);
  if (keys.empty()) return kValueUnknown;
  const std::scoped_lock lock(mutex_);
  std::vector<std::uint32_t> elements;
  for (const std::string& key : keys) {
    const auto [place, added] =
        element_index_.emplace(key, static_cast<std::uint32_t>(element_texts_.size()));
    if (added) element_texts_.push_back(key.substr(1));
    elements.push_back(place->second);
  }
  return InternElements(std::move(elements));
}

ValueId Memo::InternElements(std::vector<std::uint32_t> elements) const {
  std::ranges::sort(elements);
  elements.erase(std::ranges::unique(elements).begin(), elements.end());
  const auto [place, added] =
      value_index_.emplace(elements, static_cast<ValueId>(values_.size()) + kValueFirst);
  if (added) values_.push_back(std::move(elements));
  return place->second;
}

Value Memo::ValueAt(ValueId id) const {
  if (id < kValueFirst) return {};
  const std::scoped_lock lock(mutex_);
  Value value{.elements = values_[id - kValueFirst], .text = {}};
  for (const std::uint32_t element : value.elements) {
    if (!value.text.empty()) value.text += ", ";
    value.text += element_texts_[element];
  }
  return value;
}

ValueId Memo::Intersect(ValueId a, ValueId b) const {
  if (a == b) return a;
  if (!features_.list_type_attributes) return kValueMissing;
  const std::scoped_lock lock(mutex_);
  std::vector<std::uint32_t> common;
  std::ranges::set_intersection(values_[a - kValueFirst], values_[b - kValueFirst],
                                std::back_inserter(common));
  return common.empty() ? kValueMissing : InternElements(std::move(common));
}

}  // namespace drachma::allocator
