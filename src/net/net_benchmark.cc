// Requests per second and the price of many open streams, server and client in one process.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "net/test_support.h"

namespace drachma::net {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

long ResidentKb() {
  std::ifstream file("/proc/self/statm");
  long size = 0;
  long resident = 0;
  file >> size >> resident;
  return resident * 4;
}

void Report(const char* what, int count, const std::function<void()>& run) {
  const double cpu = CpuSeconds();
  const Duration begin = RealClock().Monotonic();
  run();
  const double seconds = std::chrono::duration<double>(RealClock().Monotonic() - begin).count();
  fmt::print("{:<44} {:>9.0f}/s {:>7.1f} us CPU each\n", what, count / seconds,
             (CpuSeconds() - cpu) / count * 1e6);
}

void Answer(HttpRequest, std::shared_ptr<HttpResponder> responder) {
  static const SharedBytes body = Share(std::string(2048, 'x'));
  responder->Respond({.headers = {{"Content-Type", "application/json"}}, .body = {body}});
}

// Keeps `parallel` requests under way.
void AskOften(HttpClient& client, Executor& executor, const std::string& url, int parallel,
              int requests) {
  std::atomic<int> left = requests;
  std::atomic<int> answered = 0;
  std::promise<void> done;
  std::function<void()> next = [&] {
    if (left.fetch_sub(1) <= 0) return;
    client.Send({.url = url}, executor, [&](Result<ClientResponse> result) {
      if (!result) std::abort();
      next();
      if (++answered == requests) done.set_value();
    });
  };
  for (int i = 0; i < parallel; ++i) next();
  done.get_future().wait();
}

void Pipelined(int port, int requests) {
  const RawClient client(port);
  constexpr int kAhead = 50;
  std::string text;
  for (int i = 0; i < kAhead; ++i) text += "GET /api/v1/pods/x HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int i = 0; i < requests; i += kAhead) {
    client.Send(text);
    client.ReadUntil("HTTP/1.1 200 OK", kAhead);
  }
}

void Streams(int streams, int events) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpResponder>> open;
  ServerOptions options = TlsOptions();
  const auto server = HttpServer::Start(options, [&](HttpRequest, auto responder) {
                        responder->StartStream(200, {});
                        const std::lock_guard lock(mutex);
                        open.push_back(std::move(responder));
                      }).value();
  const auto client =
      HttpClient::Make({.ca_pem = TestCertificates::Get().authority.certificate_pem}).value();
  ThreadExecutor executor("reader");
  const std::string url = "https://127.0.0.1:" + std::to_string(server->port());
  std::atomic<int> lines = 0;
  std::atomic<int> heads = 0;
  const long before = ResidentKb();
  for (int i = 0; i < streams; ++i) {
    client->Stream(
        {.url = url}, executor,
        {.on_head = [&](ClientResponse) { ++heads; }, .on_line = [&](std::string) { ++lines; }});
  }
  while (heads < streams) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fmt::print("{} TLS streams: {} KB each, client and server together\n", streams,
             (ResidentKb() - before) / streams);
  Report("events to 1000 TLS streams (both sides)", streams * events, [&] {
    for (int i = 0; i < events; ++i) {
      const Chunk event = {std::string(2047, 'x'), "\n"};
      for (const auto& responder : open) responder->Write(event);
      while (lines < streams * (i + 1)) std::this_thread::yield();
    }
  });
}

void Run() {
  const auto plain = HttpServer::Start({.listen = {"127.0.0.1:0"}}, Answer).value();
  Report("requests sent ahead, plain", 100'000, [&] { Pipelined(plain->port(), 100'000); });
  const auto server = HttpServer::Start(TlsOptions(), Answer).value();
  const auto client =
      HttpClient::Make({.ca_pem = TestCertificates::Get().authority.certificate_pem}).value();
  ThreadExecutor executor("bench");
  const std::string url = "https://127.0.0.1:" + std::to_string(server->port()) + "/x";
  Report("requests over TLS, 64 at a time (both sides)", 30'000,
         [&] { AskOften(*client, executor, url, 64, 30'000); });
  Report("TLS handshakes (both sides)", 500, [&] {
    for (int i = 0; i < 500; ++i) {
      const auto fresh =
          HttpClient::Make({.ca_pem = TestCertificates::Get().authority.certificate_pem}).value();
      AskOften(*fresh, executor, url, 1, 1);
    }
  });
  Streams(1000, 50);
}

}  // namespace
}  // namespace drachma::net

int main() {
  drachma::net::Run();
  return 0;
}
