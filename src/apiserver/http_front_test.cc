// What the HTTPS front bears and how it ends, asked over real connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "apiserver/discovery.h"
#include "apiserver/server.h"
#include "json/json.h"
#include "net/http_client.h"

namespace drachma::apiserver {
namespace {

using testing::HasSubstr;
using Response = std::future<Result<net::ClientResponse>>;

const std::string kConfigMaps = "/api/v1/namespaces/default/configmaps";

// Holds writes of objects that are named so, and the whole server while it is asked to.
class Gate final : public AsyncAdmission {
 public:
  bool Handles(const AdmissionRequest& request, Phase phase) const override {
    return phase == Phase::kMutating && (request.name.starts_with("held") ||
                                         request.name == "release" || request.name == "standstill");
  }
  void Review(AdmissionRequest& request, Phase, Done done) override {
    if (request.name.starts_with("held")) {
      held_.push_back(std::move(done));
      return;
    }
    if (request.name == "standstill") {
      stands_still.set_value();
      go_on.get_future().wait();
    }
    for (Done& each : std::exchange(held_, {})) each({});
    done({});
  }

  std::promise<void> stands_still;
  std::promise<void> go_on;

 private:
  std::vector<Done> held_;
};

class HttpFrontTest : public testing::Test {
 protected:
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start(Limits limits) {
    std::filesystem::create_directory(folder_);
    const std::string tokens = folder_ / "tokens.csv";
    std::ofstream(tokens) << "admin,admin,admin,system:masters\nworker,worker,worker,workers\n"
                             "stranger,stranger,stranger,strangers\n";
    Options options;
    options.listen = "127.0.0.1:0";
    options.token_auth_file = tokens;
    options.audit_log_path = audit_log_;
    options.webhooks = {gate_};
    options.limits = limits;
    server_ = Server::Create(std::move(options)).value();
    url_ = server_->url();
    http_ =
        net::HttpClient::Make({.verify = net::ClientOptions::Verify::kNo, .backlog_bytes_max = 0})
            .value();
    const Result<net::ClientResponse> bound =
        Send("admin", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             R"({"metadata":{"name":"workers"},"subjects":[{"kind":"Group","name":"workers",
                 "apiGroup":"rbac.authorization.k8s.io"}],"roleRef":{"kind":"ClusterRole",
                 "name":"cluster-admin","apiGroup":"rbac.authorization.k8s.io"}})")
            .get();
    ASSERT_EQ(bound->status, 201) << bound->body;
  }

  net::ClientRequest RequestOf(const std::string& user, const std::string& method,
                               const std::string& path, std::string body = "") const {
    net::ClientRequest request{.method = method, .url = url_ + path};
    request.headers = {{"Authorization", "Bearer " + user}, {"Content-Type", "application/json"}};
    if (!body.empty()) request.body = net::Share(std::move(body));
    return request;
  }
  Response Send(const std::string& user, const std::string& method, const std::string& path,
                std::string body = "") {
    auto done = std::make_shared<std::promise<Result<net::ClientResponse>>>();
    http_->Send(
        RequestOf(user, method, path, std::move(body)), executor_,
        [done](Result<net::ClientResponse> response) { done->set_value(std::move(response)); });
    return done->get_future();
  }
  Response Create(const std::string& user, const std::string& name, const std::string& query = "") {
    return Send(user, "POST", kConfigMaps + query,
                R"({"metadata":{"name":")" + name + R"("},"data":{"number":"0"}})");
  }
  int StatusOf(const std::string& user, const std::string& path) {
    const Result<net::ClientResponse> response = Send(user, "GET", path).get();
    return response ? response->status : 0;
  }
  std::string Metrics() { return Send("admin", "GET", "/metrics").get()->body; }
  // Waits until `holds`; the test ends by its time-out when it never does.
  template <typename Holds>
  static void Await(Holds holds) {
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void AwaitInFlight(const std::string& kind, int count) {
    const std::string line = "apiserver_current_inflight_requests{request_kind=\"" + kind + "\"} " +
                             std::to_string(count) + "\n";
    Await([&] { return Metrics().find(line) != std::string::npos; });
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("drachma-front-" + std::to_string(getpid()));
  const std::string audit_log_ = folder_ / "audit.log";
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  ThreadExecutor executor_{"client"};
  std::unique_ptr<Server> server_;
  std::unique_ptr<net::HttpClient> http_;
  std::string url_;
};

// A watch whose reader can be held up.
class SlowReader {
 public:
  SlowReader(net::HttpClient& http, net::ClientRequest request) {
    http.Stream(std::move(request), executor_,
                {.on_head = [this](net::ClientResponse head) { opened_.set_value(head.status); },
                 .on_line = [this](std::string line) { Take(std::move(line)); },
                 .on_end = [this](Status status) { ended_.set_value(std::move(status)); }});
  }
  void HoldUp() { mutex_.lock(); }
  void GoOn() { mutex_.unlock(); }
  int AwaitHead() { return opened_.get_future().get(); }
  Status AwaitEnd() { return ended_.get_future().get(); }
  // Once the stream has ended.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  void Take(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::promise<int> opened_;
  std::promise<Status> ended_;
  ThreadExecutor executor_{"reader"};
};

TEST_F(HttpFrontTest, ARequestThatWaitsLongerThanItsClientIsA504) {
  Start({});

  const Result<net::ClientResponse> late = Create("worker", "held", "?timeout=50ms").get();

  EXPECT_EQ(late->status, 504);
  EXPECT_EQ(late->headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(late->body,
            "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not "
            "complete within the allotted timeout\",\"reason\":\"Timeout\",\"details\":{},"
            "\"code\":504}\n");
  EXPECT_THAT(Metrics(),
              HasSubstr("apiserver_request_terminations_total{code=\"504\",component=\"apiserver\","
                        "group=\"\",resource=\"configmaps\",scope=\"resource\",subresource=\"\","
                        "verb=\"POST\",version=\"v1\"} 1"));
}

TEST_F(HttpFrontTest, TheServersTimeEndsARequestToo) {
  Start({.request_timeout = std::chrono::milliseconds(50)});

  EXPECT_EQ(Create("worker", "held", "?timeout=1h").get()->status, 504);
}

TEST_F(HttpFrontTest, TimesThatAreOverOrNoTimesAreTold) {
  Start({});

  EXPECT_EQ(StatusOf("worker", kConfigMaps + "?timeout=1ns"), 504);
  EXPECT_EQ(StatusOf("worker", kConfigMaps + "?timeout=0"), 200);
  EXPECT_EQ(StatusOf("worker", kConfigMaps + "?timeout=-1s"), 200);
  EXPECT_EQ(StatusOf("worker", kConfigMaps + "?timeout=soon"), 400);
}

TEST_F(HttpFrontTest, MoreWritesThanAllowedAreA429) {
  Start({.mutating_in_flight_max = 2});
  Response first = Create("worker", "held-1");
  Response second = Create("worker", "held-2");
  AwaitInFlight("mutating", 2);

  const Result<net::ClientResponse> refused = Create("worker", "c").get();

  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.Get("Retry-After"), "1");
  EXPECT_EQ(refused->body, "Too many requests, please try again later.\n");
  EXPECT_THAT(Metrics(), HasSubstr("apiserver_request_terminations_total{code=\"429\""));
  EXPECT_EQ(StatusOf("worker", kConfigMaps), 200) << "reads have their own room";
  EXPECT_EQ(StatusOf("worker", "/readyz"), 200);
  EXPECT_EQ(Create("admin", "release").get()->status, 201) << "system:masters always get through";
  EXPECT_EQ(first.get()->status, 201);
  EXPECT_EQ(second.get()->status, 201);
  AwaitInFlight("mutating", 0);
  EXPECT_EQ(Create("worker", "c").get()->status, 201);
}

TEST_F(HttpFrontTest, MoreReadsThanAllowedAreA429ButNotWatches) {
  Start({.requests_in_flight_max = 1});
  Response still = Create("worker", "standstill");
  gate_->stands_still.get_future().wait();
  // One connection at a time shows the order in which they come.
  std::vector<Response> reads;
  const auto read = [&](const std::string& user) {
    const std::size_t requests = reads.size();
    reads.push_back(Send(user, "GET", kConfigMaps + "?limit=" + std::to_string(requests + 1)));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  read("worker");
  read("worker");
  read("admin");
  SlowReader watch(*http_, RequestOf("worker", "GET", kConfigMaps + "?watch=1&timeoutSeconds=1"));

  gate_->go_on.set_value();

  EXPECT_EQ(reads[0].get()->status, 200);
  EXPECT_EQ(reads[1].get()->status, 429);
  EXPECT_EQ(reads[2].get()->status, 200) << "system:masters";
  EXPECT_EQ(watch.AwaitHead(), 200);
  EXPECT_TRUE(watch.AwaitEnd());
  EXPECT_EQ(still.get()->status, 201);
}

std::vector<int> NumbersOf(const std::vector<std::string>& lines) {
  std::vector<int> numbers;
  for (const std::string& line : lines) {
    const json::Value event = json::Read(line).value();
    if (event["type"].AsString() == "ERROR") continue;
    numbers.push_back(std::stoi(std::string(event["object"]["data"]["number"].AsString())));
  }
  return numbers;
}

TEST_F(HttpFrontTest, AWatcherThatFallsTooFarBehindIsCutOffAndResumesWithoutAGap) {
  Start({.watch_lag_events_max = 20});
  constexpr int kChanges = 300;
  const std::string text(100'000, 'x');
  const std::string path = kConfigMaps + "/big";
  const json::Value created = json::Read(Create("admin", "big").get()->body).value();
  const std::string begin(created["metadata"]["resourceVersion"].AsString());
  SlowReader slow(*http_,
                  RequestOf("worker", "GET", kConfigMaps + "?watch=1&resourceVersion=" + begin));
  ASSERT_EQ(slow.AwaitHead(), 200);
  slow.HoldUp();
  for (int number = 1; number <= kChanges; ++number) {
    const auto put = Send("admin", "PUT", path,
                          R"({"metadata":{"name":"big"},"data":{"number":")" +
                              std::to_string(number) + R"(","text":")" + text + "\"}}")
                         .get();
    ASSERT_EQ(put->status, 200) << put->body;
  }
  slow.GoOn();
  EXPECT_TRUE(slow.AwaitEnd());

  const json::Value last = json::Read(slow.lines().back()).value();
  EXPECT_EQ(last["type"].AsString(), "ERROR");
  EXPECT_EQ(last["object"]["code"].AsInt(), 410);
  EXPECT_EQ(last["object"]["reason"].AsString(), "Expired");
  std::vector<int> numbers = NumbersOf(slow.lines());
  ASSERT_LT(numbers.size(), kChanges);
  const json::Value before = json::Read(slow.lines()[numbers.size() - 1]).value();
  const std::string seen(before["object"]["metadata"]["resourceVersion"].AsString());

  // The store still has what came after.
  SlowReader again(*http_,
                   RequestOf("worker", "GET", kConfigMaps + "?watch=1&resourceVersion=" + seen));
  Await([&] { return again.count() == kChanges - numbers.size(); });
  server_.reset();
  EXPECT_TRUE(again.AwaitEnd());
  for (const int number : NumbersOf(again.lines())) numbers.push_back(number);
  for (int number = 1; number <= kChanges; ++number) EXPECT_EQ(numbers[number - 1], number);
}

TEST_F(HttpFrontTest, EndsWithGrace) {
  Start({.shutdown_delay = std::chrono::milliseconds(500)});
  Response under_way = Create("worker", "held");
  AwaitInFlight("mutating", 1);
  SlowReader watch(*http_, RequestOf("worker", "GET", kConfigMaps + "?watch=1"));
  ASSERT_EQ(watch.AwaitHead(), 200);

  std::thread end([this] { server_.reset(); });

  Await([&] { return StatusOf("worker", "/readyz") == 500; });
  EXPECT_EQ(StatusOf("worker", "/livez"), 200);
  EXPECT_EQ(Create("worker", "release").get()->status, 201) << "it still serves";
  EXPECT_EQ(under_way.get()->status, 201);
  end.join();
  EXPECT_TRUE(watch.AwaitEnd()) << "in good order";
  EXPECT_EQ(StatusOf("worker", "/livez"), 0) << "nobody listens any more";
}

TEST_F(HttpFrontTest, WhatIsUnderWayAtTheEndIsStillAnswered) {
  Start({});
  Response still = Create("worker", "standstill");
  gate_->stands_still.get_future().wait();

  std::thread end([this] { server_.reset(); });
  Await([&] { return StatusOf("worker", "/livez") == 0; });  // the listener is closed
  gate_->go_on.set_value();

  EXPECT_EQ(still.get()->status, 201);
  end.join();
}

TEST(Version, TellsTheEmulatedOne) {  // as recorded of kube-apiserver 1.37.2
  for (const auto& [emulated, compatible] : {std::pair(34, "34"), {36, "35"}, {37, "36"}}) {
    const json::Value version = Discovery::Version(emulated);
    EXPECT_EQ(version["minor"].AsString(), "37");
    EXPECT_EQ(version["emulationMinor"].AsString(), std::to_string(emulated));
    EXPECT_EQ(version["minCompatibilityMinor"].AsString(), compatible);
  }
}

// name → "type label,label", of a text in Prometheus' format.
std::map<std::string, std::string> FamiliesOf(const std::string& text) {
  std::map<std::string, std::string> types;
  std::map<std::string, std::set<std::string>> labels;
  std::istringstream lines(text);
  static const std::regex kType("# TYPE (\\S+) (\\S+)");
  static const std::regex kSample("([a-z0-9_]+?)(_bucket|_sum|_count)?(\\{(.*)\\})? .*");
  static const std::regex kLabel("([a-z_]+)=\"");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kType)) types[match[1]] = match[2];
    if (line.starts_with('#') || !std::regex_match(line, match, kSample)) continue;
    const std::string whole = match[1].str() + match[2].str();
    const std::string name = types.contains(whole) ? whole : match[1].str();
    const std::string shown = match[4];
    for (std::sregex_iterator label(shown.begin(), shown.end(), kLabel), none; label != none;
         ++label) {
      if ((*label)[1] != "le") labels[name].insert((*label)[1]);
    }
    labels[name];
  }
  std::map<std::string, std::string> families;
  for (const auto& [name, type] : types) {
    std::string joined;
    for (const std::string& label : labels[name]) joined += (joined.empty() ? "" : ",") + label;
    families[name] = type + " " + (joined.empty() ? "-" : joined);
  }
  return families;
}

TEST_F(HttpFrontTest, MetricsHaveUpstreamsNamesTypesAndLabels) {
  std::map<std::string, std::string> upstream;
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/apiserver/upstream_metrics.txt");
  std::string name;
  std::string rest;
  while (file >> name && std::getline(file >> std::ws, rest)) upstream[name] = rest;
  Start({});
  EXPECT_EQ(Create("worker", "held", "?timeout=10ms").get()->status, 504);
  SlowReader watch(*http_, RequestOf("worker", "GET", kConfigMaps + "?watch=1"));
  ASSERT_EQ(watch.AwaitHead(), 200);

  const std::map<std::string, std::string> ours = FamiliesOf(Metrics());

  EXPECT_GT(ours.size(), 10);
  for (const auto& [metric, shape] : ours) {
    if (metric.starts_with("drachma_")) continue;
    EXPECT_EQ(shape, upstream[metric]) << metric;
  }
  server_.reset();
  EXPECT_TRUE(watch.AwaitEnd());
}

TEST_F(HttpFrontTest, TheAuditLogSaysWhyRequestsWereAllowed) {
  Start({});
  const std::string path = "/apis/resource.k8s.io/v1beta1/deviceclasses";
  EXPECT_EQ(StatusOf("worker", path), 200);
  EXPECT_EQ(StatusOf("stranger", path), 403);
  server_.reset();
  std::vector<std::string> annotations;
  std::ifstream log(audit_log_);
  for (std::string line; std::getline(log, line);) {
    const json::Value event = json::Read(line).value();
    if (event["requestURI"].AsString() == path) {
      annotations.push_back(json::Write(event["annotations"]));
    }
  }
  EXPECT_THAT(
      annotations,
      testing::ElementsAre(
          R"({"authorization.k8s.io/decision":"allow",)"
          R"("authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"workers\" )"
          R"(of ClusterRole \"cluster-admin\" to Group \"workers\"",)"
          R"("k8s.io/deprecated":"true","k8s.io/removed-release":"1.38"})",
          R"({"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":""})"));
}

}  // namespace
}  // namespace drachma::apiserver
