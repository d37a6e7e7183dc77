#include "apiserver/http_metrics.h"

#include <fmt/format.h>

#include <utility>

namespace drachma::apiserver {
namespace {

// Upper bounds of the latency histogram in seconds, a part of upstream's.
constexpr double kBuckets[] = {0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,
                               1.25,  1.5,   2,     3,    5,   10,  20,  30,  60};

std::string LabelText(const RequestLabels& labels) {
  return fmt::format(
      R"(group="{}",resource="{}",scope="{}",subresource="{}",verb="{}",version="{}")",
      labels.group, labels.resource, labels.scope, labels.subresource, labels.verb, labels.version);
}

void Gauge(std::string& text, std::string_view name, std::string_view help, double value) {
  text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n{} {}\n", name, help, name, name, value);
}

}  // namespace

void HttpMetrics::Count(const RequestLabels& labels, int code, double seconds) {
  const std::lock_guard lock(mutex_);
  ++totals_[{labels, code}];
  Latency& latency = latencies_[labels];
  latency.buckets.resize(std::size(kBuckets));
  ++latency.count;
  latency.seconds += seconds;
  for (std::size_t i = 0; i < std::size(kBuckets); ++i) {
    latency.buckets[i] += seconds <= kBuckets[i];
  }
}

void HttpMetrics::AddSource(std::function<std::string()> source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

std::string HttpMetrics::Text(const store::StoreStats& store, const net::ServerStats& server) {
  std::string text;
  const std::lock_guard lock(mutex_);
  text +=
      "# HELP apiserver_request_total Requests by what they asked and how they were answered.\n"
      "# TYPE apiserver_request_total counter\n";
  for (const auto& [key, count] : totals_) {
    text += fmt::format("apiserver_request_total{{code=\"{}\",{}}} {}\n", key.second,
                        LabelText(key.first), count);
  }
  text +=
      "# HELP apiserver_request_duration_seconds Time from request to answer.\n"
      "# TYPE apiserver_request_duration_seconds histogram\n";
  for (const auto& [labels, latency] : latencies_) {
    const std::string shown = LabelText(labels);
    for (std::size_t i = 0; i < std::size(kBuckets); ++i) {
      text += fmt::format("apiserver_request_duration_seconds_bucket{{{},le=\"{}\"}} {}\n", shown,
                          kBuckets[i], latency.buckets[i]);
    }
    text += fmt::format("apiserver_request_duration_seconds_bucket{{{},le=\"+Inf\"}} {}\n", shown,
                        latency.count);
    text +=
        fmt::format("apiserver_request_duration_seconds_sum{{{}}} {}\n", shown, latency.seconds);
    text +=
        fmt::format("apiserver_request_duration_seconds_count{{{}}} {}\n", shown, latency.count);
  }
  text += fmt::format(
      "# HELP apiserver_current_inflight_requests Requests under way.\n"
      "# TYPE apiserver_current_inflight_requests gauge\n"
      "apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n"
      "apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n",
      reads_in_flight.load(), writes_in_flight.load());
  Gauge(text, "apiserver_longrunning_requests", "Watches that are open.", watches.load());
  Gauge(text, "apiserver_request_rejected_total", "Requests answered 429.",
        static_cast<double>(rejected.load()));
  Gauge(text, "apiserver_storage_objects", "Objects in the store.",
        static_cast<double>(store.keys));
  Gauge(text, "apiserver_storage_size_bytes", "Size of the database.",
        static_cast<double>(store.disk_bytes));
  Gauge(text, "apiserver_storage_revision", "Newest resourceVersion.",
        static_cast<double>(store.revision));
  Gauge(text, "apiserver_tls_connections", "Connections of clients.",
        static_cast<double>(server.connections));
  for (const auto& source : sources_) text += source();
  return text;
}

}  // namespace drachma::apiserver
