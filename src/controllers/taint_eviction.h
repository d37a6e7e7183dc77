#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/dra_types.h"
#include "controllers/controller.h"

namespace drachma::controllers {

// Removes pods from devices that carry a NoExecute taint, from the slice or from a DeviceTaintRule,
// which the pod's claim does not tolerate, and reports about each rule
// (k8s.io/kubernetes/pkg/controller/devicetainteviction). Keys are "pod:NAMESPACE/NAME" and
// "rule:NAME".
class DeviceTaintEviction final : public Controller {
 public:
  // The status of a rule is written at most this often.
  static constexpr Duration kRuleStatusInterval = std::chrono::seconds(10);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<DeviceTaintEviction>(host);
  }
  explicit DeviceTaintEviction(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  // (driver, pool)
  using PoolKey = std::pair<std::string, std::string>;

  // What keeps or drives a pod, seen from its claims.
  struct Verdict {
    std::optional<Time> due;      // when it is evicted; nothing when it may stay
    std::set<std::string> rules;  // uids of the rules that want it gone
  };

  void OnPod(const client::Change& change);
  void OnClaim(const client::Change& change);
  void OnSlice(const client::Change& change);
  void OnRule(const client::Change& change);
  void AddPodsOf(const json::Value& claim);
  void AddRule(const std::string& name);

  [[nodiscard]] Work SyncPod(const std::string& key);
  [[nodiscard]] Work SyncRule(const std::string& name);
  [[nodiscard]] Verdict Judge(const json::Value& pod) const;
  // Adds the claim's part to `verdict`. With `assumed`, the rule of that uid counts as NoExecute.
  void JudgeClaim(const json::Value& claim, std::string_view assumed, Verdict& verdict) const;
  void JudgeTaint(const json::Value& result, const api::DeviceTaint& taint,
                  std::string_view rule_uid, Verdict& verdict) const;
  [[nodiscard]] const json::Value* FindDevice(const json::Value& result) const;
  [[nodiscard]] json::Value RuleCondition(const json::Value& rule) const;
  [[nodiscard]] json::Value DryRunCondition(const json::Value& rule) const;
  [[nodiscard]] Action Evict(const json::Value& pod, const std::set<std::string>& rules);
  // Calls `visit` for the claims of a pod that are allocated and reserved for it.
  template <typename Visit>
  void ForClaimsOf(const json::Value& pod, Visit visit) const;

  Cache& pods_;
  Cache& claims_;
  Cache& slices_;
  Cache& rules_;
  std::map<PoolKey, std::set<std::string>> slices_of_pool_;  // keys of slices
  std::set<std::string, std::less<>> marked_;                // pods waiting for their time, by key
  std::map<std::string, std::size_t, std::less<>> evicted_;  // pods evicted, by uid of the rule
  std::map<std::string, Time, std::less<>> reported_;        // when, by name of the rule
};

}  // namespace drachma::controllers
