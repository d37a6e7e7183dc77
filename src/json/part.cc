#include "json/part.h"

#include <algorithm>
#include <charconv>
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

// Where the value of a member begins, of the object that begins at `at`; null when there is none.
const char* FindMember(const char* at, const char* end, std::string_view name) {
  if (at == end || *at != '{') return nullptr;
  for (++at; at < end && *at == '"';) {
    const char* const key = at + 1;
    at = SkipString(at, end);
    const bool found = std::string_view(key, at - key - 1) == name;
    if (at == end) return nullptr;
    ++at;  // the colon
    if (found) return at;
    at = SkipValue(at, end);
    if (at < end) ++at;  // the comma
  }
  return nullptr;
}

const char* SkipSpace(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) ++at;
  return at;
}

// Where the value of the last member `name` begins, of the object of any layout that begins at
// `at`; null when there is none.
const char* FindSentMember(const char* at, const char* end, std::string_view name) {
  if (at == end || *at != '{') return nullptr;
  const char* found = nullptr;
  for (at = SkipSpace(at + 1, end); at < end && *at == '"';) {
    const char* const key = at + 1;
    at = SkipString(at, end);
    const std::string_view text(key, at - key - 1);
    at = SkipSpace(at, end);
    if (at == end) return nullptr;
    at = SkipSpace(at + 1, end);  // the colon
    if (text == name) found = at;
    at = SkipSpace(SkipValue(at, end), end);
    if (at < end && *at == ',') at = SkipSpace(at + 1, end);
  }
  return found;
}

const char* FindSentItem(const char* at, const char* end, std::size_t index) {
  if (at == end || *at != '[') return nullptr;
  at = SkipSpace(at + 1, end);
  for (; index > 0; --index) {
    at = SkipSpace(SkipValue(at, end), end);
    if (at == end || *at != ',') return nullptr;
    at = SkipSpace(at + 1, end);
  }
  return at < end && *at != ']' ? at : nullptr;
}

}  // namespace

std::string_view SentText(std::string_view text, std::string_view path) {
  const char* const end = text.data() + text.size();
  const char* at = SkipSpace(text.data(), end);
  while (!path.empty()) {
    if (path.front() == '[') {
      std::size_t index = 0;
      const auto parsed = std::from_chars(path.data() + 1, path.data() + path.size(), index);
      path.remove_prefix(std::min<std::size_t>(parsed.ptr - path.data() + 1, path.size()));
      at = FindSentItem(at, end, index);
    } else {
      if (path.front() == '.') path.remove_prefix(1);
      const std::size_t name = std::min(path.find_first_of(".["), path.size());
      at = FindSentMember(at, end, path.substr(0, name));
      path.remove_prefix(name);
    }
    if (at == nullptr) return {};
  }
  std::string_view found(at, static_cast<std::size_t>(SkipValue(at, end) - at));
  found.remove_suffix(found.size() - std::min(found.find_last_not_of(" \t\r\n") + 1, found.size()));
  return found;
}

std::string_view FindText(std::string_view text, std::string_view path) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    at = FindMember(at, end, path.substr(0, dot));
    if (at == nullptr) return {};
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  // Only of the value itself is the end looked for: what holds it may be long.
  return {at, static_cast<std::size_t>(SkipValue(at, end) - at)};
}

NestedText FindNested(std::string_view text, std::string_view outer, std::string_view inner) {
  const char* const end = text.data() + text.size();
  const char* const begin = FindMember(text.data(), end, outer);
  if (begin == nullptr) return {};
  if (*begin != '{') {
    return {.outer = {begin, static_cast<std::size_t>(SkipValue(begin, end) - begin)}, .inner = {}};
  }
  NestedText found;
  const char* at = begin + 1;
  while (at < end && *at == '"') {
    const char* const key = at + 1;
    at = SkipString(at, end);
    const bool is_inner = std::string_view(key, at - key - 1) == inner;
    if (at == end) return {};
    const char* const value = ++at;  // behind the colon
    at = SkipValue(at, end);
    if (is_inner) found.inner = {value, static_cast<std::size_t>(at - value)};
    if (at < end && *at == ',') ++at;
  }
  found.outer = {begin, static_cast<std::size_t>(std::min(at + 1, end) - begin)};
  return found;
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
