#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "apiserver/admission.h"
#include "json/json.h"
#include "json/value.h"

namespace drachma::apiserver {

// Objects of a test, read as plugins and authorisers read those of the store.
class FakeObjectReader final : public ObjectReader {
 public:
  // Adds or replaces the object `text` (JSON) of a resource.
  void Add(std::string_view plural, std::string_view text) {
    AddObject(plural, json::Read(text).value());
  }
  void AddObject(std::string_view plural, json::Value object) {
    const json::Value& metadata = object["metadata"];
    const Key key{std::string(plural), std::string(metadata["namespace"].AsString()),
                  std::string(metadata["name"].AsString())};
    objects_[key] = std::move(object);
  }
  void Remove(std::string_view plural, std::string_view ns, std::string_view name) {
    objects_.erase(Key{std::string(plural), std::string(ns), std::string(name)});
  }

  [[nodiscard]] json::Value Get(std::string_view /*group*/, std::string_view plural,
                                std::string_view ns, std::string_view name) const override {
    const auto found = objects_.find(Key{std::string(plural), std::string(ns), std::string(name)});
    return found == objects_.end() ? json::Value() : found->second;
  }
  void ForEach(std::string_view /*group*/, std::string_view plural, std::string_view ns,
               const std::function<void(const json::Value&)>& visit) const override {
    for (const auto& [key, object] : objects_) {
      if (std::get<0>(key) == plural && (ns.empty() || std::get<1>(key) == ns)) visit(object);
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, json::Value> objects_;
};

}  // namespace drachma::apiserver
