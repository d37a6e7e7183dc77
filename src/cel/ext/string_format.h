#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "cel/eval/value.h"

namespace drachma::cel {

// Before version 4 of cel-go's strings library, numbers are written as in English texts
// ("1,234.50", "1.2×10⁰³") and fewer kinds of values are taken.
enum class FormatStyle : std::uint8_t { kLocale, kPlain };

// "%d of %s".format([1, "x"]).
[[nodiscard]] Value FormatString(Arena& arena, std::string_view format, const ListData& args,
                                 FormatStyle style);

// One clause of a format string.
struct FormatClause {
  char verb = 's';  // one of s d f e b x X o
  int precision = 6;
};

// Takes what a format string consists of, in order. Errors end the walk.
class FormatVisitor {
 public:
  virtual ~FormatVisitor() = default;
  virtual void OnText(char c) = 0;
  // The argument of that number is asked for, before anything is known of the clause.
  virtual std::expected<void, std::string> OnArgument(std::int64_t index) = 0;
  virtual std::expected<void, std::string> OnClause(std::int64_t index,
                                                    const FormatClause& clause) = 0;
};

// Walks over `format` for `arg_count` arguments.
// ERRORS: cel-go's text ("could not parse formatting clause: unrecognized formatting clause "y"").
[[nodiscard]] std::expected<void, std::string> WalkFormat(std::string_view format,
                                                          std::int64_t arg_count, FormatStyle style,
                                                          FormatVisitor& visitor);

// "string clause can only be used on …, was given T".
[[nodiscard]] std::string WrongKindFor(char verb, FormatStyle style, std::string_view type);

}  // namespace drachma::cel
