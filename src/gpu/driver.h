#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/board.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::gpu {

// The GPU driver of one node: publishes the boards of its backend and prepares claims for them.
// Keeps who holds which device, so that a device that is neither shared nor opened for
// administration is never handed to two claims, whatever the allocator did.
class GpuDriver final : public node::DraPlugin {
 public:
  // ERRORS: those of the backend.
  [[nodiscard]] static Result<std::unique_ptr<GpuDriver>> Create(std::string pool,
                                                                 Backend& backend);

  [[nodiscard]] std::string_view driver() const override { return kDriverName; }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override;
  void OnPoolsChanged(std::function<void()> changed) override;

  // The number of claims whose devices are in use.
  [[nodiscard]] std::size_t prepared() const { return prepared_.size(); }

 private:
  GpuDriver(std::string pool, const std::vector<Board>& boards);
  [[nodiscard]] node::PrepareResult PrepareOne(const json::Value& claim);

  const std::string pool_;
  // Whole: the slices as published, the source of Pools(); by device name whether it is shared.
  std::vector<node::SliceContent> slices_;
  std::map<std::string, bool, std::less<>> shareable_;
  std::map<std::string, std::vector<node::PreparedDevice>> prepared_;  // by claim uid
  std::map<std::string, std::string, std::less<>> holder_;             // device -> claim uid
  std::function<void()> changed_;
};

// The DeviceClasses that the driver ships.
[[nodiscard]] std::vector<json::Value> DeviceClasses();

}  // namespace drachma::gpu
