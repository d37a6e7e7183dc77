#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "net/test_support.h"

namespace drachma::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WhoAmI(HttpRequest request, std::shared_ptr<HttpResponder> responder) {
  std::string text = request.identity ? request.identity->common_name : "nobody";
  if (request.identity) {
    for (const std::string& group : request.identity->organizations) text += "," + group;
  }
  if (!request.certificate_error.empty()) text += " (" + request.certificate_error + ")";
  responder->Respond({.body = {Share(text)}});
}

class HttpClientTest : public ::testing::Test {
 protected:
  void Serve(HttpHandler handler, ServerOptions options = TlsOptions()) {
    const bool tls = options.tls != nullptr;
    auto started = HttpServer::Start(std::move(options), std::move(handler));
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
    base_ = (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_->port());
  }
  void Connect(ClientOptions options = {}) {
    if (options.ca_pem.empty()) {
      options.ca_pem = TestCertificates::Get().authority.certificate_pem;
    }
    auto made = HttpClient::Make(std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    client_ = *std::move(made);
  }
  Result<ClientResponse> Ask(ClientRequest request) {
    std::promise<Result<ClientResponse>> answer;
    client_->Send(std::move(request), executor_,
                  [&](Result<ClientResponse> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }

  ThreadExecutor executor_{"test"};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::string base_;
};

TEST_F(HttpClientTest, SendsMethodFieldsAndBody) {
  Serve([](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.status = 201,
                        .headers = {{"X-Was", std::string(request.headers.Get("x-is"))}},
                        .body = {Share(request.method + request.target + request.body)}});
  });
  Connect();
  const auto answer = Ask({.method = "PATCH",
                           .url = base_ + "/a/../b?c=%2F",
                           .headers = {{"X-Is", "1"}},
                           .body = Share("text")});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->headers.Get("x-was"), "1");
  EXPECT_EQ(answer->body, "PATCH/a/../b?c=%2Ftext");
}

TEST_F(HttpClientTest, ACertificateOfTheAuthorityIsAnIdentity) {
  Serve(WhoAmI);
  const auto client = IssueClientCertificate(TestCertificates::Get().authority, "jane",
                                             {"system:masters", "dev"}, RealClock().Now())
                          .value();
  Connect({.certificate_pem = client.certificate_pem, .key_pem = client.key_pem});
  EXPECT_EQ(Ask({.url = base_}).value().body, "jane,system:masters,dev");
}

TEST_F(HttpClientTest, ACertificateOfAnotherAuthorityIsNone) {
  Serve(WhoAmI);
  const auto other = MakeAuthority("other-ca", RealClock().Now()).value();
  const auto client =
      IssueClientCertificate(other, "root", {"system:masters"}, RealClock().Now()).value();
  Connect({.certificate_pem = client.certificate_pem, .key_pem = client.key_pem});
  EXPECT_THAT(Ask({.url = base_}).value().body, HasSubstr("nobody (unable to verify"));
}

TEST_F(HttpClientTest, AnExpiredCertificateIsNone) {
  Serve(WhoAmI);
  const auto client =
      IssueClientCertificate(TestCertificates::Get().authority, "jane", {},
                             RealClock().Now() - std::chrono::hours(2), std::chrono::hours(1))
          .value();
  Connect({.certificate_pem = client.certificate_pem, .key_pem = client.key_pem});
  EXPECT_EQ(Ask({.url = base_}).value().body, "nobody (certificate has expired)");
}

TEST_F(HttpClientTest, AServersCertificateIsNoClients) {
  Serve(WhoAmI);
  const CertificateAndKey& server = TestCertificates::Get().server;
  Connect({.certificate_pem = server.certificate_pem, .key_pem = server.key_pem});
  EXPECT_THAT(Ask({.url = base_}).value().body, HasSubstr("nobody (unsuitable certificate"));
}

TEST_F(HttpClientTest, WithoutACertificateOneIsNobody) {
  Serve(WhoAmI);
  Connect();
  EXPECT_EQ(Ask({.url = base_}).value().body, "nobody");
}

TEST_F(HttpClientTest, AServerOfAnotherAuthorityIsNotTrusted) {
  Serve(WhoAmI);
  Connect({.ca_pem = MakeAuthority("other-ca", RealClock().Now()).value().certificate_pem});
  EXPECT_EQ(Ask({.url = base_}).error().code, Code::kUnauthorized);
  Connect({.verify = ClientOptions::Verify::kNo});
  EXPECT_TRUE(Ask({.url = base_}));
}

TEST_F(HttpClientTest, TheServerNameIsWhatIsVerified) {
  Serve(WhoAmI);
  Connect({.server_name = "kubernetes.default.svc"});
  EXPECT_TRUE(Ask({.url = base_}));
  Connect({.server_name = "elsewhere.example"});
  EXPECT_EQ(Ask({.url = base_}).error().code, Code::kUnauthorized);
}

TEST_F(HttpClientTest, CompressedAnswersAreDecoded) {
  Serve([](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    EXPECT_TRUE(AcceptsGzip(request.headers));
    responder->Respond({.headers = {{"Content-Encoding", "gzip"}},
                        .body = {Share(Gzip({Share("hello "), Share("there")}))}});
  });
  Connect();
  EXPECT_EQ(Ask({.url = base_}).value().body, "hello there");
}

TEST_F(HttpClientTest, LongAnswersComeWhole) {
  std::vector<Slice> body;
  std::string wanted;
  for (int i = 0; i < 4000; ++i) {
    const SharedBytes part = Share(std::to_string(i) + std::string(i, 'x'));
    body.emplace_back(part, 1);
    wanted += part->substr(1);
  }
  Serve([&](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.body = body});
  });
  Connect();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask({.url = base_}).value().body == wanted);
}

TEST_F(HttpClientTest, ManyRequestsRunSideBySide) {
  // None is answered before all have come.
  constexpr int kRequests = 50;
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpResponder>> waiting;
  ServerOptions options = TlsOptions();
  options.io_threads = 2;
  Serve(
      [&](HttpRequest, std::shared_ptr<HttpResponder> responder) {
        const std::lock_guard lock(mutex);
        waiting.push_back(std::move(responder));
        if (waiting.size() < kRequests) return;
        for (auto& one : waiting) one->Respond({.body = {Share("ok")}});
        waiting.clear();
      },
      std::move(options));
  Connect();
  std::atomic<int> good = 0;
  std::promise<void> all;
  for (int i = 0; i < kRequests; ++i) {
    client_->Send({.url = base_}, executor_, [&](Result<ClientResponse> result) {
      if (result && result->body == "ok" && ++good == kRequests) all.set_value();
    });
  }
  EXPECT_EQ(all.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(HttpClientTest, MoreRequestsThanAllowedWaitTheirTurn) {
  Serve([&](HttpRequest, std::shared_ptr<HttpResponder> responder) { responder->Respond({}); });
  Connect({.requests_max = 3});
  std::atomic<int> good = 0;
  std::promise<void> all;
  for (int i = 0; i < 50; ++i) {
    client_->Send({.url = base_}, executor_, [&](Result<ClientResponse> result) {
      if (result && ++good == 50) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_LE(server_->Stats().connections_accepted, 3u);
}

TEST_F(HttpClientTest, ConnectionsAreKept) {
  Serve(WhoAmI);
  Connect();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Ask({.url = base_}));
  EXPECT_EQ(server_->Stats().connections_accepted, 1u);
}

// What a stream told.
struct Told {
  std::promise<Status> end;
  int status = 0;
  std::string body;
  std::vector<std::string> lines;

  StreamCallbacks Callbacks() {
    return {.on_head =
                [this](ClientResponse response) {
                  status = response.status;
                  body = response.body;
                },
            .on_line = [this](std::string line) { lines.push_back(std::move(line)); },
            .on_end = [this](Status result) { end.set_value(std::move(result)); }};
  }
};

TEST_F(HttpClientTest, AStreamIsToldLineByLine) {
  Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->StartStream(200, {});
    for (const char* piece : {"on", "e\ntw", "o\r\n\nthree"}) responder->Write({piece});
    responder->Finish();
  });
  Connect();
  Told told;
  client_->Stream({.url = base_}, executor_, told.Callbacks());
  EXPECT_TRUE(told.end.get_future().get());
  EXPECT_EQ(told.status, 200);
  EXPECT_THAT(told.lines, ElementsAre("one", "two", "", "three"));
}

TEST_F(HttpClientTest, AStreamThatIsRefusedTellsTheBody) {
  Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.status = 410, .body = {Share("too old")}});
  });
  Connect();
  Told told;
  client_->Stream({.url = base_}, executor_, told.Callbacks());
  EXPECT_TRUE(told.end.get_future().get());
  EXPECT_EQ(told.status, 410);
  EXPECT_EQ(told.body, "too old");
  EXPECT_TRUE(told.lines.empty());
}

TEST_F(HttpClientTest, AStreamThatBreaksIsAnError) {
  Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->StartStream(200, {});
    responder->Write({"one\n"});
  });
  Connect();
  Told told;
  client_->Stream({.url = base_}, executor_, told.Callbacks());
  EXPECT_EQ(told.end.get_future().get().error().code, Code::kUnavailable);
  EXPECT_THAT(told.lines, ElementsAre("one"));
}

TEST_F(HttpClientTest, ALineWithoutEndIsTooLarge) {
  Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->StartStream(200, {});
    responder->Write({std::string(5000, 'x')});
    responder->Finish();
  });
  Connect({.line_bytes_max = 1000});
  Told told;
  client_->Stream({.url = base_}, executor_, told.Callbacks());
  EXPECT_EQ(told.end.get_future().get().error().code, Code::kTooLarge);
}

TEST_F(HttpClientTest, ACancelledStreamTellsNothingMore) {
  std::promise<void> gone;
  std::shared_ptr<HttpResponder> keep;
  Serve([&](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    keep = responder;
    responder->OnClose([&] { gone.set_value(); });
    responder->StartStream(200, {});
    responder->Write({"one\ntwo\n"});
  });
  Connect();
  std::vector<std::string> lines;
  std::atomic<HttpClient::RequestId> id = 0;
  id = client_->Stream({.url = base_}, executor_, {.on_line = [&](std::string line) {
                         while (id == 0) std::this_thread::yield();
                         lines.push_back(std::move(line));
                         client_->Cancel(id);
                       }});
  gone.get_future().wait();
  EXPECT_THAT(lines, ElementsAre("one"));
  server_.reset();  // before what its handler writes to
}

TEST_F(HttpClientTest, AnAnswerThatDoesNotComeIsATimeout) {
  std::shared_ptr<HttpResponder> keep;
  Serve([&](HttpRequest, std::shared_ptr<HttpResponder> responder) { keep = responder; });
  Connect();
  EXPECT_EQ(Ask({.url = base_, .timeout = std::chrono::milliseconds(50)}).error().code,
            Code::kTimeout);
  Told told;
  client_->Stream({.url = base_, .timeout = std::chrono::milliseconds(50)}, executor_,
                  told.Callbacks());
  EXPECT_EQ(told.end.get_future().get().error().code, Code::kTimeout);
  server_.reset();  // before what its handler writes to
}

TEST_F(HttpClientTest, NobodyThereIsUnavailable) {
  Serve(WhoAmI);
  server_->Shutdown(Duration::zero());
  Connect();
  EXPECT_EQ(Ask({.url = base_}).error().code, Code::kUnavailable);
  EXPECT_EQ(Ask({.url = "gopher://127.0.0.1"}).error().code, Code::kBadRequest);
}

TEST_F(HttpClientTest, AnAnswerOverTheLimitIsTooLarge) {
  Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.body = {Share(std::string(5000, 'x'))}});
  });
  Connect({.response_bytes_max = 1000});
  EXPECT_EQ(Ask({.url = base_}).error().code, Code::kTooLarge);
}

TEST_F(HttpClientTest, UnixSocketsWork) {
  const std::string path = ::testing::TempDir() + "/drachma-client-test.sock";
  Serve(WhoAmI, {.listen = {"unix:" + path}});
  Connect({.unix_socket = path});
  EXPECT_EQ(Ask({.url = "http://local/"}).value().body, "nobody");
}

TEST(HttpClient, AKeyThatDoesNotFitIsToldAtOnce) {
  const TestCertificates& certificates = TestCertificates::Get();
  const auto made = HttpClient::Make({.certificate_pem = certificates.server.certificate_pem,
                                      .key_pem = certificates.authority.key_pem});
  EXPECT_EQ(made.error().message, "the certificate and its key do not fit");
}

}  // namespace
}  // namespace drachma::net
