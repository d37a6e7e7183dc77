#include "lint/origin.h"

#include <algorithm>

#include "lint/path.h"

namespace drachma::lint {
namespace {

using json::YamlDocument;

// Aliases looked at for one path; documents whose aliases lead on and on are left alone.
constexpr int kLooksMax = 10'000;

bool Stands(const YamlDocument& document, std::string_view path) {
  return std::ranges::find(document.places, path, &YamlDocument::Place::path) !=
         document.places.end();
}

// The mapping that an alias is merged into: "a" for "a.<<" and "a.<<[1]".
std::optional<std::string_view> MergedInto(std::string_view path) {
  if (path.ends_with(']')) path = path.substr(0, path.rfind('['));
  if (path == "<<") return "";
  if (!path.ends_with(".<<")) return std::nullopt;
  return path.substr(0, path.size() - 3);
}

// `path` with the node `from` in it called `to`.
std::string Moved(std::string_view path, std::string_view from, std::string_view to) {
  std::string_view rest = path.substr(from.size());
  if (rest.starts_with('[')) return std::string(to) + std::string(rest);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return Child(to, rest);
}

class Search {
 public:
  explicit Search(const YamlDocument& document) : document_(document) {}

  std::optional<std::string> Find(std::string_view path) {
    if (Stands(document_, path)) return std::string(path);
    for (const YamlDocument::Alias& alias : document_.aliases) {
      if (++looks_ > kLooksMax) return std::nullopt;
      if (path != alias.path && IsWithin(path, alias.path)) {
        return Find(Moved(path, alias.path, alias.origin));
      }
      const std::optional<std::string_view> mapping = MergedInto(alias.path);
      if (!mapping || path == *mapping || !IsWithin(path, *mapping)) continue;
      if (Stands(document_, Child(*mapping, KeyBelow(path, *mapping)))) continue;
      // Of several merged mappings the first that has the key counts.
      if (auto found = Find(Moved(path, *mapping, alias.origin))) return found;
    }
    return std::nullopt;
  }

 private:
  // "c" for "a.b.c.d" below "a.b".
  static std::string_view KeyBelow(std::string_view path, std::string_view mapping) {
    std::string_view key = path.substr(mapping.size());
    if (key.starts_with('.')) key.remove_prefix(1);
    return key.substr(0, key.find_first_of(".["));
  }

  const YamlDocument& document_;
  int looks_ = 0;
};

}  // namespace

std::optional<std::string> OriginOf(const YamlDocument& document, std::string_view path) {
  return Search(document).Find(path);
}

}  // namespace drachma::lint
