#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/http_server.h"
#include "store/store.h"

namespace drachma::apiserver {

// What is counted per request, as upstream's labels of the same names.
struct RequestLabels {
  std::string verb;  // "GET", "LIST", "WATCH", "POST", "APPLY", …
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string scope;      // "resource", "namespace", "cluster"; empty for what is no resource
  std::string component;  // "apiserver"; empty for what is no resource
  std::string dry_run;    // "All" or empty

  friend auto operator<=>(const RequestLabels&, const RequestLabels&) = default;
};

// How many objects there are of a resource.
struct ResourceCount {
  std::string group;
  std::string resource;
  std::size_t objects = 0;
};

// Counters under upstream's names (those of our own begin with "drachma_"), in Prometheus' text
// format. Any thread.
class HttpMetrics {
 public:
  using Counter = std::shared_ptr<std::atomic<std::uint64_t>>;

  // One watch: counts as open while it lives, which may be longer than the metrics do.
  class OpenWatch {
   public:
    OpenWatch(Counter open, Counter events) : open_(std::move(open)), events_(std::move(events)) {
      ++*open_;
    }
    ~OpenWatch() { --*open_; }
    OpenWatch(const OpenWatch&) = delete;
    OpenWatch& operator=(const OpenWatch&) = delete;
    void CountEvent() { ++*events_; }

   private:
    const Counter open_;
    const Counter events_;
  };

  void Count(const RequestLabels& labels, int code, double seconds);
  // The server ended the request by itself: too many, too long.
  void CountTermination(const RequestLabels& labels, int code);
  [[nodiscard]] std::unique_ptr<OpenWatch> BeginWatch(const RequestLabels& labels);
  void AddSource(std::function<std::string()> source);

  std::atomic<int> reads_in_flight = 0;
  std::atomic<int> writes_in_flight = 0;

  [[nodiscard]] std::string Text(const store::StoreStats& store, const net::ServerStats& server,
                                 const std::vector<ResourceCount>& resources);

 private:
  struct Latency {
    std::uint64_t count = 0;
    double seconds = 0;
    std::vector<std::uint64_t> buckets;
  };
  void AppendRequests(std::string& text) const;
  void AppendLatencies(std::string& text) const;
  void AppendWatches(std::string& text) const;

  std::mutex mutex_;
  std::map<std::pair<RequestLabels, int>, std::uint64_t> totals_;
  std::map<std::pair<RequestLabels, int>, std::uint64_t> terminations_;
  std::map<RequestLabels, Latency> latencies_;
  // By the text of their labels.
  std::map<std::string, Counter> open_watches_;
  std::map<std::string, Counter> watch_events_;
  std::vector<std::function<std::string()>> sources_;
};

}  // namespace drachma::apiserver
