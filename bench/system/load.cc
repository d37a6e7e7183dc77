#include "bench/system/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "base/clock.h"
#include "bench/system/https_connection.h"

namespace drachma::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kNamespacePath = "/api/v1/namespaces/load/pods";

constexpr std::string_view kClass = R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass",
"metadata":{"name":"load-gpu"},"spec":{"selectors":[{"cel":{"expression":
"device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu' && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('39Gi')) >= 0"}}]}})";

constexpr std::string_view kTemplate =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",
"metadata":{"name":"one-gpu","namespace":"load"},"spec":{"spec":{"devices":{"requests":[
{"name":"gpu","exactly":{"deviceClassName":"load-gpu"}}]}}}})";

constexpr std::string_view kPod = R"({{"apiVersion":"v1","kind":"Pod",
"metadata":{{"name":"pod-{0}","namespace":"load","labels":{{"app":"load"}}}},
"spec":{{"terminationGracePeriodSeconds":0,
"resourceClaims":[{{"name":"gpu","resourceClaimTemplateName":"one-gpu"}}],
"containers":[{{"name":"main","image":"registry.k8s.io/pause:3.10",
"resources":{{"requests":{{"cpu":"1","memory":"1Gi"}},"claims":[{{"name":"gpu"}}]}}}}]}}}})";

constexpr std::string_view kNode =
    R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"load-{0}",
"labels":{{"kubernetes.io/hostname":"load-{0}"}}}},"status":{{
"capacity":{{"cpu":"64","memory":"512Gi","pods":"110"}},
"allocatable":{{"cpu":"64","memory":"512Gi","pods":"110"}},
"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady",
"lastHeartbeatTime":"{1}","lastTransitionTime":"{1}"}}]}}}})";

constexpr std::string_view kDevice = R"({{"name":"gpu-{0}","attributes":{{
"type":{{"string":"gpu"}},"productName":{{"string":"NVIDIA H100 80GB HBM3"}},
"architecture":{{"string":"Hopper"}},"cudaComputeCapability":{{"version":"9.0.0"}},
"uuid":{{"string":"GPU-{1}-{0}"}}}},"capacity":{{"memory":{{"value":"81559Mi"}}}}}})";

std::string SliceOf(int node, int devices) {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    list += (i == 0 ? "" : ",") + fmt::format(fmt::runtime(kDevice), i, node);
  }
  return fmt::format(
      R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"load-{0}"}},)"
      R"("spec":{{"driver":"gpu.nvidia.com","nodeName":"load-{0}",)"
      R"("pool":{{"name":"load-{0}","generation":1,"resourceSliceCount":1}},"devices":[{1}]}}}})",
      node, list);
}

Status Post(HttpsConnection& connection, std::string_view path, std::string_view body) {
  DRA_ASSIGN(const HttpsConnection::Response response, connection.Ask("POST", path, body));
  if (response.status == 201) return {};
  return Fail(Code::kInternal, fmt::format("POST {}: {} {}", path, response.status, response.body));
}

// The first error of several threads.
class FirstError {
 public:
  void Note(Status status) {
    if (status) return;
    const std::lock_guard lock(mutex_);
    if (status_) status_ = std::move(status);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Status Take() { return std::move(status_); }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  Status status_;
};

// Calls `make` for 0 … count-1 on as many threads as there are connections.
Status Spread(const LoadOptions& options, int count,
              const std::function<Status(HttpsConnection&, int)>& make) {
  std::atomic<int> next = 0;
  FirstError error;
  std::vector<std::thread> threads;
  for (int t = 0; t < options.connections; ++t) {
    threads.emplace_back([&] {
      Result<HttpsConnection> connection = HttpsConnection::Open(options.config);
      if (!connection) return error.Note(std::unexpected(connection.error()));
      for (int i; !error.failed() && (i = next++) < count;) error.Note(make(*connection, i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return error.Take();
}

Status WriteCluster(const LoadOptions& options) {
  DRA_ASSIGN(HttpsConnection connection, HttpsConnection::Open(options.config));
  DRA_TRY(Post(connection, "/api/v1/namespaces",
               R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"load"}})"));
  DRA_TRY(Post(connection, "/apis/resource.k8s.io/v1/deviceclasses", kClass));
  DRA_TRY(Post(connection, "/apis/resource.k8s.io/v1/namespaces/load/resourceclaimtemplates",
               kTemplate));
  const std::string now = FormatTime(RealClock().Now());
  return Spread(options, options.nodes, [&](HttpsConnection& mine, int i) -> Status {
    DRA_TRY(Post(mine, "/api/v1/nodes", fmt::format(fmt::runtime(kNode), i, now)));
    return Post(mine, "/apis/resource.k8s.io/v1/resourceslices", SliceOf(i, options.devices));
  });
}

// Counts the pods that are where they should be, by a watch on a connection of its own.
class Arrivals {
 public:
  Arrivals(HttpsConnection connection, const LoadOptions& options)
      : connection_(std::move(connection)), wanted_(static_cast<std::size_t>(options.pods)) {
    const std::string_view selector = options.until == LoadOptions::Until::kBound
                                          ? "spec.nodeName%21%3D"
                                          : "status.phase%3DRunning";
    thread_ = std::thread([this, path = fmt::format("{}?watch=1&fieldSelector={}", kNamespacePath,
                                                    selector)] {
      // A server may end a watch at any time; the next one begins with all pods again.
      Status status;
      while (status && !complete_) {
        status = connection_.Stream(path, [this](std::string_view line) { return OnLine(line); });
      }
      const std::lock_guard lock(mutex_);
      status_ = status;
      ended_ = true;
      changed_.notify_all();
    });
  }
  ~Arrivals() { thread_.join(); }
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // Until `count` pods have come, or the watch has ended.
  Status Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || come_.size() >= count; });
    return status_;
  }

 private:
  bool OnLine(std::string_view line) {
    constexpr std::string_view kName = "\"name\":\"pod-";
    const std::size_t name = line.find(kName);
    if (!line.starts_with(R"({"type":"ADDED")") || name == std::string_view::npos) return true;
    const std::lock_guard lock(mutex_);
    come_.insert(std::atoi(line.data() + name + kName.size()));
    changed_.notify_all();
    complete_ = come_.size() >= wanted_;
    return !complete_;
  }

  HttpsConnection connection_;
  const std::size_t wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<int> come_;
  std::atomic<bool> complete_ = false;
  bool ended_ = false;
  Status status_;
  std::thread thread_;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Status MakeOneByOne(const LoadOptions& options, Arrivals& arrivals, LoadFigures& figures) {
  DRA_ASSIGN(HttpsConnection connection, HttpsConnection::Open(options.config));
  std::vector<double> times;
  for (int i = 0; i < options.pods; ++i) {
    const auto begin = Clock::now();
    DRA_TRY(Post(connection, kNamespacePath, fmt::format(fmt::runtime(kPod), i)));
    DRA_TRY(arrivals.Await(times.size() + 1));
    times.push_back(1e3 * SecondsSince(begin));
  }
  std::ranges::sort(times);
  figures.median_ms = times[times.size() / 2];
  return {};
}

Status MakeAtOnce(const LoadOptions& options, Arrivals& arrivals) {
  DRA_TRY(Spread(options, options.pods, [](HttpsConnection& mine, int i) {
    return Post(mine, kNamespacePath, fmt::format(fmt::runtime(kPod), i));
  }));
  return arrivals.Await(static_cast<std::size_t>(options.pods));
}

}  // namespace

Result<LoadFigures> RunLoad(const LoadOptions& options) {
  DRA_TRY(WriteCluster(options));
  AwaitQuiet(options.processes);
  DRA_ASSIGN(HttpsConnection connection, HttpsConnection::Open(options.config));
  LoadFigures figures;
  const RoleTimes before = TimesOf(options.processes);
  const double bytes = ResidentBytes(options.processes);
  Arrivals arrivals(std::move(connection), options);
  const auto begin = Clock::now();
  if (options.pace == LoadOptions::Pace::kOneByOne) {
    DRA_TRY(MakeOneByOne(options, arrivals, figures));
  } else {
    DRA_TRY(MakeAtOnce(options, arrivals));
  }
  figures.seconds = SecondsSince(begin);
  AwaitQuiet(options.processes);
  figures.cpu = TimesOf(options.processes);
  for (auto& [role, seconds] : figures.cpu) {
    if (const auto old = before.find(role); old != before.end()) seconds -= old->second;
  }
  figures.bytes = ResidentBytes(options.processes) - bytes;
  return figures;
}

}  // namespace drachma::bench
