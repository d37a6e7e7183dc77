#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller.h"
#include "controllers/objects.h"

namespace drachma::controllers {

// The finalizer that keeps an allocated claim until its devices are free.
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
// Names the entry of pod.spec.resourceClaims that a generated claim is for.
inline constexpr std::string_view kPodClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
inline constexpr std::size_t kReservedForMax = 256;

// The generateName of a claim: "<pod>-<claim>-", both parts shortened in proportion when that is
// too long for a name with a suffix.
[[nodiscard]] std::string ClaimGenerateName(std::string_view pod, std::string_view pod_claim);

// Makes claims from the templates that pods name, notes their names in the pods' status, takes pods
// that are done out of reservedFor, frees the devices of claims that nobody uses, and deletes the
// generated claims of finished pods (k8s.io/kubernetes/pkg/controller/resourceclaim).
//
// Keys are "pod:NAMESPACE/NAME" and "claim:NAMESPACE/NAME".
class ClaimController final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<ClaimController>(host);
  }
  explicit ClaimController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  enum class Fate { kKeep, kDrop, kUnknown };
  struct Consumers {
    json::Value kept = json::Value::Array();
    std::vector<Action> lookups;  // pods that must be asked for
  };

  void OnPod(const client::Change& change);
  void OnClaim(const client::Change& change);
  void OnTemplate(const client::Change& change);
  void AddClaimsOf(const json::Value& pod);

  [[nodiscard]] Work SyncPod(const std::string& key);
  // What is to be done for one entry of the pod; the name of its claim when that is there.
  [[nodiscard]] std::string_view ExistingClaim(const json::Value& pod,
                                               const json::Value& pod_claim);
  void MakeClaim(const json::Value& pod, const json::Value& pod_claim, Work& work);
  [[nodiscard]] EventToRecord CreationFailed(const json::Value& pod, std::string_view pod_claim,
                                             std::string_view text) const;
  void ReserveForScheduledPod(const json::Value& pod, Work& work);

  [[nodiscard]] Work SyncClaim(const std::string& key);
  [[nodiscard]] Fate FateOf(const json::Value& claim, const json::Value& consumer);
  [[nodiscard]] Consumers Walk(const json::Value& claim);
  [[nodiscard]] Action LookUpPod(const json::Value& claim, const json::Value& consumer);

  Cache& pods_;
  Cache& claims_;
  Cache& templates_;
  GoneUids gone_;
  // Which pods name a claim or template "namespace/name": to be looked at when that changes.
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_claim_;
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_template_;
};

}  // namespace drachma::controllers
