#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::validation {

// What is wrong with a field: apimachinery's field.ErrorType. The names are the reasons of status
// causes ("FieldValueInvalid") and the words of messages ("Invalid value").
enum class ErrorType : std::uint8_t {
  kNotFound,
  kRequired,
  kDuplicate,
  kInvalid,
  kNotSupported,
  kForbidden,
  kTooLong,
  kTooMany,
  kTooFew,
  kInternal,
  kTypeInvalid,
  kTooShort,
};

// Where a rule comes from, as far as it matters: upstream generates a part of its rules from tags
// of the versioned types ("declarative"), which then replace the hand-written ones that report the
// same. kCovered is a hand-written error that gives way when a declarative one has the same field,
// type and origin.
// Only declarative errors that upstream calls "beta" replace others.
enum class Source : std::uint8_t { kHandWritten, kCovered, kDeclarative, kDeclarativeBeta };

// One fault of one field (apimachinery's field.Error).
struct FieldError {
  ErrorType type = ErrorType::kInvalid;
  std::string path;       // "spec.devices.requests[0].name"; "<nil>" for the whole object
  std::string bad_value;  // as printed: "\"x\"", "0", "{\"Driver\":…}"; empty: not printed
  std::string detail;
  std::string origin = {};  // field.Error.Origin: "format=k8s-short-name", "maxItems"
  Source source = Source::kHandWritten;

  // "Invalid value: \"x\": detail": the message of the status cause.
  [[nodiscard]] std::string Body() const;
  // "path: Invalid value: …".
  [[nodiscard]] std::string Text() const;
};

using ErrorList = std::vector<FieldError>;

// "FieldValueInvalid": the reason of a status cause.
[[nodiscard]] const char* ReasonOf(ErrorType type);
// A value as an error shows it: strings quoted as Go's %q, structures as compact JSON.
[[nodiscard]] std::string Shown(const json::Value& value);
[[nodiscard]] std::string ShownText(std::string_view text);
// JSON text as Go writes it, who escapes what would mean something in HTML.
[[nodiscard]] std::string EscapeHtml(const std::string& json);
// A text whose Go type is a named string (an enum, a UID): printed as JSON instead.
[[nodiscard]] std::string ShownNamed(std::string_view text);
[[nodiscard]] std::string ShownInt(std::int64_t number);
// An object in the spelling of upstream's internal type, which has no JSON names: all of its
// `fields` in this order, with a capital first, null where there is none.
[[nodiscard]] json::Value Internal(const json::Value& object,
                                   std::span<const std::string_view> fields);

// The constructors of apimachinery's field package. `shown` is a value that went through Shown*.
[[nodiscard]] FieldError NotFound(std::string path, std::string shown);
[[nodiscard]] FieldError Required(std::string path, std::string detail = {});
[[nodiscard]] FieldError Duplicate(std::string path, std::string shown);
[[nodiscard]] FieldError Invalid(std::string path, std::string shown, std::string detail);
[[nodiscard]] FieldError NotSupported(std::string path, std::string shown,
                                      std::span<const std::string_view> supported);
[[nodiscard]] FieldError Forbidden(std::string path, std::string detail);
[[nodiscard]] FieldError TooLong(std::string path, std::int64_t bytes_max);
[[nodiscard]] FieldError TooLongCharacters(std::string path, std::int64_t characters_max);
[[nodiscard]] FieldError TooMany(std::string path, std::size_t actual, std::size_t max);
[[nodiscard]] FieldError InternalError(std::string path, std::string detail);

// field.Path: Child("spec", "x") is "spec.x", Child("", "x") is "x"; Index("a", 1) is "a[1]",
// Key("a", "k") is "a[k]".
[[nodiscard]] std::string Child(std::string_view path, std::string_view name);
[[nodiscard]] std::string Index(std::string_view path, std::size_t index);
[[nodiscard]] std::string Key(std::string_view path, std::string_view key);

void Append(ErrorList& to, ErrorList from);
// Marks all errors of the list.
[[nodiscard]] ErrorList Covered(ErrorList errors);
[[nodiscard]] ErrorList WithOrigin(ErrorList errors, std::string_view origin);

// The 422 of upstream's NewInvalid: `ResourceClaim.resource.k8s.io "x" is invalid: [a, b]` with one
// cause per error (repeated texts count once in the message). REQUIRES: errors is not empty.
[[nodiscard]] Error InvalidObject(std::string_view group, std::string_view kind,
                                  std::string_view name, const ErrorList& errors);

}  // namespace drachma::validation
