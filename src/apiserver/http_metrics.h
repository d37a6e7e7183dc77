#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "net/http_server.h"
#include "store/store.h"

namespace drachma::apiserver {

// What is counted per request.
struct RequestLabels {
  std::string verb;  // "GET", "LIST", "WATCH", "POST", …
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string scope;  // "resource", "namespace", "cluster"

  friend auto operator<=>(const RequestLabels&, const RequestLabels&) = default;
};

// Counters under upstream's names, in Prometheus' text format. Any thread.
class HttpMetrics {
 public:
  void Count(const RequestLabels& labels, int code, double seconds);
  void AddSource(std::function<std::string()> source);

  std::atomic<int> reads_in_flight = 0;
  std::atomic<int> writes_in_flight = 0;
  std::atomic<int> watches = 0;
  std::atomic<std::uint64_t> rejected = 0;

  [[nodiscard]] std::string Text(const store::StoreStats& store, const net::ServerStats& server);

 private:
  struct Latency {
    std::uint64_t count = 0;
    double seconds = 0;
    std::vector<std::uint64_t> buckets;
  };
  std::mutex mutex_;
  std::map<std::pair<RequestLabels, int>, std::uint64_t> totals_;
  std::map<RequestLabels, Latency> latencies_;
  std::vector<std::function<std::string()>> sources_;
};

}  // namespace drachma::apiserver
