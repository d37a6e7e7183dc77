#include "controllers/job.h"

#include <gtest/gtest.h>

#include "controllers/test_cluster.h"
#include "json/json.h"

namespace drachma::controllers {
namespace {

using json::Value;
namespace resources = client::resources;

const client::Resource kJobs = {"batch", "v1", "jobs"};

class JobTest : public testing::Test {
 protected:
  void Create(std::string_view spec) {
    Value job = json::Read(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j",
        "namespace":"default","uid":"job-uid"},"spec":{"selector":{"matchLabels":{"job":"j"}},
        "template":{"metadata":{"labels":{"job":"j"}},"spec":{"containers":[{"name":"c"}]}}}})")
                    .value();
    const Value fields = json::Read(spec).value();
    for (const json::Member& member : fields.Members()) {
      job.Edit("spec").Set(member.key(), member.value);
    }
    cluster_.api().Put(std::move(job));
    cluster_.Run();
  }
  std::vector<std::string> Pods() const { return cluster_.NamesOf(resources::kPods); }
  void End(const std::string& pod, std::string_view phase) {
    cluster_.api().Change(resources::kPods, "default", pod, [&](Value& object) {
      object.Edit("status") = Value::Object(
          {{"phase", phase},
           {"containerStatuses",
            json::Read(R"([{"state":{"terminated":{"finishedAt":"2026-11-30T10:00:01Z"}}}])")
                .value()}});
    });
    cluster_.Run();
  }
  Value Status() const { return cluster_.Get(kJobs, "j")["status"]; }
  bool Has(std::string_view condition) const {
    return client::IsConditionTrue(cluster_.Get(kJobs, "j"), condition);
  }

  TestCluster cluster_{{"job-controller"}};
};

TEST_F(JobTest, PodsRunUntilEnoughSucceeded) {
  Create(R"({"completions":3,"parallelism":2})");
  ASSERT_EQ(Pods().size(), 2U);
  End(Pods()[0], "Succeeded");
  End(Pods()[1], "Succeeded");
  EXPECT_EQ(Status()["succeeded"].AsInt(), 2);
  EXPECT_EQ(Status()["active"].AsInt(), 1);
  for (const std::string& pod : Pods()) {
    if (cluster_.Get(resources::kPods, pod)["status"]["phase"].IsNull()) End(pod, "Succeeded");
  }
  EXPECT_TRUE(Has("Complete"));
  EXPECT_EQ(Status()["succeeded"].AsInt(), 3);
  for (const std::string& pod : Pods()) {
    EXPECT_TRUE(cluster_.Get(resources::kPods, pod)["metadata"]["finalizers"].empty());
  }
}

TEST_F(JobTest, AClockThatWasSetBackDoesNotKeepItFromItsEnd) {
  Create("{}");
  cluster_.api().Change(kJobs, "default", "j", [](Value& job) {
    job.Edit("status").Set("startTime", "2026-11-30T11:00:00Z");
  });
  End(Pods()[0], "Succeeded");
  EXPECT_TRUE(Has("Complete"));
  EXPECT_EQ(Status()["completionTime"].AsString(), "2026-11-30T11:00:00Z");
}

TEST_F(JobTest, AFailedPodIsReplacedAfterItsBackOff) {
  Create("{}");
  End(Pods()[0], "Failed");
  EXPECT_EQ(Pods().size(), 1U);
  cluster_.Run(std::chrono::seconds(15));
  EXPECT_EQ(Pods().size(), 2U);
  EXPECT_EQ(Status()["failed"].AsInt(), 1);
}

TEST_F(JobTest, ASuccessEndsTheBackOffOfEarlierFailures) {
  Create(R"({"completions":2})");
  End(Pods()[0], "Failed");
  cluster_.Run(std::chrono::seconds(15));
  for (const std::string& pod : Pods()) {
    if (cluster_.Get(resources::kPods, pod)["status"]["phase"].IsNull()) End(pod, "Succeeded");
  }
  EXPECT_EQ(Pods().size(), 3U);
}

TEST_F(JobTest, ContainersThatRunAgainTooOftenEndIt) {
  Create(R"({"backoffLimit":2,"template":{"metadata":{"labels":{"job":"j"}},
      "spec":{"restartPolicy":"OnFailure","containers":[{"name":"c"}]}}})");
  const auto restarts = [&](int count) {
    cluster_.api().Change(resources::kPods, "default", Pods()[0], [&](Value& pod) {
      pod.Edit("status") = Value::Object(
          {{"phase", "Running"},
           {"containerStatuses", Value::Array({Value::Object({{"restartCount", count}})})}});
    });
    cluster_.Run();
  };
  restarts(1);
  EXPECT_FALSE(Has("FailureTarget"));
  restarts(2);
  EXPECT_TRUE(Has("FailureTarget"));
  End(Pods()[0], "Failed");
  EXPECT_TRUE(Has("Failed"));
  EXPECT_EQ((*client::ConditionOf(cluster_.Get(kJobs, "j"), "Failed"))["reason"].AsString(),
            "BackoffLimitExceeded");
}

TEST_F(JobTest, TooManyFailuresEndIt) {
  Create(R"({"backoffLimit":0})");
  End(Pods()[0], "Failed");
  EXPECT_TRUE(Has("Failed"));
  EXPECT_EQ(Pods().size(), 1U);
}

TEST_F(JobTest, IndexedPodsKnowTheirIndex) {
  Create(R"({"completions":3,"parallelism":3,"completionMode":"Indexed"})");
  std::set<std::string> indexes;
  for (const std::string& name : Pods()) {
    indexes.emplace(client::AnnotationOf(cluster_.Get(resources::kPods, name),
                                         "batch.kubernetes.io/job-completion-index"));
  }
  EXPECT_EQ(indexes, (std::set<std::string>{"0", "1", "2"}));
  EXPECT_FALSE(Status().Has("completedIndexes"));
  for (const std::string& pod : Pods()) End(pod, "Succeeded");
  EXPECT_EQ(Status()["completedIndexes"].AsString(), "0-2");
  EXPECT_TRUE(Has("Complete"));
}

TEST_F(JobTest, SuspensionTakesThePodsAway) {
  Create(R"({"suspend":true})");
  EXPECT_TRUE(Pods().empty());
  EXPECT_TRUE(Has("Suspended"));
  cluster_.api().Change(kJobs, "default", "j",
                        [](Value& job) { job.Edit("spec").Set("suspend", false); });
  cluster_.Run();
  EXPECT_EQ(Pods().size(), 1U);
}

TEST_F(JobTest, TheDeadlineEndsIt) {
  Create(R"({"activeDeadlineSeconds":30})");
  cluster_.Run(std::chrono::seconds(31));
  EXPECT_TRUE(Has("FailureTarget"));
}

// A pod of the Job "j" of uid "job-uid" that runs, and that somebody deleted.
constexpr std::string_view kLeavingPod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: j-1
  namespace: default
  labels: {job: j}
  deletionTimestamp: "2026-11-30T09:59:00Z"
  finalizers: [example.com/other, batch.kubernetes.io/job-tracking]
  ownerReferences:
  - {apiVersion: batch/v1, kind: Job, name: j, uid: job-uid, controller: true}
spec: {containers: [{name: c}]}
status: {phase: Running}
)";

TEST_F(JobTest, APodOfADeletedJobIsNotHeldBack) {
  Create("{}");
  const std::string pod = Pods().at(0);
  ASSERT_TRUE(client::HasFinalizer(cluster_.Get(resources::kPods, pod),
                                   "batch.kubernetes.io/job-tracking"));
  cluster_.api().Remove(kJobs, "default", "j");
  cluster_.Run();
  EXPECT_TRUE(cluster_.Get(resources::kPods, pod)["metadata"]["finalizers"].empty());
}

TEST_F(JobTest, APodOfAJobThatIsBeingDeletedIsNotHeldBack) {
  Create("{}");
  cluster_.api().Change(kJobs, "default", "j", [](Value& job) {
    job.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
    job.Edit("metadata").Set("finalizers", Value::Array({"foregroundDeletion"}));
  });
  cluster_.Run();
  ASSERT_EQ(Pods().size(), 1U);
  EXPECT_TRUE(cluster_.Get(resources::kPods, Pods()[0])["metadata"]["finalizers"].empty());
}

TEST_F(JobTest, AJobThatWentBeforeTheStartHoldsNoPodBack) {
  cluster_.api().Apply(kLeavingPod);
  cluster_.Run();
  EXPECT_EQ(cluster_.Get(resources::kPods, "j-1")["metadata"]["finalizers"],
            Value::Array({"example.com/other"}));
}

TEST_F(JobTest, AJobOfTheSameNameDoesNotHoldThePodsOfTheOldOneBack) {
  cluster_.api().Apply(kLeavingPod);
  cluster_.api().Change(resources::kPods, "default", "j-1", [](Value& pod) {
    pod.Edit("metadata").Edit("ownerReferences").EditItem(0).Set("uid", "older-uid");
  });
  Create("{}");
  EXPECT_EQ(cluster_.Get(resources::kPods, "j-1")["metadata"]["finalizers"],
            Value::Array({"example.com/other"}));
}

TEST_F(JobTest, APodWithoutAControllerIsNotHeldBack) {
  cluster_.api().Apply(kLeavingPod);
  cluster_.api().Change(resources::kPods, "default", "j-1",
                        [](Value& pod) { pod.Edit("metadata").Erase("ownerReferences"); });
  cluster_.Run();
  EXPECT_EQ(cluster_.Get(resources::kPods, "j-1")["metadata"]["finalizers"],
            Value::Array({"example.com/other"}));
}

TEST_F(JobTest, ARunningPodOfAJobThatLivesStaysTracked) {
  cluster_.api().Apply(kLeavingPod);
  Create("{}");
  EXPECT_TRUE(client::HasFinalizer(cluster_.Get(resources::kPods, "j-1"),
                                   "batch.kubernetes.io/job-tracking"));
}

TEST(Indexes, GoBothWays) {
  EXPECT_EQ(FormatIndexes({0, 1, 2, 4, 6, 7}), "0-2,4,6,7");
  EXPECT_EQ(ParseIndexes("0-2,4,6,7"), (std::set<std::int64_t>{0, 1, 2, 4, 6, 7}));
  EXPECT_EQ(FormatIndexes({}), "");
}

}  // namespace
}  // namespace drachma::controllers
