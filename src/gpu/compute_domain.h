#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/claim_config.h"
#include "json/value.h"
#include "node/dra_plugin.h"
#include "validation/gpu_config.h"

namespace drachma::gpu {

// The compute-domain driver of one node whose GPUs share an NVLink fabric with those of other
// nodes: publishes the node's IMEX channel 0, over which programs reach memory of other nodes'
// GPUs, and its place for an IMEX daemon, and prepares claims for them (the NVIDIA driver's
// compute-domain-kubelet-plugin). ComputeDomain objects are not looked at: whatever domain a config
// names is taken to be there and ready. Without a config a device belongs to no domain.
class ComputeDomainDriver final : public node::DraPlugin {
 public:
  // `clique`: which fabric and which part of it the GPUs belong to; empty on a node without NVLink
  // to others, where nothing is put into containers.
  ComputeDomainDriver(std::string pool, std::string clique)
      : pool_(std::move(pool)), clique_(std::move(clique)) {}

  [[nodiscard]] std::string_view driver() const override {
    return validation::kComputeDomainDriver;
  }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override;
  void OnPoolsChanged(std::function<void()> /*changed*/) override {}  // they never do

 private:
  [[nodiscard]] node::PrepareResult PrepareOne(const json::Value& claim);
  // What the containers get by a device with that config.
  [[nodiscard]] json::Value ReportOf(const validation::GpuOpaqueConfig& config) const;

  const std::string pool_;
  const std::string clique_;
  std::map<std::string, std::string, std::less<>> holders_;            // device -> claim uid
  std::map<std::string, std::vector<node::PreparedDevice>> prepared_;  // by claim uid
};

}  // namespace drachma::gpu
