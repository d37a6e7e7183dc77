#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller.h"
#include "node/pod_status.h"
#include "node/sim_node.h"

namespace drachma::node {

// The part of simulated kubelets that is about pods: prepares their claims, lets them run and end,
// takes them away. Keys are "NAMESPACE/NAME" of pods.
class PodWorker final : public controllers::Controller {
 public:
  // Between attempts to prepare a pod's claims; doubles from the first to the second.
  static constexpr Duration kRetryMin = std::chrono::seconds(1);
  static constexpr Duration kRetryMax = std::chrono::seconds(30);

  // Before containers that ended run again: not at all the first time, then from the first to the
  // second, doubling; from the start again after twice the second without an end
  // (kubelet's initialCrashLoopBackOff, MaxContainerBackOff).
  static constexpr std::chrono::seconds kCrashBackoffMin = std::chrono::seconds(10);
  static constexpr std::chrono::seconds kCrashBackoffMax = std::chrono::minutes(5);

  PodWorker(controllers::Host& host, NodeTable& table);

  [[nodiscard]] controllers::Work Sync(const std::string& key) override;
  // A node's kubelet runs from now on.
  void OnNodeStarted(const std::string& node);

 private:
  enum class Claims { kUnknown, kFetching, kPreparing, kFailed, kReady, kReleased };

  // What the kubelet knows of a pod beyond its object.
  struct State {
    std::string key;
    std::string uid;
    std::string node;
    std::uint32_t address = 0;
    Claims claims = Claims::kUnknown;
    std::map<std::string, Result<json::Value>> fetched;     // by claim name
    std::map<std::string, std::vector<ClaimRef>> prepared;  // by driver
    std::size_t drivers_pending = 0;
    // Entries of status.devices that drivers want written, by driver and claim.
    std::map<std::pair<std::string, std::string>, json::Value> reports;
    std::optional<std::string> error;
    int failures = 0;
    Time retry_at;
    std::optional<Time> stopping_since;
    std::chrono::seconds crash_backoff{};  // before its containers may run again; zero: at once
    Time restarted_at;                     // when they did last
  };

  void OnPod(const client::Change& change);
  State& StateOf(const json::Value& pod, SimNode& node);
  void Forget(const std::string& uid);
  [[nodiscard]] PodAddresses AddressesOf(const State& state, const SimNode& node) const;
  [[nodiscard]] static controllers::Action PatchStatus(const json::Value& pod, json::Value patch);

  // Whether the pod's claims are prepared; does the next step towards it.
  bool PrepareClaims(const json::Value& pod, SimNode& node, State& state, controllers::Work& work);
  void FetchClaims(const std::vector<std::string>& names, const json::Value& pod, State& state,
                   controllers::Work& work);
  [[nodiscard]] std::optional<std::string> CheckClaims(const json::Value& pod,
                                                       const State& state) const;
  void CallDrivers(SimNode& node, State& state);
  void OnPrepared(const std::string& uid, const PrepareAnswer& answer);
  static void AddReports(const std::string& driver, const std::string& claim,
                         const std::vector<PreparedDevice>& devices, State& state);
  void ReportDevices(const json::Value& pod, State& state, controllers::Work& work);
  void PreparingFailed(const json::Value& pod, State& state, controllers::Work& work);
  // The pod uses these claims no longer; those that nobody else uses are unprepared.
  static void Release(SimNode& node, const std::string& pod_uid,
                      const std::map<std::string, std::vector<ClaimRef>>& prepared);
  static void ReleaseClaims(SimNode& node, State& state);

  // Fails a pod that the node has no room for; false: it is accepted.
  [[nodiscard]] bool Reject(const json::Value& pod, controllers::Work& work) const;
  void StartPod(const json::Value& pod, SimNode& node, State& state, controllers::Work& work);
  void RunPod(const json::Value& pod, SimNode& node, State& state, controllers::Work& work);
  // The containers ended with `end` and run again, now or after their back-off.
  void Restart(const json::Value& pod, State& state, PodEnd end, controllers::Work& work);
  void StopPod(const json::Value& pod, SimNode& node, State& state, controllers::Work& work);

  NodeTable& table_;
  controllers::Cache& nodes_;
  controllers::Cache& pods_;
  std::map<std::string, State, std::less<>> states_;  // by uid
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_node_;
};

}  // namespace drachma::node
