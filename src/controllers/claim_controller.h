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
// With the gate DRAWorkloadResourceClaims it does the same for pod groups: claims of their
// templates serve all pods of the group that have an entry of the same name and source, and are
// reserved for the group as long as it exists.
//
// Keys are "pod:NAMESPACE/NAME", "podgroup:NAMESPACE/NAME" and "claim:NAMESPACE/NAME".
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
  void OnGroup(const client::Change& change);
  void AddClaimsOf(const json::Value& pod);
  void AddMembersOf(std::string_view group_key);

  // Whose claim it is, as events and references name it.
  struct Owner {
    std::string_view api_version;
    std::string_view kind;
    const json::Value& object;
  };

  [[nodiscard]] Work SyncPod(const std::string& key);
  [[nodiscard]] Work SyncGroup(const std::string& key);
  // What is to be done for one entry of the pod; the name of its claim when that is there.
  [[nodiscard]] std::string_view ExistingClaim(const json::Value& pod,
                                               const json::Value& pod_claim);
  // The claim of a group for an entry; empty while there is none.
  [[nodiscard]] std::string_view ClaimOfGroup(const json::Value& group,
                                              const json::Value& entry) const;
  // The group that the entry of the pod belongs to (resourceclaim.BindTo), or null.
  [[nodiscard]] const json::Value* GroupOfEntry(const json::Value& pod,
                                                const json::Value& pod_claim) const;
  [[nodiscard]] const json::Value* GroupOf(const json::Value& pod) const;
  [[nodiscard]] bool IsClaimFor(const json::Value& claim, const json::Value& pod) const;
  [[nodiscard]] bool IsReservedFor(const json::Value& claim, const json::Value& pod) const;
  void MakeClaim(const Owner& owner, const json::Value& entry, Work& work);
  [[nodiscard]] EventToRecord CreationFailed(const Owner& owner, std::string_view entry,
                                             std::string_view text) const;
  void ReserveForScheduledPod(const json::Value& pod, Work& work);

  [[nodiscard]] Work SyncClaim(const std::string& key);
  [[nodiscard]] Fate FateOf(const json::Value& claim, const json::Value& consumer);
  [[nodiscard]] Consumers Walk(const json::Value& claim);
  [[nodiscard]] Fate FateOfGroup(const json::Value& claim, const json::Value& consumer) const;
  [[nodiscard]] Action LookUp(const json::Value& claim, const json::Value& consumer);

  Cache& pods_;
  Cache& claims_;
  Cache& templates_;
  const bool with_groups_;        // GenericWorkload
  const bool with_group_claims_;  // DRAWorkloadResourceClaims
  Cache* groups_ = nullptr;       // null without groups
  GoneUids gone_;
  // Which pods name a claim or template "namespace/name": to be looked at when that changes.
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_claim_;
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_template_;
  std::map<std::string, std::set<std::string>, std::less<>> pods_of_group_;
};

}  // namespace drachma::controllers
