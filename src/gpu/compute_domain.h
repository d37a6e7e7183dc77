#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/claim_config.h"
#include "gpu/domain_membership.h"
#include "json/value.h"
#include "node/dra_plugin.h"
#include "validation/gpu_config.h"

namespace drachma::gpu {

// The compute-domain driver of one node whose GPUs share an NVLink fabric with those of other
// nodes: publishes the node's IMEX channel 0, over which programs reach memory of other nodes'
// GPUs, and its place for an IMEX daemon, and prepares claims for them (the NVIDIA driver's
// compute-domain-kubelet-plugin). A channel is ready when its node has joined the ComputeDomain
// that the claim's config names, and the domain's daemon there is ready.
class ComputeDomainDriver final : public node::DraPlugin {
 public:
  // `clique`: which fabric and which part of it the GPUs belong to; empty on a node without NVLink
  // to others, where no channel is put into containers. Without a `link` devices are published, but
  // no claim can be prepared. REQUIRES: the link's membership, once it is there, outlives all
  // calls.
  ComputeDomainDriver(std::string pool, std::string clique,
                      std::shared_ptr<DomainLink> link = nullptr);
  ~ComputeDomainDriver() override;
  ComputeDomainDriver(const ComputeDomainDriver&) = delete;
  ComputeDomainDriver& operator=(const ComputeDomainDriver&) = delete;

  [[nodiscard]] std::string_view driver() const override {
    return validation::kComputeDomainDriver;
  }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override;
  void OnPoolsChanged(std::function<void()> /*changed*/) override {}  // they never do

 private:
  using OneDone = std::function<void(node::PrepareResult)>;
  // A claim whose channel waits for its domain.
  struct Waiting {
    std::vector<node::PreparedDevice> devices;
    std::vector<OneDone> done;
  };
  // What the configs of a claim come to.
  struct Wish {
    std::vector<node::PreparedDevice> devices;
    std::string domain;  // of its channel; empty: it has none
  };

  // Null: none of this process.
  [[nodiscard]] DomainMembership* membership() const {
    return link_ == nullptr ? nullptr : link_->membership;
  }
  [[nodiscard]] bool HasDaemons() const {
    return membership() == nullptr || !membership()->host_managed();
  }
  void PrepareOne(const json::Value& claim, OneDone done);
  [[nodiscard]] Result<Wish> Read(const json::Value& claim) const;
  [[nodiscard]] Status CheckFree(const node::PreparedDevice& device, std::string_view uid) const;
  // What the containers get by a device with that config. ERRORS: kNotFound: a daemon of no domain;
  // kInvalid: daemons are the host's.
  [[nodiscard]] Result<json::Value> ReportOf(const validation::GpuOpaqueConfig& config) const;
  [[nodiscard]] node::PrepareResult Finish(const std::string& uid,
                                           std::vector<node::PreparedDevice> devices);
  void OnJoined(const std::string& uid, const Status& joined);

  const std::string pool_;
  const std::string clique_;
  const std::shared_ptr<DomainLink> link_;
  std::map<std::string, std::string, std::less<>> holders_;            // device -> claim uid
  std::map<std::string, std::vector<node::PreparedDevice>> prepared_;  // by claim uid
  std::map<std::string, Waiting> waiting_;                             // by claim uid
};

}  // namespace drachma::gpu
