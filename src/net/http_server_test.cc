#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "net/request_parser.h"
#include "net/test_support.h"

namespace drachma::net {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Says what it was asked.
void Echo(HttpRequest request, std::shared_ptr<HttpResponder> responder) {
  responder->Respond(
      {.status = 200,
       .body = {Share(request.method + " " + request.target + " "), Share(request.body)}});
}

std::unique_ptr<HttpServer> Serve(HttpHandler handler, ServerOptions options = {}) {
  if (options.listen.empty()) options.listen = {"127.0.0.1:0"};
  auto server = HttpServer::Start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return *std::move(server);
}

ServerOptions WithLimits(ServerLimits limits) { return {.limits = limits}; }

TEST(HttpServer, AnswersOverOneConnectionAgainAndAgain) {
  const auto server = Serve(Echo);
  const RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.ReadUntil("GET /a "), HasSubstr("Content-Length: 7\r\n"));
  }
  EXPECT_EQ(server->Stats().connections_accepted, 1u);
}

TEST(HttpServer, RequestsSentAheadAreAnsweredInOrder) {
  const auto server = Serve(Echo);
  const RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok";
  }
  client.Send(requests + "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadAll();
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answers.find("POST /" + std::to_string(i) + " ok", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_THAT(answers, EndsWith("GET /last "));
}

TEST(HttpServer, ChunkedBodiesArriveWhole) {
  const auto server = Serve(Echo);
  const RawClient client(server->port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.Send("2\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("abcde"), EndsWith("POST / abcde"));
}

// Boost's parser asserts that it sees at least five bytes after the last chunk's line.
TEST(RequestParser, AChunkedBodyMayEndByteByByte) {
  RequestParser parser({});
  std::string shown;
  std::size_t consumed = 0;
  RequestParser::Step step = RequestParser::Step::kNeedMore;
  for (const char byte : std::string_view(
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")) {
    ASSERT_EQ(step, RequestParser::Step::kNeedMore);
    shown += byte;
    step = parser.Feed(shown, consumed);
    shown.erase(0, consumed);
  }
  ASSERT_EQ(step, RequestParser::Step::kComplete);
  EXPECT_EQ(parser.Take().body, "a");
}

TEST(HttpServer, SaysContinueToWhoWaitsForIt) {
  const auto server = Serve(Echo);
  const RawClient client(server->port());
  client.Send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_THAT(client.ReadUntil("PUT / ok"), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpServer, HeadHasTheLengthButNoBody) {
  const auto server = Serve(Echo);
  const RawClient client(server->port());
  client.Send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpServer, Http10IsClosedUnlessItAsksOtherwise) {
  const auto server = Serve(Echo);
  const RawClient once(server->port());
  once.Send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_THAT(once.ReadAll(), EndsWith("GET /a "));
  const RawClient kept(server->port());
  kept.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(kept.ReadUntil("GET /a "), HasSubstr("Connection: keep-alive\r\n"));
}

TEST(HttpServer, APeerThatHasSaidAllIsStillAnswered) {
  const auto server = Serve([](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    std::thread([request = std::move(request), responder]() mutable {
      Echo(std::move(request), responder);
    }).detach();
  });
  const RawClient client(server->port());
  client.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  client.EndSending();
  EXPECT_THAT(client.ReadAll(), EndsWith("GET /a "));
}

TEST(HttpServer, AHandlerThatForgetsToAnswerIsA500) {
  const auto server = Serve([](HttpRequest, std::shared_ptr<HttpResponder>) {});
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST(HttpServer, LineEndsInAFieldDoNotForgeAnother) {
  const auto server = Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.headers = {{"X-Name", "a\r\nX-Forged: b"}}});
  });
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), Not(HasSubstr("\r\nX-Forged")));
}

TEST(HttpServer, AStreamIsSentInChunksAsTheyAreWritten) {
  const auto server = Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->StartStream(200, {{"Content-Type", "application/json"}});
    EXPECT_TRUE(responder->Write({"one", "\n"}));
    EXPECT_TRUE(responder->Write({"two\n"}));
    responder->Finish();
  });
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("0\r\n\r\n"), EndsWith("4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"));
}

TEST(HttpServer, AStreamThatIsDroppedDoesNotLookComplete) {
  const auto server = Serve([](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    responder->StartStream(200, {});
    responder->Write({"one\n"});
  });
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), EndsWith("one\n\r\n"));
}

// A stream that stays open, and what became of it.
struct OpenStream {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<HttpResponder> responder;
  bool closed = false;

  HttpHandler Handler() {
    return [this](HttpRequest, std::shared_ptr<HttpResponder> given) {
      given->StartStream(200, {});
      given->Write({"begin\n"});
      const std::lock_guard lock(mutex);
      responder = given;
      responder->OnClose([this] {
        const std::lock_guard inner(mutex);
        closed = true;
        changed.notify_all();
      });
    };
  }
  void WaitUntilClosed() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return closed; });
  }
};

TEST(HttpServer, AStreamHearsThatThePeerHasGone) {
  OpenStream stream;
  const auto server = Serve(stream.Handler());
  RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReadUntil("begin\n");
  client.Close();
  stream.WaitUntilClosed();
  EXPECT_TRUE(stream.responder->closed());
  EXPECT_FALSE(stream.responder->Write({"x"}));
}

TEST(HttpServer, AStreamWhosePeerDoesNotReadIsClosedAtTheLimit) {
  OpenStream stream;
  const auto server = Serve(stream.Handler(), WithLimits({.stream_queue_bytes_max = 1024 * 1024}));
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReadUntil("begin\n");
  const Chunk piece = {std::string(64 * 1024, 'x')};
  bool open = true;
  for (int i = 0; i < 10'000 && open; ++i) open = stream.responder->Write(piece);
  EXPECT_FALSE(open);
  stream.WaitUntilClosed();
  EXPECT_EQ(server->Stats().slow_streams_closed, 1u);
}

TEST(HttpServer, AStreamIsToldWhenItsQueueIsEmpty) {
  std::promise<void> drained;
  std::shared_ptr<HttpResponder> keep;
  const auto server = Serve([&](HttpRequest, std::shared_ptr<HttpResponder> responder) {
    keep = responder;
    responder->OnDrained([&, told = false]() mutable {
      if (!std::exchange(told, true)) drained.set_value();
    });
    responder->StartStream(200, {});
    responder->Write({"x"});
  });
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  drained.get_future().wait();
  EXPECT_EQ(keep->QueuedBytes(), 0u);
}

TEST(HttpServer, ShutdownFinishesRequestsAndEndsStreams) {
  OpenStream stream;
  std::promise<std::shared_ptr<HttpResponder>> waiting;
  const auto server = Serve([&](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    if (request.target == "/watch") {
      stream.Handler()(std::move(request), responder);
      responder->OnClose([&, responder]() mutable { responder->Finish(); });
    } else {
      waiting.set_value(responder);
    }
  });
  const RawClient watcher(server->port());
  watcher.Send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  watcher.ReadUntil("begin\n");
  const RawClient client(server->port());
  client.Send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = waiting.get_future().get();
  std::thread stopper([&] { server->Shutdown(std::chrono::seconds(20)); });
  EXPECT_THAT(watcher.ReadAll(), EndsWith("0\r\n\r\n"));
  responder->Respond({.body = {Share("done")}});
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("done"));
  stopper.join();
  EXPECT_EQ(server->Stats().connections, 0u);
  EXPECT_FALSE(RawClient(server->port()).connected());
}

TEST(HttpServer, MoreConnectionsThanAllowedAreClosed) {
  const auto server = Serve(Echo, WithLimits({.connections_max = 1}));
  const RawClient first(server->port());
  first.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  first.ReadUntil("GET / ");
  const RawClient second(server->port());
  EXPECT_EQ(second.ReadAll(), "");
  EXPECT_EQ(server->Stats().connections_refused, 1u);
}

// Time that the test moves.
class FakeClock final : public Clock {
 public:
  Time Now() const override { return Time(Monotonic()); }
  Duration Monotonic() const override { return Duration(now_.load()); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_ = 1'000'000'000'000;
};

TEST(HttpServer, ARequestThatDoesNotComeInTimeIsA408) {
  FakeClock clock;
  ServerOptions options;
  options.clock = &clock;
  const auto server = Serve(Echo, options);
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHos");
  while (server->Stats().connections == 0) std::this_thread::yield();
  // The bytes may still be on their way when the clock first moves, so it moves until they count.
  std::thread mover([&] {
    while (server->Stats().connections != 0) clock.Advance(std::chrono::seconds(1));
  });
  EXPECT_THAT(client.ReadAll(), ::testing::AnyOf(StartsWith("HTTP/1.1 408 "), ""));
  mover.join();
}

TEST(HttpServer, AnIdleConnectionIsClosed) {
  FakeClock clock;
  ServerOptions options;
  options.clock = &clock;
  const auto server = Serve(Echo, options);
  const RawClient client(server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReadUntil("GET / ");
  std::atomic<bool> stop = false;
  std::thread mover([&] {
    while (!stop) clock.Advance(std::chrono::seconds(60));
  });
  EXPECT_EQ(client.ReadAll(), "");
  stop = true;
  mover.join();
}

TEST(HttpServer, UnixSocketsAreForTheirOwnerOnly) {
  const std::string path = ::testing::TempDir() + "/drachma-net-test.sock";
  const auto server = Serve(Echo, {.listen = {"unix:" + path}});
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(HttpServer::Start({.listen = {"unix:" + path}}, Echo));
}

TEST(HttpServer, TellsWhatIsWrongWithItsOptions) {
  EXPECT_EQ(HttpServer::Start({.listen = {"nonsense"}}, Echo).error().code, Code::kInvalid);
  const auto tls = std::make_shared<TlsServerOptions>();
  EXPECT_EQ(HttpServer::Start({.listen = {"127.0.0.1:0"}, .tls = tls}, Echo).error().code,
            Code::kInvalid);
  const auto server = Serve(Echo);
  const auto second =
      HttpServer::Start({.listen = {"127.0.0.1:" + std::to_string(server->port())}}, Echo);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
}

struct BadRequest {
  const char* name;
  std::string bytes;
  const char* answer;  // how it begins; "" when the connection may just close
};

// What no well-behaved client sends.
class HostileInput : public ::testing::TestWithParam<BadRequest> {};

TEST_P(HostileInput, IsRefusedAndTheServerLivesOn) {
  const auto server =
      Serve(Echo, WithLimits({.header_bytes_max = 8 * 1024, .body_bytes_max = 1000}));
  const RawClient client(server->port());
  client.Send(GetParam().bytes);
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith(GetParam().answer));
  const RawClient next(server->port());
  next.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(next.ReadUntil("GET /a "), EndsWith("GET /a "));
}

std::vector<BadRequest> BadRequests() {
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  return {
      {"NotHttp", "\x16\x03\x01\x02garbage\r\n\r\n", "HTTP/1.1 400 "},
      {"NoHost", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"TwoHosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "HTTP/1.1 400 "},
      {"HugeHeader", "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n",
       "HTTP/1.1 431 "},
      {"HugeTarget", "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
       "HTTP/1.1 431 "},
      {"HugeLength", post + "Content-Length: 99999999999\r\n\r\n", "HTTP/1.1 413 "},
      {"OverflowingLength", post + "Content-Length: 99999999999999999999999\r\n\r\n",
       "HTTP/1.1 400 "},
      {"NegativeLength", post + "Content-Length: -1\r\n\r\n", "HTTP/1.1 400 "},
      {"TwoLengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 "},
      {"LengthAndChunks", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400 "},
      {"UnknownCoding", post + "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501 "},
      {"BadChunkSize", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", "HTTP/1.1 400 "},
      {"HugeChunk", post + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\nabc", "HTTP/1.1 413 "},
      {"OverflowingChunk", post + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFF\r\nabc",
       "HTTP/1.1 400 "},
      {"EndlessChunkLine",
       post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(100'000, 'a'), "HTTP/1.1 4"},
      {"ControlCharacters", "GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", "HTTP/1.1 400 "},
      {"NulInTarget", std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 29), "HTTP/1.1 400 "},
      {"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "HTTP/1.1 400 "},
      {"OldVersion", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
      {"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 400 "},
  };
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileInput, ::testing::ValuesIn(BadRequests()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HttpServer, TrailersDoNotBecomeFields) {
  const auto server = Serve([](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    responder->Respond({.body = {Share("user=" + std::string(request.headers.Get("X-User")))}});
  });
  const RawClient client(server->port());
  client.Send(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-User: "
      "root\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("user="), EndsWith("user="));
}

// Many clients, each of which may cut its request anywhere.
TEST(HttpServer, SurvivesClientsThatBreakOff) {
  ServerOptions options;
  options.io_threads = 2;
  const auto server = Serve(Echo, options);
  const std::string request = "POST /path HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  std::vector<std::thread> clients;
  for (int t = 0; t < 4; ++t) {
    clients.emplace_back([&, t] {
      for (std::size_t cut = t; cut < request.size(); cut += 4) {
        const RawClient client(server->port());
        client.Send(request.substr(0, cut));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const RawClient last(server->port());
  last.Send(request);
  EXPECT_THAT(last.ReadUntil("hello"), EndsWith("POST /path hello"));
}

}  // namespace
}  // namespace drachma::net
