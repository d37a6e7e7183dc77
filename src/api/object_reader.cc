#include "api/object_reader.h"

#include "json/json.h"

namespace drachma::api {

ObjectReader::ObjectReader(const json::Value& object, std::string_view what) : object_(object) {
  if (!object.IsObject()) Wrong(what, "an object");
}

void ObjectReader::Get(std::string_view key, std::string& out) {
  if (const json::Value* value = Of(key, &json::Value::IsString, "a string")) {
    out = value->AsString();
  }
}

void ObjectReader::Get(std::string_view key, std::optional<std::string>& out) {
  if (const json::Value* value = Of(key, &json::Value::IsString, "a string")) {
    out = std::string(value->AsString());
  }
}

void ObjectReader::Get(std::string_view key, bool& out) {
  if (const json::Value* value = Of(key, &json::Value::IsBool, "a boolean")) {
    out = value->AsBool();
  }
}

void ObjectReader::Get(std::string_view key, std::optional<bool>& out) {
  if (const json::Value* value = Of(key, &json::Value::IsBool, "a boolean")) {
    out = value->AsBool();
  }
}

void ObjectReader::Get(std::string_view key, std::int64_t& out) {
  if (const json::Value* value = Of(key, &json::Value::IsInt, "an integer")) {
    out = value->AsInt();
  }
}

void ObjectReader::Get(std::string_view key, std::optional<std::int64_t>& out) {
  if (const json::Value* value = Of(key, &json::Value::IsInt, "an integer")) {
    out = value->AsInt();
  }
}

void ObjectReader::Get(std::string_view key, std::vector<std::string>& out) {
  for (const json::Value& item : List(key)) {
    if (!item.IsString()) return Wrong(key, "strings");
    out.emplace_back(item.AsString());
  }
}

void ObjectReader::Get(std::string_view key, Quantity& out) {
  if (const json::Value* value = Present(key)) ReadQuantity(key, *value, out);
}

void ObjectReader::Get(std::string_view key, std::optional<Quantity>& out) {
  if (const json::Value* value = Present(key)) ReadQuantity(key, *value, out.emplace());
}

Result<Quantity> ObjectReader::QuantityOf(const json::Value& value) {
  if (value.IsInt()) return Quantity::Parse(std::to_string(value.AsInt()));
  if (value.IsNumber()) return Quantity::Parse(json::FormatDouble(value.AsDouble()));
  if (value.IsNull()) return Quantity();
  if (!value.IsString()) return BadInput("expected a quantity");
  std::string_view text = value.AsString();
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  text = first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
  return Quantity::Parse(text);
}

void ObjectReader::Wrong(std::string_view key, std::string_view expected) {
  if (error_) return;
  error_ = Error{.code = Code::kBadRequest,
                 .message = std::string(key) + ": expected " + std::string(expected)};
}

const json::Value* ObjectReader::Present(std::string_view key) const {
  const json::Value* value = object_.Find(key);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

const json::Value* ObjectReader::Of(std::string_view key, bool (json::Value::*is)() const,
                                    std::string_view expected) {
  const json::Value* value = Present(key);
  if (value != nullptr && !(value->*is)()) {
    Wrong(key, expected);
    return nullptr;
  }
  return value;
}

std::span<const json::Value> ObjectReader::List(std::string_view key) {
  const json::Value* value = Of(key, &json::Value::IsArray, "an array");
  return value == nullptr ? std::span<const json::Value>() : value->Items();
}

void ObjectReader::ReadQuantity(std::string_view key, const json::Value& value, Quantity& out) {
  auto result = QuantityOf(value);
  if (result) {
    out = std::move(*result);
  } else if (!error_) {
    error_ = std::move(result).error();
    error_->message = std::string(key) + ": " + error_->message;
  }
}

}  // namespace drachma::api
