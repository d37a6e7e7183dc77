#pragma once

#include <string>
#include <string_view>

namespace drachma::validation {

// What robfig/cron's standard parser, which CronJobs use, says about a schedule; empty when it is
// good. Pure; any thread.
[[nodiscard]] std::string CronScheduleFault(std::string_view schedule);

// Whether the system's time zone database has this zone; everything that looks like one counts
// where there is no database. The database does not change while the program runs.
[[nodiscard]] bool IsTimeZone(std::string_view name);

}  // namespace drachma::validation
