#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/informer.h"
#include "cluster/manifests.h"
#include "cluster/plan.h"

namespace drachma::cluster {

// Watches what happens to pods during a plan, and tells it afterwards. Belongs to the plan's
// executor.
class PlanLog {
 public:
  // `client` must outlive the log. Pods are told in the order of `manifests`.
  PlanLog(client::Client& client, const std::vector<Manifest>& manifests);

  void Start();
  [[nodiscard]] bool synced() const;
  // A manifest that is added later: its pods come after the others.
  void Append(const Manifest& manifest);
  [[nodiscard]] std::vector<PlannedPod> Pods() const;

 private:
  struct Entry {
    json::Value pod;
    bool deleted = false;
    std::size_t place = 0;     // of the manifest it comes from
    bool replacement = false;  // of an evicted pod
  };

  void OnPod(const client::Change& change);
  void OnClaim(const client::Change& change);
  // "Kind/namespace/name" of the object at the top of the owners.
  [[nodiscard]] std::string RootOf(const json::Value& pod) const;
  [[nodiscard]] PlannedPod Describe(const Entry& entry) const;
  // The claim as it was reserved for the pod, or null.
  [[nodiscard]] const json::Value* ClaimOf(const json::Value& pod, std::string_view name) const;
  // Which claim of the pod does not exist; empty: all do.
  [[nodiscard]] std::string MissingClaim(const json::Value& pod) const;
  [[nodiscard]] std::string WhyPending(const json::Value& pod) const;
  // Why a pod does not start on the node that it came with; empty: it does.
  [[nodiscard]] std::string WhyHeld(const json::Value& pod) const;

  std::vector<std::unique_ptr<client::Informer>> informers_;
  const client::Informer* claims_ = nullptr;
  std::map<std::string, std::size_t> places_;  // root -> index of the manifest
  std::vector<std::string> order_;             // uids of pods as they came
  std::map<std::string, Entry> entries_;       // by uid
  // By uid of the pod and name: claims as they last were when reserved for it.
  std::map<std::string, std::map<std::string, json::Value>> claims_of_;
  std::map<std::string, int> evicted_;       // by root
  std::map<std::string, json::Value> sets_;  // ReplicaSets and Jobs seen, by uid
};

}  // namespace drachma::cluster
