#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/dra_types.h"
#include "base/result.h"
#include "json/value.h"
#include "num/quantity.h"

namespace drachma::api {

// Reads members of one object and keeps the first fault, so that readers of types are plain lists
// of members. Absent and null members leave the target as it is, as Go's decoder does.
class ObjectReader {
 public:
  ObjectReader(const json::Value& object, std::string_view what);

  void Get(std::string_view key, std::string& out);
  void Get(std::string_view key, std::optional<std::string>& out);
  void Get(std::string_view key, bool& out);
  void Get(std::string_view key, std::optional<bool>& out);
  void Get(std::string_view key, std::int64_t& out);
  void Get(std::string_view key, std::optional<std::int64_t>& out);
  void Get(std::string_view key, std::vector<std::string>& out);
  void Get(std::string_view key, Quantity& out);
  void Get(std::string_view key, std::optional<Quantity>& out);
  // A list whose items `read` turns into T.
  template <typename T, typename Read>
  void GetList(std::string_view key, std::vector<T>& out, Read read) {
    const auto items = List(key);
    out.reserve(items.size());
    for (const json::Value& item : items) {
      if (error_) return;
      if (auto result = read(item)) {
        out.push_back(std::move(*result));
      } else {
        error_ = std::move(result).error();
      }
    }
  }
  // A map whose values `read` turns into T.
  template <typename T, typename Read>
  void GetMap(std::string_view key, StringMap<T>& out, Read read) {
    const json::Value* map = Of(key, &json::Value::IsObject, "an object");
    if (map == nullptr) return;
    for (const json::Member& member : map->Members()) {
      if (error_) return;
      if (auto result = read(member.value)) {
        out.insert_or_assign(std::string(member.key()), std::move(*result));
      } else {
        error_ = std::move(result).error();
      }
    }
  }
  template <typename T, typename Read>
  void GetObject(std::string_view key, std::optional<T>& out, Read read) {
    const json::Value* value = Of(key, &json::Value::IsObject, "an object");
    if (value == nullptr || error_) return;
    if (auto result = read(*value)) {
      out = std::move(*result);
    } else {
      error_ = std::move(result).error();
    }
  }

  [[nodiscard]] bool Has(std::string_view key) { return Present(key) != nullptr; }
  [[nodiscard]] const json::Value& operator[](std::string_view key) const { return object_[key]; }

  template <typename T>
  [[nodiscard]] Result<T> Done(T& value) {
    if (error_) return std::unexpected(std::move(*error_));
    return std::move(value);
  }

  static Result<Quantity> QuantityOf(const json::Value& value);

 private:
  void Wrong(std::string_view key, std::string_view expected);
  [[nodiscard]] const json::Value* Present(std::string_view key) const;
  const json::Value* Of(std::string_view key, bool (json::Value::*is)() const,
                        std::string_view expected);
  std::span<const json::Value> List(std::string_view key);
  void ReadQuantity(std::string_view key, const json::Value& value, Quantity& out);

  const json::Value& object_;
  std::optional<Error> error_;
};

}  // namespace drachma::api
