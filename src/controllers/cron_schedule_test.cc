#include "controllers/cron_schedule.h"

#include <gtest/gtest.h>

namespace drachma::controllers {
namespace {

std::string Next(std::string_view schedule, std::string_view after, std::string_view zone = "") {
  const auto parsed = CronSchedule::Parse(schedule, zone);
  if (!parsed) return parsed.error().message;
  const auto next = parsed->Next(ParseTime(after).value());
  return next ? FormatTime(*next) : "never";
}

TEST(CronScheduleTest, FieldsTakeListsRangesStepsAndNames) {
  EXPECT_EQ(Next("* * * * *", "2026-11-30T10:00:00Z"), "2026-11-30T10:01:00Z");
  EXPECT_EQ(Next("*/15 * * * *", "2026-11-30T10:00:01Z"), "2026-11-30T10:15:00Z");
  EXPECT_EQ(Next("5/20 * * * *", "2026-11-30T10:25:00Z"), "2026-11-30T10:45:00Z");
  EXPECT_EQ(Next("30 6-16/4 * * mon-fri", "2026-12-04T14:31:00Z"), "2026-12-07T06:30:00Z");
  EXPECT_EQ(Next("0 0 1 Jan,JUL *", "2026-11-30T10:00:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(Next("0 12 ? * 0", "2026-11-30T10:00:00Z"), "2026-12-06T12:00:00Z");
}

TEST(CronScheduleTest, EitherDayFitsWhenBothAreGiven) {
  EXPECT_EQ(Next("0 0 13 * fri", "2026-11-30T10:00:00Z"), "2026-12-04T00:00:00Z");
  EXPECT_EQ(Next("0 0 2 * fri", "2026-11-30T10:00:00Z"), "2026-12-02T00:00:00Z");
}

TEST(CronScheduleTest, NamesStandForSchedules) {
  EXPECT_EQ(Next("@hourly", "2026-11-30T10:20:00Z"), "2026-11-30T11:00:00Z");
  EXPECT_EQ(Next("@daily", "2026-11-30T10:20:00Z"), "2026-12-01T00:00:00Z");
  EXPECT_EQ(Next("@weekly", "2026-11-30T10:20:00Z"), "2026-12-06T00:00:00Z");
  EXPECT_EQ(Next("@monthly", "2026-12-30T10:20:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(Next("@yearly", "2026-11-30T10:20:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(Next("@every 1h30m", "2026-11-30T10:20:07Z"), "2026-11-30T11:50:07Z");
}

TEST(CronScheduleTest, ZonesMoveTheClock) {
  EXPECT_EQ(Next("0 9 * * *", "2026-11-30T10:00:00Z", "Europe/Berlin"), "2026-12-01T08:00:00Z");
  EXPECT_EQ(Next("TZ=America/New_York 0 9 * * *", "2026-07-01T00:00:00Z"), "2026-07-01T13:00:00Z");
  // 02:30 does not exist on the day that summer time begins.
  EXPECT_EQ(Next("30 2 * * *", "2026-03-28T02:00:00Z", "Europe/Berlin"), "2026-03-30T00:30:00Z");
  EXPECT_EQ(FormatInZone(ParseTime("2026-07-01T00:00:00Z").value(), "Europe/Berlin"),
            "2026-07-01T02:00:00+02:00");
  EXPECT_EQ(FormatInZone(ParseTime("2026-07-01T00:00:00Z").value(), ""), "2026-07-01T00:00:00Z");
  EXPECT_FALSE(IsKnownZone("Europe/Atlantis"));
}

TEST(CronScheduleTest, LeapDaysCome) {
  EXPECT_EQ(Next("0 0 29 2 *", "2026-11-30T10:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(Next("59 23 31 2 *", "2026-11-30T10:00:00Z"), "never");
}

TEST(CronScheduleTest, FaultsAreToldInCronsWords) {
  EXPECT_EQ(Next("* * * *", "2026-11-30T10:00:00Z"),
            "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(Next("60 * * * *", "2026-11-30T10:00:00Z"), "end of range (60) above maximum (59): 60");
  EXPECT_EQ(Next("* * 0 * *", "2026-11-30T10:00:00Z"),
            "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(Next("5-3 * * * *", "2026-11-30T10:00:00Z"),
            "beginning of range (5) beyond end of range (3): 5-3");
  EXPECT_EQ(Next("*/0 * * * *", "2026-11-30T10:00:00Z"),
            "step of range should be a positive number: */0");
  EXPECT_EQ(Next("x * * * *", "2026-11-30T10:00:00Z"),
            "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
  EXPECT_EQ(Next("@noon", "2026-11-30T10:00:00Z"), "unrecognized descriptor: @noon");
  EXPECT_EQ(Next("", "2026-11-30T10:00:00Z"), "empty spec string");
}

}  // namespace
}  // namespace drachma::controllers
