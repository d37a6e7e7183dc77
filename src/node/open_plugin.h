#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/dra_plugin.h"

namespace drachma::node {

// Stands in for a driver that is not known here: every claim is ready at once, nothing is
// published. Simulated nodes use it for drivers whose slices come from files.
class OpenPlugin final : public DraPlugin {
 public:
  explicit OpenPlugin(std::string driver) : driver_(std::move(driver)) {}

  [[nodiscard]] std::string_view driver() const override { return driver_; }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<Pool> Pools() const override { return {}; }
  void OnPoolsChanged(std::function<void()> /*changed*/) override {}

 private:
  const std::string driver_;
};

}  // namespace drachma::node
