#include "lint/path.h"

#include <charconv>

namespace drachma::lint {

std::vector<Step> ParsePath(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    if (path.front() == '[') {
      const std::size_t close = path.find(']');
      std::size_t index = 0;
      std::from_chars(path.data() + 1, path.data() + close, index);
      steps.emplace_back(index);
      path.remove_prefix(close == std::string_view::npos ? path.size() : close + 1);
    } else {
      const std::size_t end = path.find_first_of(".[");
      steps.emplace_back(std::string(path.substr(0, end)));
      path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    }
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  return steps;
}

std::string FormatPath(const std::vector<Step>& steps) {
  std::string path;
  for (const Step& step : steps) {
    path = std::holds_alternative<std::string>(step) ? Child(path, std::get<std::string>(step))
                                                     : Item(path, std::get<std::size_t>(step));
  }
  return path;
}

std::string Child(std::string_view parent, std::string_view key) {
  std::string path(parent);
  if (!path.empty()) path += '.';
  return path += key;
}

std::string Item(std::string_view parent, std::size_t index) {
  return std::string(parent) + "[" + std::to_string(index) + "]";
}

std::string Parent(std::string_view path) {
  const std::size_t cut = path.find_last_of(".[");
  return std::string(cut == std::string_view::npos ? std::string_view() : path.substr(0, cut));
}

bool IsWithin(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty()) return true;
  if (!path.starts_with(ancestor)) return false;
  return path.size() == ancestor.size() || path[ancestor.size()] == '.' ||
         path[ancestor.size()] == '[';
}

}  // namespace drachma::lint
