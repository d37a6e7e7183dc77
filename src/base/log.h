#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace drachma {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Nothing below `level` is written. Starts at kInfo. Thread-safe.
void SetLogLevel(LogLevel level);
[[nodiscard]] bool LogEnabled(LogLevel level);
// Writes one line to standard error: time, level, part, text. Thread-safe; lines never mix.
void LogLine(LogLevel level, std::string_view part, std::string_view text);

// Log(LogLevel::kInfo, "store", "opened {}", path): `part` is the room that speaks.
template <typename... Args>
void Log(LogLevel level, std::string_view part, fmt::format_string<Args...> format,
         Args&&... args) {
  if (LogEnabled(level)) LogLine(level, part, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace drachma
