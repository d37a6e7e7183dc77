#include "lint/tree.h"

#include "lint/path.h"

namespace drachma::lint {

const json::Value& ValueAt(const json::Value& root, std::string_view path) {
  static const json::Value kNull;
  const json::Value* at = &root;
  for (const Step& step : ParsePath(path)) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      at = &(*at)[*key];
    } else {
      const std::size_t index = std::get<std::size_t>(step);
      if (index >= at->Items().size()) return kNull;
      at = &at->Items()[index];
    }
  }
  return *at;
}

}  // namespace drachma::lint
