#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>

#include "base/clock.h"

namespace drachma {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};
constexpr std::array kNames = {"DEBUG", "INFO", "WARN", "ERROR"};

}  // namespace

void SetLogLevel(LogLevel level) { g_level = level; }

bool LogEnabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

void LogLine(LogLevel level, std::string_view part, std::string_view text) {
  const std::string line =
      fmt::format("{} {:5} {}: {}\n", FormatMicroTime(RealClock().Now()),
                  kNames[static_cast<std::size_t>(level)], part, text);
  // One write call per line keeps lines whole; a closed standard error is nobody's problem here.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace drachma
