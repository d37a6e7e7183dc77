#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/board.h"
#include "gpu/setup.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::gpu {

// The GPU driver of one node: publishes the boards of its backend, and prepares claims for them:
// makes parts, sets up time slicing and MPS as the claim's config says, and undoes it afterwards.
// Keeps who holds which device, so that a device that is not opened for administration is never
// handed to two claims, whatever the allocator did.
class GpuDriver final : public node::DraPlugin {
 public:
  // ERRORS: those of the backend.
  [[nodiscard]] static Result<std::unique_ptr<GpuDriver>> Create(std::string pool,
                                                                 std::unique_ptr<Backend> backend);

  [[nodiscard]] std::string_view driver() const override { return kDriverName; }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override;
  void OnPoolsChanged(std::function<void()> changed) override;

  // The number of claims whose devices are in use.
  [[nodiscard]] std::size_t prepared() const { return prepared_.size(); }

 private:
  // A device that may be asked for.
  struct Offer {
    const Board* board = nullptr;
    BoardDevice device;
    std::string holder;  // the claim's uid; empty: free
  };
  // What was done for a claim.
  struct Preparation {
    std::vector<node::PreparedDevice> devices;
    std::vector<Change> changes;
  };

  GpuDriver(std::string pool, std::unique_ptr<Backend> backend, std::vector<Board> boards);
  [[nodiscard]] node::PrepareResult PrepareOne(const json::Value& claim);
  // The device of an allocation result. ERRORS: kNotFound; kConflict: another claim has it.
  [[nodiscard]] Result<Offer*> Take(const json::Value& result, std::string_view claim_uid);
  [[nodiscard]] Status SetUp(const json::Value& claim, std::span<const json::Value* const> results,
                             std::span<SetUpDevice> devices, std::vector<Change>& changes);

  const std::string pool_;
  const std::unique_ptr<Backend> backend_;
  const std::vector<Board> boards_;
  const std::vector<node::SliceContent> slices_;  // as published
  std::map<std::string, Offer, std::less<>> offers_;
  std::map<std::string, Preparation> prepared_;  // by claim uid
  std::function<void()> changed_;
};

// The DeviceClasses that the driver ships.
[[nodiscard]] std::vector<json::Value> DeviceClasses();

}  // namespace drachma::gpu
