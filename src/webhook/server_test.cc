#include "webhook/server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "client/fake_client.h"
#include "client/objects.h"
#include "json/json.h"
#include "json/yaml.h"
#include "net/http_client.h"
#include "webhook/registration.h"

namespace drachma::webhook {
namespace {

namespace fs = std::filesystem;
using json::Value;

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A webhook on TLS with a certificate of its own.
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    const SelfSigned made = SelfSignedIn(folder_, {"127.0.0.1"}, RealClock().Now()).value();
    ca_pem_ = made.ca_pem;
    Server::Options options{
        .listen = "127.0.0.1:0",
        .tls = {.certificate_pem = made.server.certificate_pem, .key_pem = made.server.key_pem},
        .gates = [](std::string_view gate) { return gate != "MPSSupport"; }};
    server_ = Server::Start(std::move(options), nullptr).value();
  }

  ~ServerTest() override { fs::remove_all(folder_); }

  // Status and body of the answer.
  std::pair<int, std::string> Send(const std::string& method, const std::string& path,
                                   std::string body) {
    ThreadExecutor executor("test");
    const auto client = net::HttpClient::Make({.ca_pem = ca_pem_}).value();
    std::promise<std::pair<int, std::string>> answer;
    client->Send({.method = method,
                  .url = "https://" + server_->address() + path,
                  .headers = {{"Content-Type", "application/json"}},
                  .body = net::Share(std::move(body))},
                 executor, [&](Result<net::ClientResponse> response) {
                   answer.set_value(response ? std::pair(response->status, response->body)
                                             : std::pair(0, response.error().message));
                 });
    return answer.get_future().get();
  }

  const std::string folder_ = testing::TempDir() + "/drachma-webhook-test";
  std::string ca_pem_;
  std::unique_ptr<Server> server_;
};

// Every folder of tests/webhook: review.yaml and the answer that it gets.
TEST_F(ServerTest, AnswersReviews) {
  for (const auto& entry : fs::directory_iterator(DRACHMA_SOURCE_DIR "/tests/webhook")) {
    const fs::path file = entry.path() / "answer.json";
    const Value review = json::ReadYamlValue(ReadFile(entry.path() / "review.yaml")).value();
    const auto [status, body] = Send("POST", kParametersPath, json::Write(review));
    EXPECT_EQ(status, 200);
    const std::string pretty = json::WritePretty(json::Read(body).value(), 2) + "\n";
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file) << pretty;
    EXPECT_EQ(pretty, ReadFile(file)) << entry.path();
  }
}

TEST_F(ServerTest, WhatIsNoReviewIsABadRequest) {
  EXPECT_EQ(Send("POST", kParametersPath, "{}").first, 400);
  EXPECT_EQ(Send("POST", kParametersPath, "not json").first, 400);
  EXPECT_EQ(Send("GET", kParametersPath, "").first, 405);
  EXPECT_EQ(Send("POST", kLedgerPath, "{}").first, 404);
  EXPECT_EQ(Send("GET", "/readyz", "").first, 200);
}

TEST(SelfSigned, IsKeptAsLongAsItServes) {
  const std::string folder = testing::TempDir() + "/drachma-self-signed-test";
  const Time now = RealClock().Now();
  const std::string first = SelfSignedIn(folder, {"a.example.com"}, now).value().ca_pem;
  EXPECT_EQ(SelfSignedIn(folder, {"a.example.com"}, now).value().ca_pem, first);
  EXPECT_NE(SelfSignedIn(folder, {"b.example.com"}, now).value().ca_pem, first);
  fs::remove_all(folder);
}

TEST(Registration, NamesServiceOrUrl) {
  const Value by_url = MakeConfiguration({.url = "https://h:1", .ledger = false});
  EXPECT_EQ(by_url["webhooks"].size(), 1U);
  EXPECT_EQ(by_url["webhooks"].Items()[0]["clientConfig"]["url"].AsString(),
            "https://h:1/validate-resource-claim-parameters");
  const Value by_service = MakeConfiguration({.service_namespace = "n", .service_name = "s"});
  EXPECT_EQ(by_service["webhooks"].Items()[1]["clientConfig"]["service"]["path"].AsString(),
            "/ledger");
}

// The role of the ledger against an API server in memory, under virtual time.
class LedgerRoleTest : public testing::Test {
 protected:
  LedgerRoleTest() : client_(api_.factory().NewClient(executor_, "webhook")) {
    api_.Apply(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {namespace: ns, name: holder}
status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}}
)");
    role_ = std::make_unique<LedgerRole>(*client_, LedgerRole::Options{});
    role_->Start();
  }

  // The verdict on a claim that wants device x, after at most `time`; nothing without one.
  std::optional<Status> Verdict(Duration time) {
    const Value claim = json::ReadYamlValue(R"(
metadata: {namespace: ns, name: wants, uid: w, resourceVersion: "1"}
status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}}
)")
                            .value();
    std::optional<Status> verdict;
    role_->Judge({.operation = "UPDATE",
                  .resource = "resourceclaims",
                  .subresource = "status",
                  .object = claim},
                 [&](const Status& status) { verdict = status; });
    Run(time);
    return verdict;
  }
  void Run(Duration time) {
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});
    while (executor_.RunOne(end)) {
    }
  }

  VirtualExecutor executor_{ParseTime("2026-11-30T10:00:00Z").value()};
  client::FakeApi api_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<LedgerRole> role_;
};

TEST_F(LedgerRoleTest, JudgesNothingUntilItHasReadAndSettled) {
  EXPECT_EQ(Verdict(std::chrono::seconds(1))->error().code, Code::kUnavailable);
  Run(LedgerRole::Options{}.settle);
  EXPECT_TRUE(role_->ready());
  EXPECT_EQ(Verdict(LedgerRole::kSecondLook)->error().code, Code::kForbidden);
}

TEST_F(LedgerRoleTest, LooksASecondTimeForADeviceThatWasJustGivenBack) {
  Run(std::chrono::seconds(10));
  executor_.PostAfter(LedgerRole::kSecondLook / 2, [&] {
    api_.Change(client::resources::kResourceClaims, "ns", "holder",
                [](Value& claim) { claim.Set("status", Value::Object()); });
  });
  EXPECT_TRUE(Verdict(LedgerRole::kSecondLook)->has_value());
}

TEST_F(LedgerRoleTest, OnlyTheHolderOfTheLeaseJudges) {
  LedgerRole first(*client_, {.leader_election = true, .identity = "a"});
  LedgerRole second(*client_, {.leader_election = true, .identity = "b"});
  first.Start();
  Run(std::chrono::seconds(10));
  second.Start();
  Run(std::chrono::seconds(10));
  EXPECT_TRUE(first.ready());
  EXPECT_FALSE(second.ready());
}

}  // namespace
}  // namespace drachma::webhook
