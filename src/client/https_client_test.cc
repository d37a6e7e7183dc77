#include "client/https_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "client/objects.h"
#include "json/json.h"
#include "net/test_support.h"

namespace drachma::client {
namespace {

using ::testing::ElementsAre;

class HttpsClientTest : public ::testing::Test {
 protected:
  void Serve(net::HttpHandler handler) {
    auto started = net::HttpServer::Start(net::TlsOptions(), std::move(handler));
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
    KubeConfig config;
    config.server = "https://127.0.0.1:" + std::to_string(server_->port());
    config.ca_pem = net::TestCertificates::Get().authority.certificate_pem;
    config.token = "secret";
    config.token_file = token_file_;
    auto made = HttpsClientFactory::Make(std::move(config));
    ASSERT_TRUE(made) << made.error().message;
    factory_ = *std::move(made);
    OnExecutor([this] { client_ = factory_->NewClient(executor_, "tester"); });
  }
  void TearDown() override {
    OnExecutor([this] {
      watch_.reset();
      client_.reset();
    });
  }
  void OnExecutor(const std::function<void()>& task) {
    std::promise<void> done;
    executor_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }
  Result<json::Value> Call(Request request) {
    std::promise<Result<json::Value>> answer;
    executor_.Post([&] {
      client_->Call(std::move(request),
                    [&](Result<json::Value> result) { answer.set_value(std::move(result)); });
    });
    return answer.get_future().get();
  }

  std::string token_file_;
  ThreadExecutor executor_{"test"};
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<HttpsClientFactory> factory_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Watch> watch_;
};

TEST_F(HttpsClientTest, ATokenThatIsReplacedIsReadAnew) {
  char name[] = "/tmp/https-client-test-XXXXXX";
  const std::string dir = mkdtemp(name);
  token_file_ = dir + "/token";
  Serve([](const net::HttpRequest& request, const std::shared_ptr<net::HttpResponder>& responder) {
    const json::Value seen = json::Value::Object({{"token", request.headers.Get("Authorization")}});
    responder->Respond({.body = {net::Share(json::Write(seen))}});
  });
  for (const std::string token : {"one", "two"}) {
    std::ofstream(token_file_) << token << "\n";
    EXPECT_EQ((*Call(GetRequest(resources::kPods, "ns", "p")))["token"].AsString(),
              "Bearer " + token);
  }
  std::filesystem::remove_all(dir);
}

TEST_F(HttpsClientTest, ARequestGoesOutAsTheApiWantsIt) {
  Serve([](const net::HttpRequest& request, const std::shared_ptr<net::HttpResponder>& responder) {
    json::Value seen = json::Value::Object({{"line", request.method + " " + request.target},
                                            {"type", request.headers.Get("Content-Type")},
                                            {"token", request.headers.Get("Authorization")},
                                            {"body", request.body}});
    responder->Respond({.body = {net::Share(json::Write(seen))}});
  });
  Request request = PatchRequest(resources::kPods, "ns", "p", PatchType::kStrategicMerge,
                                 json::Value::Object({{"a", 1}}), "status");
  request.field_manager = "me";
  const auto answer = Call(std::move(request));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["line"].AsString(),
            "PATCH /api/v1/namespaces/ns/pods/p/status?fieldManager=me");
  EXPECT_EQ((*answer)["type"].AsString(), "application/strategic-merge-patch+json");
  EXPECT_EQ((*answer)["token"].AsString(), "Bearer secret");
  EXPECT_EQ((*answer)["body"].AsString(), R"({"a":1})");
}

TEST_F(HttpsClientTest, AnErrorOfTheApiKeepsItsForm) {
  Serve([](const net::HttpRequest&, const std::shared_ptr<net::HttpResponder>& responder) {
    responder->Respond(
        {.status = 409,
         .body = {net::Share(
             R"({"kind":"Status","status":"Failure","message":"m","reason":"Conflict","code":409})")}});
  });
  const auto answer = Call(GetRequest(resources::kPods, "ns", "p"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kConflict);
  EXPECT_EQ(answer.error().message, "m");
}

TEST_F(HttpsClientTest, RetryAfterIsObeyed) {
  auto requests = std::make_shared<std::atomic<int>>(0);
  Serve([requests](const net::HttpRequest&, const std::shared_ptr<net::HttpResponder>& responder) {
    if (requests->fetch_add(1) < 2) {
      responder->Respond({.status = 429, .headers = {{"Retry-After", "0"}}, .body = {}});
    } else {
      responder->Respond({.body = {net::Share("{}")}});
    }
  });
  EXPECT_TRUE(Call(GetRequest(resources::kPods, "ns", "p")));
  EXPECT_EQ(requests->load(), 3);
}

class Recorder final : public WatchHandler {
 public:
  void OnEvent(WatchEvent event) override {
    seen.push_back(std::to_string(static_cast<int>(event.type)) +
                   std::string(NameOf(event.object)));
  }
  void OnClosed(Error error) override { closed.set_value(std::move(error)); }

  std::vector<std::string> seen;
  std::promise<Error> closed;
};

TEST_F(HttpsClientTest, AWatchDeliversLinesAndEndsWithItsError) {
  Serve([](const net::HttpRequest&, const std::shared_ptr<net::HttpResponder>& responder) {
    responder->StartStream(200, {});
    responder->Write(
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n{\"type\":"
         "\"DELETED\","});
    responder->Write(
        {"\"object\":{\"metadata\":{\"name\":\"a\"}}}\n{\"type\":\"ERROR\",\"object\":{\"kind\":"
         "\"Status\",\"reason\":\"Expired\",\"code\":410,\"message\":\"too old\"}}\n"});
    responder->Finish();
  });
  Recorder recorder;
  OnExecutor([&] {
    watch_ = client_->StartWatch({.verb = Verb::kWatch, .resource = resources::kPods}, recorder);
  });
  const Error error = recorder.closed.get_future().get();
  EXPECT_THAT(recorder.seen, ElementsAre("0a", "2a"));
  EXPECT_EQ(error.code, Code::kExpired);
  OnExecutor([this] { watch_.reset(); });
}

TEST_F(HttpsClientTest, ACleanEndOfAWatchIsATimeoutWithoutAMessage) {
  Serve([](const net::HttpRequest&, const std::shared_ptr<net::HttpResponder>& responder) {
    responder->StartStream(200, {});
    responder->Finish();
  });
  Recorder recorder;
  OnExecutor([&] {
    watch_ = client_->StartWatch({.verb = Verb::kWatch, .resource = resources::kPods}, recorder);
  });
  const Error error = recorder.closed.get_future().get();
  EXPECT_EQ(error, Error{.code = Code::kTimeout});
  OnExecutor([this] { watch_.reset(); });
}

}  // namespace
}  // namespace drachma::client
