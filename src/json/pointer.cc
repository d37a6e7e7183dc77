#include "json/pointer.h"

namespace drachma::json {

std::string UnescapePointerToken(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const std::string_view two = token.substr(i, 2);
    if (two == "~1" || two == "~0") {
      text.push_back(two == "~1" ? '/' : '~');
      ++i;
    } else {
      text.push_back(token[i]);
    }
  }
  return text;
}

}  // namespace drachma::json
