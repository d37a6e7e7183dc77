#pragma once

#include <string_view>

namespace drachma::store {

// Whether a scope covers many keys (it is empty or ends in '/') rather than exactly one.
inline bool IsPrefix(std::string_view scope) { return scope.empty() || scope.back() == '/'; }

inline bool InScope(std::string_view scope, std::string_view key) {
  return IsPrefix(scope) ? key.starts_with(scope) : key == scope;
}

// Calls `visit` for every scope that covers `key`: "", each prefix that ends in '/', and the key
// itself.
template <typename Visit>
void ForEachScopeOf(std::string_view key, Visit visit) {
  visit(std::string_view());
  for (std::size_t at = key.find('/'); at != std::string_view::npos; at = key.find('/', at + 1)) {
    visit(key.substr(0, at + 1));
  }
  if (!IsPrefix(key)) visit(key);
}

}  // namespace drachma::store
