#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "faulty_client.h"
#include "faulty_driver.h"
#include "history.h"

namespace drachma::simulation {

// What must hold after each single write to the store, whatever went wrong before:
//  - no device that is not shared is allocated to two claims; shared capacity and counters are not
//    overdrawn;
//  - a pod gets a node only when its claims are allocated and reserved for it, and keeps them so
//    until it has ended; nodes are not overfull;
//  - a pod runs only with prepared claims;
//  - nothing is created that a quota does not allow;
//  - what the server answered is what is stored.
class Invariants final : public Traffic {
 public:
  // `violated` is told what does not hold. All must outlive it.
  Invariants(const History& history, const PreparedClaims& prepared,
             std::function<void(std::string)> violated)
      : history_(history), prepared_(prepared), violated_(std::move(violated)) {}

  void OnWrite(const Write& write);
  void OnRequest(const client::Request& request) override;
  void OnAnswer(const client::Request& request, const Result<json::Value>& answer) override;

  // What is allocated now: "driver/pool/device" to the claims that have it.
  using Holders = std::map<std::string, std::map<std::string, json::Value>, std::less<>>;
  [[nodiscard]] const Holders& holders() const { return holders_; }

 private:
  void OnClaim(const Write& write);
  void OnPod(const Write& write);
  void OnSlice(const Write& write);
  void CheckDevice(const std::string& id);
  void CheckCounters(std::string_view driver, std::string_view pool);
  void CheckBound(const json::Value& pod);
  void CheckHeld(const json::Value& pod);
  void CheckNode(std::string_view node);
  void CheckRunning(const json::Value& pod);
  void CheckQuotas(std::string_view plural, const json::Value& created);
  void CheckAnswers(const Write& write);
  [[nodiscard]] std::vector<std::string> ClaimKeysOf(const json::Value& pod) const;

  const History& history_;
  const PreparedClaims& prepared_;
  const std::function<void(std::string)> violated_;
  Holders holders_;
  std::map<std::string, json::Value, std::less<>> devices_;      // by "driver/pool/device"
  std::map<std::string, std::set<std::string>> users_of_claim_;  // pods with a node, by claim key
  std::map<std::string, std::set<std::string>> pods_of_node_;
  std::map<std::string, std::set<std::string>> prepared_at_start_;  // by key of the pod
  // Revisions that the server answered, by plural and key, not yet seen in the history.
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> answered_;
};

}  // namespace drachma::simulation
