#include "json/part.h"

#include <cstring>

#include "json/json.h"

namespace drachma::json {
namespace {

// Behind the string that begins at `at`.
const char* SkipString(const char* at, const char* end) {
  for (++at;;) {
    const auto* quote = static_cast<const char*>(std::memchr(at, '"', end - at));
    if (quote == nullptr) return end;
    // An even number of backslashes before it escapes each other and not the quote.
    const char* escape = quote;
    while (escape > at && escape[-1] == '\\') --escape;
    if ((quote - escape) % 2 == 0) return quote + 1;
    at = quote + 1;
  }
}

// Behind the value that begins at `at`.
const char* SkipValue(const char* at, const char* end) {
  for (int depth = 0; at < end;) {
    switch (*at) {
      case '"':
        at = SkipString(at, end);
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        continue;
      case '}':
      case ']':
        if (depth == 0) return at;  // of a scalar: the end of what holds it
        --depth;
        ++at;
        break;
      case ',':
        if (depth == 0) return at;
        ++at;
        continue;
      default:
        ++at;
        continue;
    }
    if (depth == 0) return at;
  }
  return end;
}

// The text of one member's value; empty when there is none.
std::string_view FindMember(std::string_view object, std::string_view name) {
  const char* at = object.data();
  const char* const end = at + object.size();
  if (object.empty() || *at != '{') return {};
  for (++at; at < end && *at == '"';) {
    const char* const key = at + 1;
    at = SkipString(at, end);
    const bool found = std::string_view(key, at - key - 1) == name;
    if (at == end) return {};
    const char* const value = at + 1;
    at = SkipValue(value, end);
    if (found) return {value, static_cast<std::size_t>(at - value)};
    if (at < end) ++at;  // the comma
  }
  return {};
}

}  // namespace

std::string_view FindText(std::string_view text, std::string_view path) {
  while (!path.empty() && !text.empty()) {
    const std::size_t dot = path.find('.');
    text = FindMember(text, path.substr(0, dot));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return text;
}

Value ReadPart(std::string_view text, std::span<const std::string> paths) {
  Value part = Value::Object();
  for (const std::string& path : paths) {
    Result<Value> value = Read(FindText(text, path));
    if (!value) continue;  // there is none
    Value* at = &part;
    std::string_view steps = path;
    for (std::size_t dot = steps.find('.'); dot != std::string_view::npos; dot = steps.find('.')) {
      at = &at->Edit(steps.substr(0, dot));
      steps.remove_prefix(dot + 1);
    }
    at->Set(steps, *std::move(value));
  }
  return part;
}

}  // namespace drachma::json
