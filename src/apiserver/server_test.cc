#include "apiserver/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using client::PatchType;
using client::Request;
using client::Resource;
using client::Verb;
using client::WatchEvent;

const Resource kConfigMaps = {"", "v1", "configmaps"};
const Resource kPods = {"", "v1", "pods"};
const Resource kDeployments = {"apps", "v1", "deployments"};
const Resource kClaims = {"resource.k8s.io", "v1", "resourceclaims"};
const Resource kNamespaces = {"", "v1", "namespaces"};
const Resource kNodes = {"", "v1", "nodes"};

// A whole server and one administrator's client, in one thread under virtual time.
class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.listen.clear();
    options.executor = &executor_;
    options.seed = 7;
    auto server = Server::Create(std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    factory_ = server_->NewClientFactory(AdminUser());
    client_ = factory_->NewClient(executor_, "test/1");
  }

  Result<json::Value> Call(Request request) {
    std::optional<Result<json::Value>> answer;
    client_->Call(std::move(request), [&](Result<json::Value> result) { answer = result; });
    executor_.RunReady();
    if (!answer) return Fail(Code::kTimeout, "no answer");
    return *answer;
  }

  Result<json::Value> Create(const Resource& resource, std::string_view object,
                             const std::string& ns = "default") {
    return Call({.verb = Verb::kCreate,
                 .resource = resource,
                 .ns = ns,
                 .body = json::Read(object).value()});
  }
  Result<json::Value> Get(const Resource& resource, const std::string& name,
                          const std::string& ns = "default") {
    return Call({.verb = Verb::kGet, .resource = resource, .ns = ns, .name = name});
  }
  Result<json::Value> Patch(const Resource& resource, const std::string& name, PatchType type,
                            std::string_view patch, const std::string& subresource = "",
                            const std::string& manager = "") {
    return Call({.verb = Verb::kPatch,
                 .resource = resource,
                 .ns = "default",
                 .name = name,
                 .subresource = subresource,
                 .body = json::Read(patch).value(),
                 .patch = type,
                 .field_manager = manager});
  }
  Result<json::Value> Delete(const Resource& resource, const std::string& name,
                             std::string_view options = "{}") {
    return Call({.verb = Verb::kDelete,
                 .resource = resource,
                 .ns = "default",
                 .name = name,
                 .body = json::Read(options).value()});
  }

  VirtualExecutor executor_{Time(std::chrono::hours(24 * 365 * 50))};
  std::unique_ptr<Server> server_;
  std::unique_ptr<client::ClientFactory> factory_;
  std::unique_ptr<client::Client> client_;
};

// Writes down what a watch delivers: "ADDED a", "BOOKMARK".
class Recorder : public client::WatchHandler {
 public:
  void OnEvent(WatchEvent event) override {
    static constexpr const char* kTypes[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    std::string line = kTypes[static_cast<std::size_t>(event.type)];
    if (event.type != WatchEvent::Type::kBookmark) {
      line += " ";
      line += event.object.At({"metadata", "name"}).AsString();
    }
    lines.push_back(std::move(line));
  }
  void OnClosed(Error error) override { closed = std::move(error); }

  std::vector<std::string> lines;
  std::optional<Error> closed;
};

constexpr const char* kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i:1"}]}})";

TEST_F(ServerTest, HasUpstreamsNamespacesAtTheStart) {
  const auto list = Call({.verb = Verb::kList, .resource = kNamespaces});
  ASSERT_TRUE(list) << list.error().message;
  std::vector<std::string> names;
  for (const json::Value& item : (*list)["items"].Items()) {
    names.emplace_back(item.At({"metadata", "name"}).AsString());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("default", "kube-node-lease", "kube-public", "kube-system"));
}

TEST_F(ServerTest, ACreatedObjectHasDefaultsAndSystemFields) {
  const auto pod = Create(kPods, kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ((*pod)["spec"]["schedulerName"].AsString(), "default-scheduler");
  EXPECT_EQ((*pod)["spec"]["tolerations"].size(), 2U);
  EXPECT_EQ((*pod)["status"]["phase"].AsString(), "Pending");
  EXPECT_EQ((*pod)["metadata"]["uid"].AsString().size(), 36U);
  EXPECT_FALSE((*pod)["metadata"]["resourceVersion"].AsString().empty());
}

TEST_F(ServerTest, ANameThatIsTakenIsRefused) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a"}})"));
  const auto again = Create(kConfigMaps, R"({"metadata":{"name":"a"}})");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_EQ(again.error().message, "configmaps \"a\" already exists");
}

TEST_F(ServerTest, ANamespaceThatIsMissingIsNamed) {
  const auto created = Create(kConfigMaps, R"({"metadata":{"name":"a"}})", "nowhere");
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().message, "namespaces \"nowhere\" not found");
}

TEST_F(ServerTest, GeneratedNamesEndInFiveCharacters) {
  const auto made = Create(kConfigMaps, R"({"metadata":{"generateName":"g-"}})");
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)["metadata"]["name"].AsString().size(), 7U);
}

TEST_F(ServerTest, AnUpdateFromAnOldVersionConflicts) {
  auto made = Create(kConfigMaps, R"({"metadata":{"name":"a"}})");
  ASSERT_TRUE(made);
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kMerge, R"({"data":{"k":"1"}})"));
  const auto stale = Call({.verb = Verb::kUpdate,
                           .resource = kConfigMaps,
                           .ns = "default",
                           .name = "a",
                           .body = *made});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kConflict);
}

TEST_F(ServerTest, AWriteThatChangesNothingKeepsTheVersion) {
  const auto made = Create(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"k":"1"}})");
  ASSERT_TRUE(made);
  const auto same = Patch(kConfigMaps, "a", PatchType::kMerge, R"({"data":{"k":"1"}})");
  ASSERT_TRUE(same);
  EXPECT_EQ((*same)["metadata"]["resourceVersion"], (*made)["metadata"]["resourceVersion"]);
}

TEST_F(ServerTest, DryRunStoresNothing) {
  ASSERT_TRUE(Call({.verb = Verb::kCreate,
                    .resource = kConfigMaps,
                    .ns = "default",
                    .body = json::Read(R"({"metadata":{"name":"a"}})").value(),
                    .dry_run = true}));
  EXPECT_FALSE(Get(kConfigMaps, "a"));
}

TEST_F(ServerTest, AFinalizerHoldsADeletedObjectUntilItIsGone) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["x.io/f"]}})"));
  const auto deleted = Delete(kConfigMaps, "a");
  ASSERT_TRUE(deleted);
  EXPECT_TRUE((*deleted)["metadata"].Has("deletionTimestamp"));
  ASSERT_TRUE(Get(kConfigMaps, "a"));
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kMerge, R"({"metadata":{"finalizers":null}})"));
  EXPECT_FALSE(Get(kConfigMaps, "a"));
}

TEST_F(ServerTest, NewFinalizersOfADeletedObjectAreRefused) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["x.io/f"]}})"));
  ASSERT_TRUE(Delete(kConfigMaps, "a"));
  const auto more = Patch(kConfigMaps, "a", PatchType::kMerge,
                          R"({"metadata":{"finalizers":["x.io/f","y.io/f"]}})");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kInvalid);
}

TEST_F(ServerTest, DeletingAgainWhatWaitsForItsFinalizersChangesNothing) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["x.io/f"]}})"));
  ASSERT_TRUE(Delete(kConfigMaps, "a"));
  const std::string once = json::Write(Get(kConfigMaps, "a").value());
  ASSERT_TRUE(Delete(kConfigMaps, "a"));
  EXPECT_EQ(json::Write(Get(kConfigMaps, "a").value()), once);
}

TEST_F(ServerTest, ForegroundDeletionLeavesItsFinalizer) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a"}})"));
  const auto deleted = Delete(kConfigMaps, "a", R"({"propagationPolicy":"Foreground"})");
  ASSERT_TRUE(deleted);
  EXPECT_EQ(json::Write((*deleted)["metadata"]["finalizers"]), R"(["foregroundDeletion"])");
}

TEST_F(ServerTest, ABoundPodGetsItsGraceAndAnUnboundOneNone) {
  ASSERT_TRUE(Create(kPods, kPod));
  ASSERT_TRUE(Delete(kPods, "p"));
  EXPECT_FALSE(Get(kPods, "p"));
  ASSERT_TRUE(Create(kPods, kPod));
  const auto bound = Call({.verb = Verb::kCreate,
                           .resource = kPods,
                           .ns = "default",
                           .name = "p",
                           .subresource = "binding",
                           .body = json::Read(R"({"metadata":{"name":"p"},
                                     "target":{"kind":"Node","name":"n1"}})")
                                       .value()});
  ASSERT_TRUE(bound) << bound.error().message;
  const auto deleted = Delete(kPods, "p");
  ASSERT_TRUE(deleted);
  EXPECT_EQ((*deleted)["metadata"]["deletionGracePeriodSeconds"].AsInt(), 30);
  EXPECT_EQ((*deleted)["spec"]["nodeName"].AsString(), "n1");
  ASSERT_TRUE(Delete(kPods, "p", R"({"gracePeriodSeconds":0})"));
  EXPECT_FALSE(Get(kPods, "p"));
}

TEST_F(ServerTest, APodIsBoundOnce) {
  ASSERT_TRUE(Create(kPods, kPod));
  const Request bind = {.verb = Verb::kCreate,
                        .resource = kPods,
                        .ns = "default",
                        .name = "p",
                        .subresource = "binding",
                        .body = json::Read(R"({"metadata":{"name":"p"},
                                  "target":{"kind":"Node","name":"n1"}})")
                                    .value()};
  ASSERT_TRUE(Call(bind));
  const auto again = Call(bind);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n1\"");
}

TEST_F(ServerTest, ListsGoOnWhereTheyWereCut) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(Create(kConfigMaps, std::string(R"({"metadata":{"name":")") + name + "\"}}"));
  }
  const auto first =
      Call({.verb = Verb::kList, .resource = kConfigMaps, .ns = "default", .limit = 2});
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)["items"].size(), 2U);
  EXPECT_EQ(first->At({"metadata", "remainingItemCount"}).AsInt(), 1);
  const auto rest =
      Call({.verb = Verb::kList,
            .resource = kConfigMaps,
            .ns = "default",
            .continue_token = std::string(first->At({"metadata", "continue"}).AsString()),
            .limit = 2});
  ASSERT_TRUE(rest);
  ASSERT_EQ((*rest)["items"].size(), 1U);
  EXPECT_EQ((*rest)["items"].Items()[0].At({"metadata", "name"}).AsString(), "c");
}

TEST_F(ServerTest, AListFromTheFutureIsTold) {
  const auto list = Call({.verb = Verb::kList,
                          .resource = kNamespaces,
                          .resource_version = "99999999",
                          .resource_version_match = "NotOlderThan"});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Code::kTimeout);
  EXPECT_EQ(list.error().causes.at(0).reason, "ResourceVersionTooLarge");
}

TEST_F(ServerTest, SelectorsFindWhatTheirTermsSay) {
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"c)" + n + R"(","labels":{"n":")" + n +
                                        R"(","odd":")" + std::to_string(i % 2) + "\"}}}"));
  }
  const auto count = [&](const std::string& selector) {
    Request list{.verb = Verb::kList, .resource = kConfigMaps, .ns = "default"};
    list.label_selector = selector;
    return Call(list).value()["items"].size();
  };
  const std::pair<const char*, std::size_t> cases[] = {{"n=7", 1},
                                                       {"n==7,odd=1", 1},
                                                       {"n=7,odd=0", 0},
                                                       {"n=200", 0},
                                                       {"n in (7)", 1},
                                                       {"n in (7,8)", 2},
                                                       {"n notin (7)", 199},
                                                       {"n!=7", 199},
                                                       {"odd", 200},
                                                       {"even", 0},
                                                       {"!even", 200},
                                                       {"n>197", 2},
                                                       {"n in (7,8),odd", 2},
                                                       {"n<2,odd=1", 1}};
  for (int round = 0; round < 2; ++round) {  // the second time from what the first one remembered
    for (const auto& [selector, expected] : cases) EXPECT_EQ(count(selector), expected) << selector;
  }
}

TEST_F(ServerTest, UnknownFieldLabelsAreRefused) {
  const auto list = Call({.verb = Verb::kList,
                          .resource = {"resource.k8s.io", "v1", "resourceslices"},
                          .field_selector = "spec.foo=x"});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message,
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo");
}

TEST_F(ServerTest, AWatchStartsWithWhatIsThereAndABookmark) {
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a"}})"));
  Recorder recorder;
  const auto watch = client_->StartWatch({.resource = kConfigMaps,
                                          .ns = "default",
                                          .resource_version_match = "NotOlderThan",
                                          .send_initial_events = true,
                                          .allow_watch_bookmarks = true},
                                         recorder);
  executor_.RunReady();
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"b"}})"));
  ASSERT_TRUE(Delete(kConfigMaps, "a"));
  EXPECT_THAT(recorder.lines, testing::ElementsAre("ADDED a", "BOOKMARK", "ADDED b", "DELETED a"));
}

TEST_F(ServerTest, AnObjectThatLeavesTheSelectionIsDeletedForTheWatch) {
  Recorder recorder;
  const auto watch = client_->StartWatch(
      {.resource = kConfigMaps, .ns = "default", .label_selector = "on=yes"}, recorder);
  executor_.RunReady();
  ASSERT_TRUE(Create(kConfigMaps, R"({"metadata":{"name":"a"}})"));
  ASSERT_TRUE(
      Patch(kConfigMaps, "a", PatchType::kMerge, R"({"metadata":{"labels":{"on":"yes"}}})"));
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kMerge, R"({"data":{"k":"1"}})"));
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kMerge, R"({"metadata":{"labels":{"on":"no"}}})"));
  EXPECT_THAT(recorder.lines, testing::ElementsAre("ADDED a", "MODIFIED a", "DELETED a"));
}

TEST_F(ServerTest, AWatchEndsAfterItsTime) {
  Recorder recorder;
  const auto watch = client_->StartWatch(
      {.resource = kConfigMaps, .ns = "default", .timeout_seconds = 5}, recorder);
  while (!recorder.closed && executor_.RunOne(Time::max())) {
  }
  ASSERT_TRUE(recorder.closed);
  EXPECT_EQ(recorder.closed->code, Code::kTimeout);
  EXPECT_EQ(recorder.closed->message, "");
}

TEST_F(ServerTest, GenerationCountsChangesOfTheSpec) {
  ASSERT_TRUE(Create(kDeployments, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":
      {"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",
      "image":"i:1"}]}}}})"));
  const auto labelled =
      Patch(kDeployments, "d", PatchType::kMerge, R"({"metadata":{"labels":{"x":"y"}}})");
  ASSERT_TRUE(labelled) << labelled.error().message;
  EXPECT_EQ((*labelled)["metadata"]["generation"].AsInt(), 1);
  const auto scaled =
      Patch(kDeployments, "d", PatchType::kMerge, R"({"spec":{"replicas":3}})", "scale");
  ASSERT_TRUE(scaled) << scaled.error().message;
  EXPECT_EQ((*scaled)["kind"].AsString(), "Scale");
  EXPECT_EQ((*Get(kDeployments, "d"))["metadata"]["generation"].AsInt(), 2);
}

TEST_F(ServerTest, ApplyConflictsWithAnotherManager) {
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kApply,
                    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                        "data":{"k":"1"}})",
                    "", "one"));
  const auto other = Patch(kConfigMaps, "a", PatchType::kApply,
                           R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                               "data":{"k":"2"}})",
                           "", "two");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "Apply failed with 1 conflict: conflict with \"one\": .data.k");
}

TEST_F(ServerTest, ApplyRemovesWhatItsManagerDropped) {
  ASSERT_TRUE(Patch(kConfigMaps, "a", PatchType::kApply,
                    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                        "data":{"k":"1","l":"2"}})",
                    "", "one"));
  const auto less = Patch(kConfigMaps, "a", PatchType::kApply,
                          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                              "data":{"k":"1"}})",
                          "", "one");
  ASSERT_TRUE(less) << less.error().message;
  EXPECT_EQ(json::Write((*less)["data"]), R"({"k":"1"})");
}

TEST_F(ServerTest, AnotherVersionOfAnObjectIsConverted) {
  ASSERT_TRUE(Create(kClaims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[
      {"name":"r","exactly":{"deviceClassName":"x"}}]}}})"));
  const auto old = Get({"resource.k8s.io", "v1beta1", "resourceclaims"}, "c");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ((*old)["apiVersion"].AsString(), "resource.k8s.io/v1beta1");
  EXPECT_EQ(old->At({"spec", "devices", "requests"}).Items()[0]["deviceClassName"].AsString(), "x");
}

TEST_F(ServerTest, AnObjectDoesNotGrowWithoutEndByPatches) {
  const Resource roles = {"rbac.authorization.k8s.io", "v1", "clusterroles"};
  ASSERT_TRUE(Create(roles, R"({"metadata":{"name":"r"},"rules":[
      {"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})",
                     ""));
  const std::string half = R"([{"op":"add","path":"/rules/-","value":{"apiGroups":[")" +
                           std::string(kObjectBytesMax / 2, 'x') +
                           R"("],"resources":["pods"],"verbs":["get"]}}])";
  const auto grow = [&] {
    return Call({.verb = Verb::kPatch,
                 .resource = roles,
                 .name = "r",
                 .body = json::Read(half).value(),
                 .patch = PatchType::kJson});
  };
  EXPECT_TRUE(grow());
  const Result<json::Value> refused = grow();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTooLarge);
  EXPECT_EQ(refused.error().message, "Request entity too large: limit is 3145728");
}

TEST_F(ServerTest, QuotaOfClaimsIsChargedAndEnforced) {
  const Resource quotas = {"", "v1", "resourcequotas"};
  const std::string hard = R"("hard":{"count/resourceclaims.resource.k8s.io":"1"})";
  ASSERT_TRUE(Create(quotas, R"({"metadata":{"name":"q"},"spec":{)" + hard + "}}"));
  ASSERT_TRUE(
      Patch(quotas, "q", PatchType::kMerge,
            R"({"status":{)" + hard + R"(,"used":{"count/resourceclaims.resource.k8s.io":"0"}}})",
            "status"));
  ASSERT_TRUE(Create(kClaims, R"({"metadata":{"name":"a"}})"));
  const auto over = Create(kClaims, R"({"metadata":{"name":"b"}})");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message,
            "resourceclaims.resource.k8s.io \"b\" is forbidden: exceeded quota: q, requested: "
            "count/resourceclaims.resource.k8s.io=1, used: "
            "count/resourceclaims.resource.k8s.io=1, limited: "
            "count/resourceclaims.resource.k8s.io=1");
}

TEST_F(ServerTest, NewNodesAreNotReady) {
  const auto node = Create(kNodes, R"({"metadata":{"name":"n"}})", "");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(json::Write((*node)["spec"]["taints"]),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
}

TEST_F(ServerTest, UsersWithoutRightsAreRefused) {
  const auto factory = server_->NewClientFactory(ComponentUser("somebody"));
  const auto client = factory->NewClient(executor_, "test");
  std::optional<Result<json::Value>> answer;
  client->Call({.verb = Verb::kList, .resource = kPods},
               [&](Result<json::Value> result) { answer = result; });
  executor_.RunReady();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().message,
            "pods is forbidden: User \"somebody\" cannot list resource \"pods\" in API group \"\" "
            "at the cluster scope");
}

TEST_F(ServerTest, ABudgetHoldsBackEvictions) {
  ASSERT_TRUE(Create(kPods, R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[
      {"name":"c","image":"i:1"}]}})"));
  ASSERT_TRUE(Patch(kPods, "p", PatchType::kMerge, R"({"status":{"phase":"Running",
      "conditions":[{"type":"Ready","status":"True"}]}})",
                    "status"));
  ASSERT_TRUE(Create({"policy", "v1", "poddisruptionbudgets"},
                     R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{
                         "matchLabels":{"a":"b"}}}})"));
  const auto evicted = Call({.verb = Verb::kCreate,
                             .resource = kPods,
                             .ns = "default",
                             .name = "p",
                             .subresource = "eviction",
                             .body = json::Read(R"({"metadata":{"name":"p"}})").value()});
  ASSERT_FALSE(evicted);
  EXPECT_EQ(evicted.error().code, Code::kTooManyRequests);
  EXPECT_EQ(evicted.error().retry_after_seconds, 10);
}

}  // namespace
}  // namespace drachma::apiserver
