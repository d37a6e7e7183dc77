#include "apiserver/webhooks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "json/json.h"
#include "net/certificates.h"
#include "net/http_server.h"
#include "net/signing.h"
#include "store/store.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// A registry with webhooks and one webhook's server over TLS.
class WebhooksTest : public testing::Test {
 protected:
  // What the webhook's server answers: the `response` without its uid.
  using Reply = std::function<Value(const Value& request)>;

  WebhooksTest() {
    const Time now = RealClock().Now();
    const auto authority = net::MakeAuthority("hooks", now).value();
    const auto server =
        net::IssueServerCertificate(authority, "hook", {"127.0.0.1", "hook.ops.svc"}, now).value();
    bundle_ = net::Base64Encode(authority.certificate_pem);
    auto tls = std::make_shared<net::TlsServerOptions>();
    tls->certificate_pem = server.certificate_pem;
    tls->key_pem = server.key_pem;
    server_ = net::HttpServer::Start(
                  {.listen = {"127.0.0.1:0"}, .tls = std::move(tls)},
                  [this](net::HttpRequest request, std::shared_ptr<net::HttpResponder> responder) {
                    Answer(request, *responder);
                  })
                  .value();
    core_ = std::make_unique<Core>(*store_, executor_, Core::Options{.seed = 1});
    webhooks_ = std::make_shared<Webhooks>(*core_);
    core_->AddWebhook(webhooks_);
  }
  ~WebhooksTest() override {
    OnExecutor([&] {
      webhooks_->Stop();
      core_->Shutdown();
    });
  }

  void Answer(const net::HttpRequest& request, net::HttpResponder& responder) {
    const Value review = json::Read(request.body).value();
    const std::lock_guard lock(mutex_);
    seen_.push_back(review["request"]);
    targets_.push_back(request.target);
    if (http_status_ != 200) return responder.Respond({.status = http_status_});
    Value response = reply_(review["request"]);
    response.Set("uid", review["request"]["uid"]);
    responder.Respond(
        {.body = {net::Share(json::Write(Value::Object({{"apiVersion", "admission.k8s.io/v1"},
                                                        {"kind", "AdmissionReview"},
                                                        {"response", response}})))}});
  }

  void OnExecutor(std::function<void()> task) {
    std::promise<void> done;
    executor_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  Result<apiserver::Answer> Do(client::Verb verb, client::Resource resource, std::string ns,
                               std::string name, Value body, bool dry_run = false) {
    std::promise<Result<apiserver::Answer>> done;
    executor_.Post([&] {
      ApiRequest request;
      request.user = AdminUser();
      request.call.verb = verb;
      request.call.resource = std::move(resource);
      request.call.ns = std::move(ns);
      request.call.name = std::move(name);
      request.call.body = std::move(body);
      request.call.dry_run = dry_run;
      core_->Handle(std::move(request),
                    [&](Result<apiserver::Answer> answer) { done.set_value(std::move(answer)); });
    });
    return done.get_future().get();
  }
  Result<apiserver::Answer> Create(client::Resource resource, std::string ns, std::string_view text,
                                   bool dry_run = false) {
    return Do(client::Verb::kCreate, std::move(resource), std::move(ns), "",
              json::Read(text).value(), dry_run);
  }
  Result<apiserver::Answer> CreateConfigMap(std::string_view name, bool dry_run = false) {
    return Create({"", "v1", "configmaps"}, "default",
                  fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap",
                                   "metadata":{{"name":"{}"}},"data":{{"a":"1"}}}})",
                              name),
                  dry_run);
  }

  // Declares a webhook for config maps; `more` are further members of it.
  void Declare(std::string_view kind, std::string_view name, std::string_view more = "",
               std::string client_config = "") {
    if (client_config.empty()) {
      client_config = fmt::format(R"("url":"https://127.0.0.1:{}/{}","caBundle":"{}")",
                                  server_->port(), name, bundle_);
    }
    const std::string text = fmt::format(
        R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{}",
             "metadata":{{"name":"{}"}},"webhooks":[{{"name":"{}.example.com",
             "clientConfig":{{{}}},"rules":[{{"operations":["*"],"apiGroups":[""],
             "apiVersions":["v1"],"resources":["configmaps"]}}],
             "sideEffects":"None","admissionReviewVersions":["v1"]{}}}]}})",
        kind, name, name, client_config, more);
    std::string plural = kind == "ValidatingWebhookConfiguration"
                             ? "validatingwebhookconfigurations"
                             : "mutatingwebhookconfigurations";
    const auto made = Create({"admissionregistration.k8s.io", "v1", plural}, "", text);
    ASSERT_TRUE(made) << made.error().message;
  }
  void Validating(std::string_view name, std::string_view more = "", std::string config = "") {
    Declare("ValidatingWebhookConfiguration", name, more, std::move(config));
  }
  void Mutating(std::string_view name, std::string_view more = "") {
    Declare("MutatingWebhookConfiguration", name, more);
  }

  static Value Allow() { return Value::Object({{"allowed", true}}); }
  static Value PatchWith(std::string_view patch) {
    return Value::Object(
        {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", net::Base64Encode(patch)}});
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemoryStore();
  ThreadExecutor executor_{"test"};
  std::unique_ptr<Core> core_;
  std::shared_ptr<Webhooks> webhooks_;
  std::string bundle_;
  std::mutex mutex_;
  Reply reply_ = [](const Value&) { return Allow(); };
  int http_status_ = 200;
  std::vector<Value> seen_;
  std::vector<std::string> targets_;
  std::unique_ptr<net::HttpServer> server_;  // ends first
};

TEST_F(WebhooksTest, TheReviewSaysWhoDoesWhat) {
  Validating("v", R"(,"timeoutSeconds":7)");
  ASSERT_TRUE(CreateConfigMap("c"));
  ASSERT_EQ(seen_.size(), 1u);
  const Value& request = seen_[0];
  EXPECT_EQ(request["operation"].AsString(), "CREATE");
  EXPECT_EQ(request["name"].AsString(), "c");
  EXPECT_EQ(request["namespace"].AsString(), "default");
  EXPECT_EQ(request["object"]["data"]["a"].AsString(), "1");
  EXPECT_TRUE(request["oldObject"].IsNull());
  EXPECT_EQ(request["userInfo"]["username"].AsString(), AdminUser().name);
  EXPECT_EQ(json::Write(request["requestResource"]),
            R"({"group":"","version":"v1","resource":"configmaps"})");
  EXPECT_EQ(targets_[0], "/v?timeout=7s");
}

TEST_F(WebhooksTest, ARefusalIsToldInTheWebhooksWords) {
  reply_ = [](const Value&) {
    return json::Read(R"({"allowed":false,"status":{"code":403,"reason":"Forbidden",
                          "message":"no such luck"},"warnings":["look out"]})")
        .value();
  };
  Validating("v");
  const auto answer = CreateConfigMap("c");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kForbidden);
  EXPECT_EQ(answer.error().message,
            R"(admission webhook "v.example.com" denied the request: no such luck)");
}

TEST_F(WebhooksTest, WarningsReachTheClient) {
  reply_ = [](const Value&) {
    return json::Read(R"({"allowed":true,"warnings":["look out"]})").value();
  };
  Validating("v");
  Mutating("m");
  EXPECT_EQ(CreateConfigMap("c").value().warnings,
            (std::vector<std::string>{"look out", "look out"}));
}

TEST_F(WebhooksTest, APatchChangesWhatIsStored) {
  reply_ = [](const Value&) { return PatchWith(R"([{"op":"add","path":"/data/b","value":"2"}])"); };
  Mutating("m");
  const auto made = CreateConfigMap("c");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->Object()["data"]["b"].AsString(), "2");
}

TEST_F(WebhooksTest, AnEarlierWebhookIsAskedAgainWhenALaterOneChangesTheObject) {
  reply_ = [](const Value& request) {
    return request["object"]["data"].Has("b")
               ? Allow()
               : PatchWith(R"([{"op":"add","path":"/data/b","value":"2"}])");
  };
  Mutating("a", R"(,"reinvocationPolicy":"IfNeeded","objectSelector":
                   {"matchExpressions":[{"key":"none","operator":"DoesNotExist"}]})");
  // The first call changes the object before anything was called: nothing to repeat.
  ASSERT_TRUE(CreateConfigMap("c1"));
  EXPECT_EQ(targets_.size(), 1u);
  reply_ = [](const Value& request) {
    const bool first = request["object"]["data"].size() == 1;
    return first && request["object"]["metadata"]["labels"]["seen"].AsString().empty()
               ? PatchWith(R"([{"op":"add","path":"/metadata/labels","value":{"seen":"y"}}])")
               : PatchWith(R"([{"op":"add","path":"/data/b","value":"2"}])");
  };
  Mutating("b");
  targets_.clear();
  ASSERT_TRUE(CreateConfigMap("c2"));
  EXPECT_EQ(targets_,
            (std::vector<std::string>{"/a?timeout=10s", "/b?timeout=10s", "/a?timeout=10s"}));
}

TEST_F(WebhooksTest, AFailedCallFailsOrIsIgnored) {
  http_status_ = 404;
  Validating("v");
  const auto answer = CreateConfigMap("c");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInternal);
  EXPECT_EQ(answer.error().message,
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
            "webhook: the server could not find the requested resource");
  ASSERT_TRUE(Do(client::Verb::kDelete,
                 {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"}, "", "v",
                 nullptr));
  Validating("w", R"(,"failurePolicy":"Ignore")");
  EXPECT_TRUE(CreateConfigMap("c"));
}

TEST_F(WebhooksTest, AnUntrustedServerIsNotCalled) {
  const auto other = net::MakeAuthority("other", RealClock().Now()).value();
  Validating("v", "",
             fmt::format(R"("url":"https://127.0.0.1:{}/","caBundle":"{}")", server_->port(),
                         net::Base64Encode(other.certificate_pem)));
  const auto answer = CreateConfigMap("c");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with(
      "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: "
      "Post \"https://127.0.0.1:"))
      << answer.error().message;
  EXPECT_TRUE(seen_.empty());
}

TEST_F(WebhooksTest, AServiceIsCalledAtItsEndpoints) {
  const std::string config = fmt::format(
      R"("service":{{"namespace":"ops","name":"hook","path":"/x"}},"caBundle":"{}")", bundle_);
  Validating("v", "", config);
  const auto refused = CreateConfigMap("c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
            "webhook: Post \"https://hook.ops.svc:443/x?timeout=10s\": service \"hook\" not found");
  ASSERT_TRUE(Create({"", "v1", "services"}, "ops",
                     R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"hook"},
                         "spec":{"ports":[{"port":443}],"clusterIP":"None"}})"));
  const auto made =
      Create({"discovery.k8s.io", "v1", "endpointslices"}, "ops",
             fmt::format(R"({{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice",
                       "metadata":{{"name":"hook-1","labels":
                       {{"kubernetes.io/service-name":"hook"}}}},"addressType":"IPv4",
                       "endpoints":[{{"addresses":["127.0.0.1"]}}],"ports":[{{"port":{}}}]}})",
                         server_->port()));
  ASSERT_TRUE(made) << made.error().message;
  const auto called = CreateConfigMap("c");
  EXPECT_TRUE(called) << called.error().message;
  EXPECT_EQ(targets_.size(), 1u);
}

TEST_F(WebhooksTest, DryRunsAreNotForWebhooksWithSideEffects) {
  Validating("v");
  EXPECT_TRUE(CreateConfigMap("c", true));
  EXPECT_TRUE(seen_[0]["dryRun"].AsBool());
  EXPECT_EQ(
      CheckDryRun(json::Read(R"({"name":"x","sideEffects":"Some"})").value(), {.dry_run = true})
          .error()
          .message,
      R"(admission webhook "x" does not support dry run)");
}

TEST_F(WebhooksTest, DeletesShowTheOldObjectOnly) {
  ASSERT_TRUE(CreateConfigMap("c"));
  Validating("v");
  ASSERT_TRUE(Do(client::Verb::kDelete, {"", "v1", "configmaps"}, "default", "c", nullptr));
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0]["operation"].AsString(), "DELETE");
  EXPECT_TRUE(seen_[0]["object"].IsNull());
  EXPECT_EQ(seen_[0]["oldObject"]["metadata"]["name"].AsString(), "c");
}

}  // namespace
}  // namespace drachma::apiserver
