#include "apiserver/http_metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/process_metrics.h"

namespace drachma::apiserver {
namespace {

// Upper bounds of the latency histogram in seconds: upstream's.
constexpr double kBuckets[] = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                               3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60};

std::string PlaceText(const RequestLabels& labels) {
  return fmt::format(
      R"(group="{}",resource="{}",scope="{}",subresource="{}",verb="{}",version="{}")",
      labels.group, labels.resource, labels.scope, labels.subresource, labels.verb, labels.version);
}
std::string LabelText(const RequestLabels& labels) {
  return fmt::format(R"(component="{}",dry_run="{}",{})", labels.component, labels.dry_run,
                     PlaceText(labels));
}
std::string LabelTextWithoutDryRun(const RequestLabels& labels) {
  return fmt::format(R"(component="{}",{})", labels.component, PlaceText(labels));
}

void Head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
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

void HttpMetrics::CountTermination(const RequestLabels& labels, int code) {
  const std::lock_guard lock(mutex_);
  ++terminations_[{labels, code}];
}

std::unique_ptr<HttpMetrics::OpenWatch> HttpMetrics::BeginWatch(const RequestLabels& labels) {
  const std::string of_kind = fmt::format(R"(group="{}",resource="{}",version="{}")", labels.group,
                                          labels.resource, labels.version);
  const std::lock_guard lock(mutex_);
  const auto counter = [](std::map<std::string, Counter>& counters, const std::string& key) {
    Counter& found = counters[key];
    if (found == nullptr) found = std::make_shared<std::atomic<std::uint64_t>>(0);
    return found;
  };
  return std::make_unique<OpenWatch>(counter(open_watches_, LabelTextWithoutDryRun(labels)),
                                     counter(watch_events_, of_kind));
}

void HttpMetrics::AddSource(std::function<std::string()> source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

void HttpMetrics::AppendRequests(std::string& text) const {
  Head(text, "apiserver_request_total", "counter",
       "Requests by what they asked and how they were answered.");
  for (const auto& [key, count] : totals_) {
    text += fmt::format("apiserver_request_total{{code=\"{}\",{}}} {}\n", key.second,
                        LabelText(key.first), count);
  }
  Head(text, "apiserver_request_terminations_total", "counter",
       "Requests that the server ended by itself: too many of them, too long.");
  for (const auto& [key, count] : terminations_) {
    text += fmt::format("apiserver_request_terminations_total{{code=\"{}\",{}}} {}\n", key.second,
                        LabelTextWithoutDryRun(key.first), count);
  }
  Head(text, "apiserver_current_inflight_requests", "gauge", "Requests under way.");
  text += fmt::format(
      "apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n"
      "apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n",
      writes_in_flight.load(), reads_in_flight.load());
}

void HttpMetrics::AppendLatencies(std::string& text) const {
  constexpr std::string_view kName = "apiserver_request_duration_seconds";
  Head(text, kName, "histogram", "Time from request to answer.");
  for (const auto& [labels, latency] : latencies_) {
    const std::string shown = LabelText(labels);
    for (std::size_t i = 0; i < std::size(kBuckets); ++i) {
      text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", kName, shown, kBuckets[i],
                          latency.buckets[i]);
    }
    text += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", kName, shown, latency.count);
    text += fmt::format("{}_sum{{{}}} {}\n", kName, shown, latency.seconds);
    text += fmt::format("{}_count{{{}}} {}\n", kName, shown, latency.count);
  }
}

void HttpMetrics::AppendWatches(std::string& text) const {
  Head(text, "apiserver_longrunning_requests", "gauge", "Watches that are open.");
  for (const auto& [labels, open] : open_watches_) {
    text += fmt::format("apiserver_longrunning_requests{{{}}} {}\n", labels, open->load());
  }
  Head(text, "apiserver_watch_events_total", "counter", "Events sent to watches.");
  for (const auto& [labels, events] : watch_events_) {
    text += fmt::format("apiserver_watch_events_total{{{}}} {}\n", labels, events->load());
  }
}

std::string HttpMetrics::Text(const store::StoreStats& store, const net::ServerStats& server,
                              const std::vector<ResourceCount>& resources) {
  std::string text;
  const std::lock_guard lock(mutex_);
  AppendRequests(text);
  AppendLatencies(text);
  AppendWatches(text);
  Head(text, "apiserver_resource_objects", "gauge", "Objects in the store.");
  for (const ResourceCount& count : resources) {
    text += fmt::format("apiserver_resource_objects{{group=\"{}\",resource=\"{}\"}} {}\n",
                        count.group, count.resource, count.objects);
  }
  Head(text, "apiserver_storage_size_bytes", "gauge", "Size of the database.");
  text += fmt::format("apiserver_storage_size_bytes{{storage_cluster_id=\"drachma\"}} {}\n",
                      store.disk_bytes);
  const std::pair<std::string_view, std::pair<std::string_view, double>> ours[] = {
      {"drachma_storage_revision",
       {"Newest resourceVersion.", static_cast<double>(store.revision)}},
      {"drachma_connections", {"Connections of clients.", static_cast<double>(server.connections)}},
  };
  for (const auto& [name, value] : ours) {
    Head(text, name, "gauge", value.first);
    text += fmt::format("{} {}\n", name, value.second);
  }
  text += ProcessMetricsText();
  for (const auto& source : sources_) text += source();
  return text;
}

}  // namespace drachma::apiserver
