#include "controllers/cron_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/test_cluster.h"
#include "json/json.h"

namespace drachma::controllers {
namespace {

using json::Value;
using std::chrono::minutes;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const client::Resource kCronJobs = {"batch", "v1", "cronjobs"};
const client::Resource kJobs = {"batch", "v1", "jobs"};

// Virtual time begins at 10:00 on 2026-11-30, the minute 29933880 since 1970.
class CronJobTest : public testing::Test {
 protected:
  void Create(std::string_view spec) {
    Value cron_job = json::Read(R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{
        "name":"c","namespace":"default","uid":"cron-uid",
        "creationTimestamp":"2026-11-30T09:59:30Z"},"spec":{"schedule":"*/10 * * * *",
        "jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"parallelism":2}}}})")
                         .value();
    const Value fields = json::Read(spec).value();
    for (const json::Member& member : fields.Members()) {
      cron_job.Edit("spec").Set(member.key(), member.value);
    }
    cluster_.api().Put(std::move(cron_job));
    cluster_.Run();
  }
  std::vector<std::string> Jobs() const { return cluster_.NamesOf(kJobs); }
  Value Status() const { return cluster_.Get(kCronJobs, "c")["status"]; }
  void End(const std::string& job, std::string_view condition) {
    cluster_.api().Change(kJobs, "default", job, [&](Value& object) {
      object.Edit("status") = Value::Object(
          {{"startTime", "2026-11-30T10:00:00Z"},
           {"completionTime", "2026-11-30T10:00:05Z"},
           {"conditions",
            Value::Array({Value::Object({{"type", condition}, {"status", "True"}})})}});
    });
    cluster_.Run();
  }

  TestCluster cluster_{{"cronjob-controller"}};
};

TEST_F(CronJobTest, AJobIsMadeWhenItsMinuteComes) {
  Create("{}");
  ASSERT_THAT(Jobs(), ElementsAre("c-29933880"));
  const Value job = cluster_.Get(kJobs, "c-29933880");
  EXPECT_EQ(job["metadata"]["labels"]["a"].AsString(), "b");
  EXPECT_EQ(
      job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"].AsString(),
      "2026-11-30T10:00:00Z");
  EXPECT_EQ(job["spec"]["parallelism"].AsInt(), 2);
  EXPECT_EQ(Status()["lastScheduleTime"].AsString(), "2026-11-30T10:00:00Z");
  EXPECT_EQ(Status()["active"].size(), 1U);
  cluster_.Run(minutes(10));
  EXPECT_THAT(Jobs(), ElementsAre("c-29933880", "c-29933890"));
}

TEST_F(CronJobTest, EndedJobsLeaveTheListOfActiveOnes) {
  Create("{}");
  End("c-29933880", "Complete");
  EXPECT_TRUE(Status()["active"].empty());
  EXPECT_EQ(Status()["lastSuccessfulTime"].AsString(), "2026-11-30T10:00:05Z");
  EXPECT_THAT(cluster_.Events(),
              Contains("SawCompletedJob Saw completed job: c-29933880, condition: Complete"));
}

TEST_F(CronJobTest, ForbidWaitsForTheJobThatRuns) {
  Create(R"({"concurrencyPolicy":"Forbid"})");
  cluster_.Run(minutes(10));
  EXPECT_THAT(Jobs(), ElementsAre("c-29933880"));
  EXPECT_THAT(cluster_.Events(), Contains(StartsWith("JobAlreadyActive ")));
  End("c-29933880", "Complete");
  EXPECT_EQ(Jobs().size(), 2U);
}

TEST_F(CronJobTest, ReplaceEndsTheJobThatRuns) {
  Create(R"({"concurrencyPolicy":"Replace"})");
  cluster_.Run(minutes(10));
  EXPECT_THAT(Jobs(), ElementsAre("c-29933890"));
}

TEST_F(CronJobTest, ASuspendedOneStartsNothing) {
  Create(R"({"suspend":true})");
  cluster_.Run(minutes(30));
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(CronJobTest, LateStartsAreMissedAfterTheDeadline) {
  cluster_.Run(minutes(5));
  Create(R"({"startingDeadlineSeconds":60})");
  EXPECT_THAT(Jobs(), IsEmpty());
  cluster_.Run(minutes(6));
  EXPECT_THAT(Jobs(), ElementsAre("c-29933890"));
}

TEST_F(CronJobTest, OnlySoManyEndedJobsAreKept) {
  Create(R"({"successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":0})");
  End("c-29933880", "Complete");
  EXPECT_EQ(Jobs().size(), 1U);
  cluster_.Run(minutes(10));
  End("c-29933890", "Complete");
  EXPECT_THAT(Jobs(), ElementsAre("c-29933890"));
  cluster_.Run(minutes(10));
  End("c-29933900", "Failed");
  EXPECT_THAT(Jobs(), ElementsAre("c-29933890"));
}

TEST_F(CronJobTest, SchedulesThatAreNoneAreWarnedOf) {
  Create(R"({"schedule":"61 * * * *"})");
  EXPECT_THAT(cluster_.Events(),
              ElementsAre("UnparseableSchedule unparseable schedule: \"61 * * * *\" : end of range "
                          "(61) above maximum (59): 61"));
  Create(R"({"timeZone":"Nowhere/Land"})");
  EXPECT_THAT(cluster_.Events(),
              Contains("UnknownTimeZone invalid timeZone: \"Nowhere/Land\": unknown time zone "
                       "Nowhere/Land"));
}

}  // namespace
}  // namespace drachma::controllers
