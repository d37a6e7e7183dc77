#include "node/driver_metrics.h"

#include <fmt/format.h>

namespace drachma::node {
namespace {

constexpr std::string_view kOperations[] = {"prepare", "unprepare"};  // by Operation

void Head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP nvidia_dra_{0} {2}\n# TYPE nvidia_dra_{0} {1}\n", name, type, help);
}

// "gpu", "mig" by the device's name.
std::map<std::string_view, std::string_view> TypesOf(const std::vector<Pool>& pools) {
  std::map<std::string_view, std::string_view> types;
  for (const Pool& pool : pools) {
    for (const SliceContent& slice : pool.slices) {
      for (const json::Value& device : slice.devices) {
        types.emplace(device["name"].AsString(),
                      device.At({"attributes", "type", "string"}).AsString());
      }
    }
  }
  return types;
}

}  // namespace

void DriverMetrics::End(Operation operation, Duration took) {
  Calls& calls = calls_[static_cast<std::size_t>(operation)];
  const double seconds = std::chrono::duration<double>(took).count();
  --calls.in_flight;
  ++calls.count;
  calls.seconds += seconds;
  double bound = kFirstBucket;
  for (std::uint64_t& bucket : calls.buckets) {
    bucket += seconds <= bound;
    bound *= 2;
  }
}

void DriverMetrics::CountError(Operation operation, std::string_view type) {
  auto& errors = calls_[static_cast<std::size_t>(operation)].errors;
  ++errors.try_emplace(std::string(type)).first->second;
}

void DriverMetrics::AppendRequests(std::string& text) const {
  Head(text, "requests_total", "counter", "Calls to prepare and unprepare that were answered.");
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    text += fmt::format("nvidia_dra_requests_total{{driver=\"{}\",operation=\"{}\"}} {}\n", driver_,
                        kOperations[i], calls_[i].count);
  }
  Head(text, "requests_inflight", "gauge", "Calls to prepare and unprepare that are under way.");
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    text += fmt::format("nvidia_dra_requests_inflight{{driver=\"{}\",operation=\"{}\"}} {}\n",
                        driver_, kOperations[i], calls_[i].in_flight);
  }
}

void DriverMetrics::AppendDurations(std::string& text) const {
  constexpr const char* kName = "nvidia_dra_request_duration_seconds";
  Head(text, "request_duration_seconds", "histogram", "How long calls took.");
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Calls& calls = calls_[i];
    const std::string labels =
        fmt::format("driver=\"{}\",operation=\"{}\"", driver_, kOperations[i]);
    double bound = kFirstBucket;
    for (const std::uint64_t bucket : calls.buckets) {
      text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", kName, labels, bound, bucket);
      bound *= 2;
    }
    text +=
        fmt::format("{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n{0}_count{{{1}}} {2}\n",
                    kName, labels, calls.count, calls.seconds);
  }
}

std::string DriverMetrics::Text(const std::vector<HeldClaim>& held,
                                const std::vector<Pool>& pools) const {
  std::string text;
  AppendRequests(text);
  AppendDurations(text);

  const std::map<std::string_view, std::string_view> types = TypesOf(pools);
  std::map<std::string_view, std::size_t> prepared;
  for (const auto& [name, type] : types) prepared.emplace(type, 0);
  for (const HeldClaim& claim : held) {
    for (const std::string& device : claim.devices) {
      const auto type = types.find(device);
      ++prepared[type != types.end() ? type->second : "unknown"];
    }
  }
  Head(text, "prepared_devices", "gauge", "Devices that are prepared now, by their type.");
  for (const auto& [type, count] : prepared) {
    text += fmt::format(
        "nvidia_dra_prepared_devices{{node=\"{}\",driver=\"{}\",device_type=\"{}\"}} {}\n", node_,
        driver_, type, count);
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const std::string name = fmt::format("node_{}_errors_total", kOperations[i]);
    Head(text, name, "counter", "What went wrong, by its kind.");
    for (const auto& [type, count] : calls_[i].errors) {
      text += fmt::format("nvidia_dra_{}{{driver=\"{}\",error_type=\"{}\"}} {}\n", name, driver_,
                          type, count);
    }
  }
  return text;
}

}  // namespace drachma::node
