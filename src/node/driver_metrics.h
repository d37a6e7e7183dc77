#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "node/dra_plugin.h"

namespace drachma::node {

// What a kubelet asks of a driver.
enum class Operation : std::uint8_t { kPrepare, kUnprepare };

// Counters of one driver under the names of NVIDIA's drivers, so that its dashboards show ours.
// Belongs to one actor.
class DriverMetrics {
 public:
  DriverMetrics(std::string driver, std::string node)
      : driver_(std::move(driver)), node_(std::move(node)) {}

  void Begin(Operation operation) { ++calls_[static_cast<std::size_t>(operation)].in_flight; }
  void End(Operation operation, Duration took);
  // `type`: "prepare_devices", "unprepare_devices", "publish_resources".
  void CountError(Operation operation, std::string_view type);

  // Prometheus' text format. `held` is what the driver holds now; `pools` say of what type it is.
  [[nodiscard]] std::string Text(const std::vector<HeldClaim>& held,
                                 const std::vector<Pool>& pools) const;

 private:
  // Upper bounds of the histogram are kFirstBucket · 2^n seconds.
  static constexpr double kFirstBucket = 0.05;
  static constexpr std::size_t kBuckets = 9;
  struct Calls {
    std::uint64_t in_flight = 0;
    std::uint64_t count = 0;
    double seconds = 0;
    std::array<std::uint64_t, kBuckets> buckets = {};  // cumulative
    std::map<std::string, std::uint64_t, std::less<>> errors;
  };
  void AppendRequests(std::string& text) const;
  void AppendDurations(std::string& text) const;

  const std::string driver_;
  const std::string node_;
  std::array<Calls, 2> calls_;  // by Operation
};

}  // namespace drachma::node
