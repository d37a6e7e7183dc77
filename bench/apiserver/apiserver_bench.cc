// Loads one API server and prints what it bore: apiserver_bench full|short PORT TOKEN PID…, where
// the processes are all that make up the server ("short" shows in seconds that everything works).
// One line a scenario, separated by tabs: name, answers per second, median and 99th percentile in
// ms, microseconds of the server's CPU and of this program's per answer. Then bytes of memory.
//
// Load comes from one thread over plain HTTP/1.1 and TLS, the same bytes for every server; the
// writes that a thousand watchers see in a burst come from a second one.

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "https_wire.h"
#include "processes.h"

namespace drachma::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kConnections = 32;
constexpr auto kPace = std::chrono::milliseconds(100);

// How much is asked.
struct Size {
  std::size_t warm_up = 1'000;
  std::size_t pods = 10'000;
  std::size_t lists = 12;  // of each kind
  std::size_t watchers = 1'000;
  std::size_t paced_writes = 100;
  std::size_t burst_writes = 300;
};
constexpr Size kShort = {.warm_up = 100,
                         .pods = 1'000,
                         .lists = 3,
                         .watchers = 100,
                         .paced_writes = 10,
                         .burst_writes = 30};

struct Server {
  Size size;
  int port = 0;
  std::string token;
  std::vector<pid_t> processes;
};

struct Call {
  std::string method;
  std::string path;
  std::string body = "";
  std::string headers = "";  // whole lines
  std::string content_type = "application/json";
};

std::string TextOf(const Server& server, const Call& call) {
  std::string text = fmt::format(
      "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n"
      "User-Agent: apiserver-bench\r\n{}",
      call.method, call.path, server.token, call.headers);
  if (!call.body.empty()) {
    text += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", call.content_type,
                        call.body.size());
  }
  return text + "\r\n" + call.body;
}

class Poller {
 public:
  void Add(int file, std::size_t index) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
    epoll_ctl(file_, EPOLL_CTL_ADD, file, &event);
  }
  // Calls `visit` with the index of every connection that has something; waits for one.
  template <typename Visit>
  void Wait(int timeout_ms, Visit visit) {
    epoll_event events[256];
    const int count = epoll_wait(file_, events, 256, timeout_ms);
    for (int i = 0; i < count; ++i) visit(static_cast<std::size_t>(events[i].data.u64));
  }

 private:
  const int file_ = epoll_create1(EPOLL_CLOEXEC);
};

double Percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

// Measures from its construction to Report().
class Stopwatch {
 public:
  explicit Stopwatch(const Server& server)
      : server_(server), cost_(CostOf(server.processes)), own_(OwnCpuSeconds()) {}

  void Report(const char* name, std::vector<double>& latencies, std::size_t answers) const {
    const double seconds = Seconds(Clock::now() - begin_).count();
    const double cpu = CostOf(server_.processes).cpu_seconds - cost_.cpu_seconds;
    const double own = OwnCpuSeconds() - own_;
    const auto each = static_cast<double>(answers);
    fmt::print("{}\t{:.1f}\t{:.3f}\t{:.3f}\t{:.2f}\t{:.2f}\n", name, each / seconds,
               1e3 * Percentile(latencies, 0.5), 1e3 * Percentile(latencies, 0.99),
               1e6 * cpu / each, 1e6 * own / each);
    std::fflush(stdout);
  }

 private:
  const Server& server_;
  const Cost cost_;
  const double own_;
  const Clock::time_point begin_ = Clock::now();
};

// Asks `count` times, as many at once as there are connections, each as soon as the last was
// answered. `answered` gets the body of each answer.
struct Load {
  const char* name = "";
  std::size_t count = 0;
  std::size_t connections = kConnections;
  std::function<Call(std::size_t)> call;
  std::function<void(std::size_t, std::string)> answered = nullptr;
};

void Run(const Server& server, const Load& load) {
  struct Lane {
    std::unique_ptr<HttpsWire> wire;
    std::size_t index = 0;
    Clock::time_point sent;
    std::string body;
  };
  std::vector<Lane> lanes(load.connections);
  Poller poller;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].wire = std::make_unique<HttpsWire>(server.port);
    lanes[i].wire->response().on_body = [&load, &lane = lanes[i]](std::string_view part) {
      if (load.answered || lane.wire->response().status() >= 300) lane.body += part;
    };
    poller.Add(lanes[i].wire->file(), i);
  }
  std::vector<double> latencies;
  latencies.reserve(load.count);
  const Stopwatch stopwatch(server);
  std::size_t next = 0;
  const auto start = [&](Lane& lane) {
    if (next == load.count) return;
    lane.index = next++;
    lane.sent = Clock::now();
    lane.wire->Send(TextOf(server, load.call(lane.index)));
  };
  for (Lane& lane : lanes) start(lane);
  while (latencies.size() < load.count) {
    poller.Wait(-1, [&](std::size_t index) {
      Lane& lane = lanes[index];
      if (!lane.wire->ReadSome()) return;
      latencies.push_back(Seconds(Clock::now() - lane.sent).count());
      const int status = lane.wire->response().status();
      if (status >= 300) {
        fmt::print(stderr, "{}: status {}: {}\n", load.name, status, lane.body);
        std::exit(1);
      }
      if (load.answered) load.answered(lane.index, std::move(lane.body));
      lane.body.clear();
      start(lane);
    });
  }
  stopwatch.Report(load.name, latencies, load.count);
}

// A pod as people write them, with a claim.
std::string PodText(const std::string& name, int turn) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{"app":"training","team":"research","turn":"{}"}},)"
      R"("annotations":{{"example.com/owner":"somebody@example.com"}}}},"spec":{{"restartPolicy":"Never","schedulerName":"nobody",)"
      R"("containers":[{{"name":"main","image":"registry.example.com/training:v12.3","command":["python3","-m","train"],)"
      R"("args":["--epochs=10","--batch=256"],"env":[{{"name":"RANK","value":"0"}},{{"name":"WORLD_SIZE","value":"8"}}],)"
      R"("resources":{{"requests":{{"cpu":"2","memory":"8Gi"}},"limits":{{"memory":"8Gi"}},"claims":[{{"name":"gpu"}}]}}}}],)"
      R"("resourceClaims":[{{"name":"gpu","resourceClaimTemplateName":"one-gpu"}}],)"
      R"("tolerations":[{{"key":"gpu","operator":"Exists","effect":"NoSchedule"}}]}}}})",
      name, turn);
}

constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";
std::string NameOf(std::size_t index) { return fmt::format("pod-{}", index); }
std::string PathOf(std::size_t index) { return fmt::format("{}/{}", kPodsPath, NameOf(index)); }

// The stored object with its label changed, to be written back.
std::string NextTurn(std::string object, int turn) {
  constexpr std::string_view kLabel = R"("turn":")";
  const std::size_t at = object.find(kLabel) + kLabel.size();
  return object.replace(at, object.find('"', at) - at, std::to_string(turn));
}

void CreateReadUpdate(const Server& server, std::vector<std::string>& pods) {
  Run(server, {.name = "create",
               .count = server.size.pods,
               .call = [](std::size_t i) { return Call{"POST", kPodsPath, PodText(NameOf(i), 0)}; },
               .answered = [&](std::size_t i, std::string body) { pods[i] = std::move(body); }});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  fmt::print("memory-loaded\t{:.0f}\n", CostOf(server.processes).resident_bytes);
  std::mt19937 random(1);
  Run(server, {.name = "get", .count = server.size.pods, .call = [&](std::size_t) {
                 return Call{"GET", PathOf(random() % server.size.pods)};
               }});
  Run(server, {.name = "update",
               .count = server.size.pods,
               .call = [&](std::size_t i) { return Call{"PUT", PathOf(i), NextTurn(pods[i], 1)}; },
               .answered = [&](std::size_t i, std::string body) { pods[i] = std::move(body); }});
  Run(server, {.name = "patch", .count = server.size.pods, .call = [&](std::size_t i) {
                 return Call{"PATCH", PathOf(i), R"({"metadata":{"labels":{"turn":"2"}}})", "",
                             "application/merge-patch+json"};
               }});
}

void List(const Server& server) {
  const auto list = [&](const char* name, std::size_t count, const char* query,
                        const char* headers) {
    Run(server, {.name = name, .count = count, .connections = 2, .call = [&](std::size_t) {
                   return Call{"GET", std::string(kPodsPath) + query, "", headers};
                 }});
  };
  const char* json = "Accept: application/json\r\n";
  const char* protobuf = "Accept: application/vnd.kubernetes.protobuf,application/json\r\n";
  list("list", server.size.lists, "", json);
  list("list-gzip", server.size.lists, "", "Accept: application/json\r\nAccept-Encoding: gzip\r\n");
  list("list-protobuf", server.size.lists, "", protobuf);
  list("list-500", 16 * server.size.lists, "?limit=500", json);
  list("list-selector", 20 * server.size.lists, "?labelSelector=turn%3D9", json);
  list("list-table", server.size.lists, "",
       "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n");
}

// Watches of all pods from now on. Counts events by their line ends and tells how long each took.
class Watchers {
 public:
  explicit Watchers(const Server& server)
      : lanes_(server.size.watchers), sent_(server.size.paced_writes + server.size.burst_writes) {
    // The newest version: nothing old is sent.
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      lane.wire = std::make_unique<HttpsWire>(server.port);
      lane.wire->response().on_body = [this, &lane](std::string_view part) { Count(lane, part); };
      poller_.Add(lane.wire->file(), i);
    }
  }
  void Start(const Server& server, const std::string& version) {
    for (Lane& lane : lanes_) {
      lane.wire->Send(
          TextOf(server, {"GET", fmt::format("{}?watch=1&resourceVersion={}", kPodsPath, version),
                          "", "Accept: application/json\r\n"}));
    }
  }
  // Takes what comes until every watcher has seen `events` events.
  void Await(std::size_t events) {
    while (seen_ < events * lanes_.size()) Take(1000);
  }
  void Take(int timeout_ms) {
    poller_.Wait(timeout_ms, [this](std::size_t i) {
      HttpsWire& wire = *lanes_[i].wire;
      if (wire.ReadSome() || wire.response().status() >= 300) {
        fmt::print(stderr, "a watch ended with status {}\n", wire.response().status());
        std::exit(1);
      }
    });
  }
  // The next write is sent now. Any thread.
  void Sending() { sent_[written_++] = Clock::now(); }
  std::vector<double>& latencies() { return latencies_; }

 private:
  struct Lane {
    std::unique_ptr<HttpsWire> wire;
    std::size_t events = 0;
  };

  void Count(Lane& lane, std::string_view part) {
    const auto now = Clock::now();
    if (lane.wire->response().status() >= 300) return;
    for (std::size_t at = part.find('\n'); at != std::string_view::npos;
         at = part.find('\n', at + 1)) {
      latencies_.push_back(Seconds(now - sent_[lane.events].load()).count());
      ++lane.events;
      ++seen_;
    }
  }

  std::vector<Lane> lanes_;
  Poller poller_;
  std::vector<std::atomic<Clock::time_point>> sent_;
  std::atomic<std::size_t> written_ = 0;
  std::vector<double> latencies_;
  std::size_t seen_ = 0;
};

std::string VersionIn(std::string_view list) {
  constexpr std::string_view kField = R"("resourceVersion":")";
  const std::size_t at = list.find(kField) + kField.size();
  return std::string(list.substr(at, list.find('"', at) - at));
}

// Asks one thing after the other, blocking.
class Writer {
 public:
  explicit Writer(const Server& server) : server_(server), wire_(server.port) {
    wire_.response().on_body = [this](std::string_view part) { body_ += part; };
    poller_.Add(wire_.file(), 0);
  }
  // The body of the answer.
  const std::string& Ask(const Call& call) {
    body_.clear();
    wire_.Send(TextOf(server_, call));
    for (bool done = false; !done;) {
      poller_.Wait(-1, [&](std::size_t) { done = wire_.ReadSome(); });
    }
    return body_;
  }

 private:
  const Server& server_;
  HttpsWire wire_;
  Poller poller_;
  std::string body_;
};

void Watch(const Server& server) {
  const double before = CostOf(server.processes).resident_bytes;
  Watchers watchers(server);
  Writer writer(server);
  watchers.Start(server, VersionIn(writer.Ask({"GET", std::string(kPodsPath) + "?limit=1"})));
  for (int i = 0; i < 20; ++i) watchers.Take(100);
  fmt::print("memory-watchers\t{:.0f}\n", CostOf(server.processes).resident_bytes - before);
  std::size_t written = 0;
  const auto write = [&] {
    watchers.Sending();
    writer.Ask({"POST", kPodsPath, PodText(fmt::format("watched-{}", written++), 0)});
  };
  {
    const Stopwatch stopwatch(server);
    for (std::size_t i = 0; i < server.size.paced_writes; ++i) {
      const auto next = Clock::now() + kPace;
      write();
      watchers.Await(i + 1);
      while (Clock::now() < next) watchers.Take(1);
    }
    stopwatch.Report("watch-paced", watchers.latencies(),
                     server.size.paced_writes * server.size.watchers);
  }
  watchers.latencies().clear();
  const Stopwatch stopwatch(server);
  std::thread burst([&] {
    for (std::size_t i = 0; i < server.size.burst_writes; ++i) write();
  });
  watchers.Await(server.size.paced_writes + server.size.burst_writes);
  burst.join();
  stopwatch.Report("watch-burst", watchers.latencies(),
                   server.size.burst_writes * server.size.watchers);
}

void DeleteAll(const Server& server) {
  Run(server, {.name = "delete", .count = server.size.pods, .call = [](std::size_t i) {
                 return Call{"DELETE", PathOf(i) + "?gracePeriodSeconds=0"};
               }});
}

void RunAll(const Server& server) {
  fmt::print("size\t{}\t{}\n", server.size.pods, server.size.watchers);
  // Some of everything first: what is made once is not a cost of the load.
  Run(server, {.name = "warm-up", .count = server.size.warm_up, .call = [](std::size_t i) {
                 return Call{"POST", kPodsPath, PodText(fmt::format("warm-{}", i), 0)};
               }});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  fmt::print("memory-start\t{:.0f}\n", CostOf(server.processes).resident_bytes);
  std::vector<std::string> pods(server.size.pods);
  CreateReadUpdate(server, pods);
  List(server);
  Watch(server);
  DeleteAll(server);
  fmt::print("memory-end\t{:.0f}\n", CostOf(server.processes).resident_bytes);
}

}  // namespace
}  // namespace drachma::bench

int main(int argc, char** argv) {
  const std::string_view size = argc > 1 ? argv[1] : "";
  if (argc < 5 || (size != "full" && size != "short")) {
    std::fputs("usage: apiserver_bench full|short PORT TOKEN PID...\n", stderr);
    return 2;
  }
  drachma::bench::Server server{
      .size = size == "short" ? drachma::bench::kShort : drachma::bench::Size(),
      .port = std::atoi(argv[2]),
      .token = argv[3],
      .processes = {}};
  for (int i = 4; i < argc; ++i) server.processes.push_back(std::atoi(argv[i]));
  drachma::bench::RunAll(server);
}
