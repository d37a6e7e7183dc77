#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "client/event_recorder.h"
#include "client/fake_client.h"
#include "client/informer.h"
#include "client/lease.h"
#include "client/objects.h"
#include "client/request_url.h"
#include "client/status_error.h"
#include "client/work_queue.h"

namespace drachma::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kPodA = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}}";
constexpr std::string_view kPodB = "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: x}}";
constexpr std::string_view kPodC = "{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: x}}";

class ClientTest : public ::testing::Test {
 protected:
  void RunFor(Duration duration) {
    const Time deadline = executor_.clock().Now() + duration;
    while (executor_.RunOne(deadline)) {
    }
  }

  VirtualExecutor executor_{Time(std::chrono::hours(24 * 365 * 50))};
  FakeApi api_;
  std::unique_ptr<Client> client_ = api_.factory().NewClient(executor_, "test");
};

class InformerTest : public ClientTest {
 protected:
  std::unique_ptr<Informer> NewInformer() {
    auto informer = std::make_unique<Informer>(*client_, Informer::Options{resources::kPods});
    informer->Listen([this](const Change& change) {
      const char* const kNames[] = {"+", "*", "-"};
      changes_.push_back(kNames[static_cast<int>(change.type)] +
                         std::string(NameOf(change.object)));
    });
    return informer;
  }

  std::vector<std::string> changes_;
};

TEST_F(InformerTest, TheFirstCopyIsToldInTheOrderOfChanges) {
  api_.Apply(kPodB);
  api_.Apply(kPodA);
  const auto informer = NewInformer();
  bool synced = false;
  informer->Start([&] { synced = true; });
  RunFor(std::chrono::seconds(1));
  EXPECT_TRUE(synced);
  EXPECT_THAT(changes_, ElementsAre("+b", "+a"));
  EXPECT_NE(informer->Get("x", "a"), nullptr);
}

TEST_F(InformerTest, AChangeNamesWhatWasBefore) {
  api_.Apply(kPodA);
  const auto informer = NewInformer();
  informer->Start([] {});
  RunFor(std::chrono::seconds(1));
  api_.Change(resources::kPods, "x", "a",
              [](json::Value& pod) { pod.Edit("spec").Set("nodeName", "n"); });
  api_.Apply(kPodB);
  api_.Remove(resources::kPods, "x", "a");
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(changes_, ElementsAre("+a", "*a", "+b", "-a"));
  EXPECT_EQ(informer->objects().size(), 1U);
}

TEST_F(InformerTest, AServerWithoutInitialEventsIsListed) {
  api_.AllowWatchList(false);
  api_.Apply(kPodA);
  const auto informer = NewInformer();
  informer->Start([] {});
  RunFor(std::chrono::seconds(1));
  EXPECT_TRUE(informer->synced());
  api_.Apply(kPodB);
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(changes_, ElementsAre("+a", "+b"));
}

TEST_F(InformerTest, ABrokenWatchGoesOnWhereItStood) {
  api_.Apply(kPodA);
  const auto informer = NewInformer();
  informer->Start([] {});
  RunFor(std::chrono::seconds(1));
  api_.CloseWatches({.code = Code::kUnavailable, .message = "connection refused"});
  api_.Apply(kPodB);
  api_.Remove(resources::kPods, "x", "a");
  RunFor(std::chrono::seconds(20));
  EXPECT_THAT(changes_, ElementsAre("+a", "+b", "-a"));
}

TEST_F(InformerTest, AnExpiredWatchListsAgainAndReportsWhatWentAway) {
  api_.Apply(kPodA);
  api_.Apply(kPodB);
  const auto informer = NewInformer();
  informer->Start([] {});
  RunFor(std::chrono::seconds(1));
  api_.CloseWatches({.code = Code::kUnavailable, .message = "connection refused"});
  api_.Remove(resources::kPods, "x", "a");
  api_.Apply(kPodC);
  api_.Compact();
  RunFor(std::chrono::seconds(20));
  EXPECT_THAT(changes_, ElementsAre("+a", "+b", "-a", "+c"));
}

TEST_F(InformerTest, AnotherObjectOfTheSameNameIsADeletionAndAnAddition) {
  api_.Apply(kPodA);
  const auto informer = NewInformer();
  informer->Start([] {});
  RunFor(std::chrono::seconds(1));
  api_.CloseWatches({.code = Code::kGone, .message = "gone"});
  api_.Remove(resources::kPods, "x", "a");
  api_.Apply(kPodA);
  RunFor(std::chrono::seconds(20));
  EXPECT_THAT(changes_, ElementsAre("+a", "-a", "+a"));
}

TEST_F(InformerTest, NothingIsCalledAfterItsEnd) {
  api_.Apply(kPodA);
  auto informer = NewInformer();
  informer->Start([] {});
  informer.reset();
  RunFor(std::chrono::seconds(20));
  EXPECT_THAT(changes_, IsEmpty());
}

class WorkQueueTest : public ClientTest {
 protected:
  std::unique_ptr<WorkQueue> NewQueue(std::size_t concurrency) {
    return std::make_unique<WorkQueue>(executor_, WorkQueue::Options{.concurrency = concurrency},
                                       [this](const std::string& key, WorkQueue::Done done) {
                                         started_.push_back(key);
                                         running_.emplace_back(std::move(done));
                                       });
  }

  std::vector<std::string> started_;
  std::vector<WorkQueue::Done> running_;
};

TEST_F(WorkQueueTest, AKeyWishedForTwiceIsHandledOnce) {
  const auto queue = NewQueue(10);
  queue->Add("a");
  queue->Add("a");
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(started_, ElementsAre("a"));
}

TEST_F(WorkQueueTest, AKeyWishedForWhileHandledComesAgainAfterwards) {
  const auto queue = NewQueue(10);
  queue->Add("a");
  RunFor(std::chrono::seconds(1));
  queue->Add("a");
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(started_, ElementsAre("a"));
  running_[0](WorkQueue::Outcome::kDone);
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(started_, ElementsAre("a", "a"));
}

TEST_F(WorkQueueTest, NoMoreKeysThanTheLimitAreHandledAtOnce) {
  const auto queue = NewQueue(1);
  queue->Add("a");
  queue->Add("b");
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(started_, ElementsAre("a"));
  running_[0](WorkQueue::Outcome::kDone);
  RunFor(std::chrono::seconds(1));
  EXPECT_THAT(started_, ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, FailuresBackOffExponentially) {
  const auto queue = NewQueue(1);
  queue->Add("a");
  std::vector<std::int64_t> starts_ms;
  const Time begin = executor_.clock().Now();
  for (int i = 0; i < 5; ++i) {
    while (started_.size() == static_cast<std::size_t>(i)) executor_.RunOne(Time::max());
    starts_ms.push_back((executor_.clock().Now() - begin) / std::chrono::milliseconds(1));
    running_.back()(WorkQueue::Outcome::kRetry);
  }
  EXPECT_THAT(starts_ms, ElementsAre(0, 5, 15, 35, 75));
}

class EventRecorderTest : public ClientTest {
 protected:
  std::vector<json::Value> Events() const { return api_.List({"", "v1", "events"}); }

  const ObjectReference pod_{.api_version = "v1",
                             .kind = "Pod",
                             .ns = "x",
                             .name = "p",
                             .uid = "1",
                             .resource_version = "5"};
  EventRecorder recorder_{*client_, "default-scheduler"};
};

TEST_F(EventRecorderTest, AnEqualEventRaisesTheCount) {
  recorder_.Record(pod_, EventType::kWarning, "FailedScheduling", "no device");
  RunFor(std::chrono::seconds(1));
  recorder_.Record(pod_, EventType::kWarning, "FailedScheduling", "no device");
  recorder_.Record(pod_, EventType::kWarning, "FailedScheduling", "no device");
  RunFor(std::chrono::seconds(1));
  ASSERT_EQ(Events().size(), 1U);
  EXPECT_EQ(Events()[0]["count"].AsInt(), 3);
  EXPECT_TRUE(recorder_.idle());
}

TEST_F(EventRecorderTest, NamesArePodAndHexEvenWhenTimeStandsStill) {
  recorder_.Record(pod_, EventType::kNormal, "A", "a");
  recorder_.Record(pod_, EventType::kNormal, "B", "b");
  RunFor(std::chrono::seconds(1));
  ASSERT_EQ(Events().size(), 2U);
  EXPECT_THAT(std::string(NameOf(Events()[0])), ::testing::MatchesRegex("p\\.[0-9a-f]+"));
}

TEST_F(EventRecorderTest, TwoComponentsMayTellOfAPodAtTheSameTime) {
  EventRecorder other(*client_, "kubelet");
  recorder_.Record(pod_, EventType::kWarning, "One", "text");
  other.Record(pod_, EventType::kWarning, "Other", "text");
  RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Events().size(), 2U);
}

TEST_F(EventRecorderTest, ManySimilarEventsBecomeOne) {
  for (int i = 0; i < 15; ++i) {
    recorder_.Record(pod_, EventType::kWarning, "FailedScheduling", std::to_string(i));
  }
  RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Events().size(), 11U);
}

TEST_F(EventRecorderTest, OneObjectMayNotFloodTheApi) {
  for (int i = 0; i < 100; ++i) {
    recorder_.Record(pod_, EventType::kWarning, "R" + std::to_string(i), "m");
  }
  RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Events().size(), 25U);
}

TEST_F(ClientTest, OneOfTwoElectorsLeadsUntilItGoes) {
  std::string log;
  const auto other_client = api_.factory().NewClient(executor_, "test");
  auto first = std::make_unique<LeaderElector>(
      *client_, LeaderElector::Options{.name = "s", .identity = "1"});
  LeaderElector second(*other_client, {.name = "s", .identity = "2"});
  first->Start([&] { log += "1"; }, [&] { log += "-1"; });
  RunFor(std::chrono::seconds(1));
  second.Start([&] { log += "2"; }, [&] { log += "-2"; });
  RunFor(std::chrono::seconds(60));
  EXPECT_EQ(log, "1");
  first.reset();
  RunFor(std::chrono::seconds(30));
  EXPECT_EQ(log, "12");
}

TEST_F(ClientTest, AHeartbeatKeepsTheLeaseOfItsNode) {
  NodeHeartbeat heartbeat(*client_, "n1", "uid-1");
  heartbeat.Start();
  RunFor(std::chrono::seconds(1));
  const Resource leases{"coordination.k8s.io", "v1", "leases"};
  const auto first = api_.Get(leases, "kube-node-lease", "n1")["spec"]["renewTime"];
  RunFor(std::chrono::seconds(10));
  const auto later = api_.Get(leases, "kube-node-lease", "n1")["spec"]["renewTime"];
  EXPECT_EQ(std::string(first.AsString()), "2019-12-20T00:00:00.000000Z");
  EXPECT_EQ(std::string(later.AsString()), "2019-12-20T00:00:10.000000Z");
}

TEST(RequestUrlTest, PathsFollowTheApiConventions) {
  EXPECT_EQ(UrlPath({.resource = {"", "v1", "nodes"}}), "/api/v1/nodes");
  EXPECT_EQ(UrlPath({.resource = {"resource.k8s.io", "v1", "resourceclaims"},
                     .ns = "x",
                     .name = "c",
                     .subresource = "status"}),
            "/apis/resource.k8s.io/v1/namespaces/x/resourceclaims/c/status");
}

TEST(RequestUrlTest, OnlyNamedParametersAreSent) {
  Request request{.verb = Verb::kWatch, .resource = resources::kPods};
  request.field_selector = "spec.nodeName=n 1";
  request.send_initial_events = true;
  EXPECT_EQ(UrlQuery(request),
            "watch=true&fieldSelector=spec.nodeName%3Dn%201&sendInitialEvents=true");
  EXPECT_EQ(UrlQuery({.verb = Verb::kGet}), "");
}

TEST(StatusErrorTest, AStatusKeepsItsCauses) {
  const Error error = ErrorFromBody(
      R"({"kind":"Status","message":"m","reason":"Invalid","code":422,)"
      R"("details":{"kind":"Pod","causes":[{"reason":"FieldValueInvalid","field":"a"}]}})",
      422);
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_THAT(error.causes,
              ElementsAre(Cause{.reason = "FieldValueInvalid", .field = "a", .message = ""}));
}

TEST(StatusErrorTest, AnyOtherBodyIsShown) {
  EXPECT_EQ(ErrorFromBody("upstream down", 503).message, "the server answered 503: upstream down");
}

}  // namespace
}  // namespace drachma::client
