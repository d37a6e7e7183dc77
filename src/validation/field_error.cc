#include "validation/field_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "json/json.h"

namespace drachma::validation {
namespace {

struct TypeNames {
  const char* reason;
  const char* words;
  bool shows_value;
};

// In the order of ErrorType.
constexpr std::array<TypeNames, 12> kTypes = {{
    {"FieldValueNotFound", "Not found", true},
    {"FieldValueRequired", "Required value", false},
    {"FieldValueDuplicate", "Duplicate value", true},
    {"FieldValueInvalid", "Invalid value", true},
    {"FieldValueNotSupported", "Unsupported value", true},
    {"FieldValueForbidden", "Forbidden", false},
    {"FieldValueTooLong", "Too long", false},
    {"FieldValueTooMany", "Too many", true},
    {"FieldValueTooFew", "Too few", true},
    {"InternalError", "Internal error", false},
    {"FieldValueTypeInvalid", "Invalid value", true},
    {"FieldValueTooShort", "Too short", false},
}};

const TypeNames& NamesOf(ErrorType type) { return kTypes[static_cast<std::size_t>(type)]; }

// Length of the UTF-8 sequence that starts at `text[at]`, and its code point; 0 when malformed.
std::size_t DecodeRune(std::string_view text, std::size_t at, std::uint32_t* rune) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  std::size_t length = 0;
  std::uint32_t value = 0;
  if (lead < 0x80) {
    *rune = lead;
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07U;
  }
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
    value = (value << 6U) | (byte(at + i) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (surrogate || overlong || value > 0x10FFFF) return 0;
  *rune = value;
  return length;
}

// Go's strconv.IsPrint for what stands in API objects: everything but controls, spaces other than
// U+0020, format characters, private use and noncharacters.
bool IsPrintable(std::uint32_t rune) {
  struct Range {
    std::uint32_t first;
    std::uint32_t last;
  };
  static constexpr std::array<Range, 16> kHidden = {{{0x00, 0x1F},
                                                     {0x7F, 0xA0},
                                                     {0xAD, 0xAD},
                                                     {0x600, 0x605},
                                                     {0x61C, 0x61C},
                                                     {0x1680, 0x1680},
                                                     {0x180E, 0x180E},
                                                     {0x2000, 0x200F},
                                                     {0x2028, 0x202F},
                                                     {0x205F, 0x206F},
                                                     {0x3000, 0x3000},
                                                     {0xE000, 0xF8FF},
                                                     {0xFEFF, 0xFEFF},
                                                     {0xFFF0, 0xFFFB},
                                                     {0xFFFE, 0xFFFF},
                                                     {0xE0000, 0x10FFFF}}};
  return std::ranges::none_of(
      kHidden, [rune](const Range& range) { return range.first <= rune && rune <= range.last; });
}

const char* ShortEscape(std::uint32_t rune) {
  switch (rune) {
    case '\a':
      return "\\a";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\v':
      return "\\v";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return nullptr;
  }
}

FieldError Make(ErrorType type, std::string path, std::string shown, std::string detail) {
  return {.type = type,
          .path = std::move(path),
          .bad_value = std::move(shown),
          .detail = std::move(detail)};
}

}  // namespace

std::string EscapeHtml(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

const char* ReasonOf(ErrorType type) { return NamesOf(type).reason; }

std::string FieldError::Body() const {
  const TypeNames& names = NamesOf(type);
  std::string body = names.words;
  if (names.shows_value && !bad_value.empty()) body += ": " + bad_value;
  if (!detail.empty()) body += ": " + detail;
  return body;
}

std::string FieldError::Text() const { return path + ": " + Body(); }

std::string ShownText(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t rune = 0;
    const std::size_t length = DecodeRune(text, i, &rune);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
      continue;
    }
    if (const char* escape = ShortEscape(rune)) {
      out += escape;
    } else if (IsPrintable(rune)) {
      out += text.substr(i, length);
    } else if (rune < 0x80) {
      out += fmt::format("\\x{:02x}", rune);
    } else if (rune < 0x10000) {
      out += fmt::format("\\u{:04x}", rune);
    } else {
      out += fmt::format("\\U{:08x}", rune);
    }
    i += length;
  }
  return out + "\"";
}

std::string ShownNamed(std::string_view text) { return EscapeHtml(json::Write(json::Value(text))); }

std::string ShownInt(std::int64_t number) { return std::to_string(number); }

std::string Shown(const json::Value& value) {
  if (value.IsString()) return ShownText(value.AsString());
  return EscapeHtml(json::Write(value));
}

json::Value Internal(const json::Value& object, std::span<const std::string_view> fields) {
  if (!object.IsObject()) return nullptr;
  json::Value internal = json::Value::Object();
  for (const std::string_view field : fields) {
    std::string name(field);
    if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    internal.Set(name, object[field]);
  }
  return internal;
}

FieldError NotFound(std::string path, std::string shown) {
  return Make(ErrorType::kNotFound, std::move(path), std::move(shown), {});
}
FieldError Required(std::string path, std::string detail) {
  return Make(ErrorType::kRequired, std::move(path), {}, std::move(detail));
}
FieldError Duplicate(std::string path, std::string shown) {
  return Make(ErrorType::kDuplicate, std::move(path), std::move(shown), {});
}
FieldError Invalid(std::string path, std::string shown, std::string detail) {
  return Make(ErrorType::kInvalid, std::move(path), std::move(shown), std::move(detail));
}
FieldError NotSupported(std::string path, std::string shown,
                        std::span<const std::string_view> supported) {
  std::string detail;
  for (const std::string_view value : supported) {
    detail += detail.empty() ? "supported values: " : ", ";
    detail += ShownText(value);
  }
  return Make(ErrorType::kNotSupported, std::move(path), std::move(shown), std::move(detail));
}
FieldError Forbidden(std::string path, std::string detail) {
  return Make(ErrorType::kForbidden, std::move(path), {}, std::move(detail));
}
FieldError TooLong(std::string path, std::int64_t bytes_max) {
  return Make(ErrorType::kTooLong, std::move(path), {},
              fmt::format("may not be more than {} byte{}", bytes_max, bytes_max == 1 ? "" : "s"));
}
FieldError TooLongCharacters(std::string path, std::int64_t characters_max) {
  return Make(ErrorType::kTooLong, std::move(path), {},
              fmt::format("may not be more than {} character{}", characters_max,
                          characters_max == 1 ? "" : "s"));
}
FieldError TooMany(std::string path, std::size_t actual, std::size_t max) {
  return Make(ErrorType::kTooMany, std::move(path), std::to_string(actual),
              fmt::format("must have at most {} item{}", max, max == 1 ? "" : "s"));
}
FieldError InternalError(std::string path, std::string detail) {
  return Make(ErrorType::kInternal, std::move(path), {}, std::move(detail));
}

std::string Child(std::string_view path, std::string_view name) {
  if (path.empty()) return std::string(name);
  std::string out;
  out.reserve(path.size() + 1 + name.size());
  out.append(path).append(1, '.').append(name);
  return out;
}
std::string Index(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}
std::string Key(std::string_view path, std::string_view key) {
  return fmt::format("{}[{}]", path, key);
}

void Append(ErrorList& to, ErrorList from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

ErrorList Covered(ErrorList errors) {
  for (FieldError& error : errors) error.source = Source::kCovered;
  return errors;
}

ErrorList WithOrigin(ErrorList errors, std::string_view origin) {
  for (FieldError& error : errors) error.origin = origin;
  return errors;
}

Error InvalidObject(std::string_view group, std::string_view kind, std::string_view name,
                    const ErrorList& errors) {
  Error out{.code = Code::kInvalid,
            .group = std::string(group),
            .kind = std::string(kind),
            .name = std::string(name)};
  std::vector<std::string> texts;
  for (const FieldError& error : errors) {
    out.causes.push_back({ReasonOf(error.type), error.path, error.Body()});
    std::string text = error.Text();
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  const std::string qualified =
      group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  out.message = fmt::format("{} {} is invalid", qualified, ShownText(name));
  if (texts.size() == 1) {
    out.message += ": " + texts.front();
  } else if (!texts.empty()) {
    out.message += fmt::format(": [{}]", fmt::join(texts, ", "));
  }
  return out;
}

}  // namespace drachma::validation
