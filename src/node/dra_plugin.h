#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::node {

// Which claim a call is about (dra/v1 Claim).
struct ClaimRef {
  std::string ns;
  std::string name;
  std::string uid;

  friend auto operator<=>(const ClaimRef&, const ClaimRef&) = default;
};

// One device made ready for the containers of a pod (dra/v1 Device).
struct PreparedDevice {
  std::vector<std::string> requests;  // base request names; empty means all of the claim
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_device_ids;  // "vendor/class=name"; may be empty
  std::string share_id;                     // empty unless the device is shared by capacity
  // What the driver has to say of the device (status.devices[].data of the claim, KEP-4817); null:
  // nothing.
  json::Value report;
};

// A claim that a driver holds devices for, whole or in part.
struct HeldClaim {
  ClaimRef claim;
  std::vector<std::string> devices;  // names within the driver's pool
};

using PrepareResult = Result<std::vector<PreparedDevice>>;
// By claim uid; every claim of the call is in the answer.
using PrepareAnswer = std::map<std::string, PrepareResult>;
using UnprepareAnswer = std::map<std::string, Status>;

// The devices of one ResourceSlice, in the form of resource.k8s.io/v1 (spec.devices and
// spec.sharedCounters).
struct SliceContent {
  std::vector<json::Value> shared_counters;
  std::vector<json::Value> devices;
};

// A pool that a driver wants published. Slices keep their order: slice i of the pool is content i.
struct Pool {
  std::string name;
  std::int64_t generation = 0;  // 0: the publisher counts
  std::vector<SliceContent> slices;
};

// A DRA driver's part on a node: upstream's kubeletplugin.DRAPlugin. The kubelet's side calls it
// directly (simulation, plan, benches) or over gRPC (rpc wraps one as a service, and a real
// driver's socket as one of these).
//
// Prepare and Unprepare are idempotent. One plugin belongs to one node and one actor: calls come
// from that actor's executor, and `done` is called there, perhaps before the call returns.
class DraPlugin {
 public:
  using PrepareDone = std::move_only_function<void(PrepareAnswer)>;
  using UnprepareDone = std::move_only_function<void(UnprepareAnswer)>;

  virtual ~DraPlugin() = default;
  // "gpu.nvidia.com"; valid as long as the plugin lives.
  [[nodiscard]] virtual std::string_view driver() const = 0;
  // Makes the devices of `claims` ready: whole ResourceClaim objects, as they were read, each with
  // an allocation that names this driver. ERRORS: per claim, whatever keeps the pod from starting.
  virtual void Prepare(std::span<const json::Value> claims, PrepareDone done) = 0;
  // Gives the devices of `claims` back. A claim that is not prepared is no error.
  virtual void Unprepare(std::span<const ClaimRef> claims, UnprepareDone done) = 0;
  // What is given back when the claims are gone, in any order. Empty for drivers that remember
  // nothing.
  [[nodiscard]] virtual std::vector<HeldClaim> Held() const { return {}; }
  // What is to be published now; empty for drivers that publish by themselves.
  [[nodiscard]] virtual std::vector<Pool> Pools() const = 0;
  // `changed` is called after each change of Pools() (health taints, hot plug).
  virtual void OnPoolsChanged(std::function<void()> changed) = 0;
};

// The allocation results of `claim` that belong to `driver`.
[[nodiscard]] std::vector<const json::Value*> ResultsOf(const json::Value& claim,
                                                        std::string_view driver);
// The base request name of an allocation result: "gpu" of "gpu/small".
[[nodiscard]] std::string_view BaseRequest(std::string_view request);

}  // namespace drachma::node
