#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "objects.h"
#include "sim_cluster.h"

namespace drachma::simulation {

// The hardware and gates of a run with that seed.
[[nodiscard]] ClusterOptions OptionsOf(std::uint64_t seed);

// What users, administrators and misfortune do to the cluster, one step after the other.
class Script {
 public:
  // Pods beyond which nothing is made but by what is there.
  static constexpr std::size_t kPodsMax = 40;

  explicit Script(SimCluster& cluster) : cluster_(cluster), chaos_(cluster.chaos()) {}

  // Classes, templates, a namespace with a quota.
  [[nodiscard]] Status Prepare();
  // One thing happens, then a little time goes by.
  void Step();
  // Everybody runs again, nothing fails any more.
  void EndFaults();
  // Deletes all that users have made and undoes what administrators did.
  void DeleteAll();

 private:
  struct Action;
  static const std::vector<Action>& Actions();

  // --- Users.
  void CreateDeployment();
  void ScaleDeployment();
  void RollDeployment();
  void DeleteDeployment();
  void CreateJob();
  void DeleteJob();
  void CreatePod();
  void CreateSharers();
  void CreateGang();
  void DeletePod();
  void DeleteClaim();
  // --- Administrators.
  void TaintDevices();
  void UntaintDevices();
  void CordonNode();
  void TaintNode();
  void HealNode();
  void DeleteNode();
  void ChangeQuota();
  // --- Misfortune.
  void RestartRole();
  void StopRole();
  void StallRole();
  void JumpClock();
  void LoseApi();
  void CutWatches();
  void ChangeRates();

  [[nodiscard]] std::string NewName(std::string_view prefix);
  [[nodiscard]] std::string_view AnyNamespace();
  [[nodiscard]] PodNeeds AnyNeeds();
  [[nodiscard]] Role AnyRole();
  // "namespace/name" of one of the objects; empty: there is none.
  [[nodiscard]] std::string AnyOf(std::string_view plural);
  void Create(const client::Resource& resource, json::Value object);
  void Delete(const client::Resource& resource, std::string_view key);
  void DeleteEvery(const client::Resource& resource);
  void PatchNode(std::string_view name, std::string_view yaml);

  SimCluster& cluster_;
  Chaos& chaos_;
  int names_ = 0;
  Duration farthest_skew_{};  // of a clock since faults ended last
};

}  // namespace drachma::simulation
