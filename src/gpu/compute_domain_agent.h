#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/compute_domain_follower.h"
#include "gpu/domain_membership.h"

namespace drachma::gpu {

// What the compute-domain drivers and the IMEX daemons of all simulated nodes of a process do at
// the API server: put the domain's label on a node whose pod claims its channel, which brings the
// daemon there, take it off with the last claim, and register daemons that run in their clique
// (the NVIDIA driver's compute-domain-kubelet-plugin and compute-domain-daemon).
//
// Keys are "node:NAME" and "clique:UID.CLIQUE".
class ComputeDomainAgent final : public controllers::ComputeDomainFollower,
                                 public DomainMembership {
 public:
  // A driver tries so long before it tells the kubelet why it waits (ErrorRetryMaxTimeout).
  static constexpr Duration kJoinTimeout = std::chrono::seconds(45);
  // The copy of the domains may be a little behind the template of a claim.
  static constexpr Duration kFindTimeout = std::chrono::seconds(5);
  // After a restart, pods that run claim their channels again within this time; a label that is
  // nobody's by then goes.
  static constexpr Duration kOrphanDelay = std::chrono::minutes(1);

  // `account`: whom drivers act as. `link` finds this agent from now on. One agent has one link.
  ComputeDomainAgent(controllers::Host& host, std::shared_ptr<const client::Identity> account,
                     std::shared_ptr<DomainLink> link);
  ~ComputeDomainAgent() override;
  ComputeDomainAgent(const ComputeDomainAgent&) = delete;
  ComputeDomainAgent& operator=(const ComputeDomainAgent&) = delete;

  [[nodiscard]] controllers::Work Sync(const std::string& key) override;

  void AddNode(const std::string& node, const std::string& clique) override;
  void RemoveNode(const std::string& node) override;
  void Join(DomainMember member, Joined joined) override;
  void Leave(const std::string& node, std::string_view claim_uid) override;
  [[nodiscard]] const json::Value* FindDomain(std::string_view uid) const override;
  [[nodiscard]] bool host_managed() const override { return host_managed_; }

 private:
  struct Claim {
    DomainMember member;
    Joined joined;  // unset once it is answered
    Time since;
  };
  struct Node {
    std::string clique;
    std::vector<Claim> claims;
    std::optional<Time> idle_until;  // its label is nobody's, and goes then
  };

  void OnDomain(const client::Change& change) override;
  void OnClique(const client::Change& change) override;
  void OnListed() override;
  void OnPod(const client::Change& change);
  void AddCliqueOf(const json::Value& pod);

  [[nodiscard]] controllers::Work SyncNode(const std::string& name);
  [[nodiscard]] controllers::Work SyncClique(std::string_view uid, const std::string& clique);
  // How it stands with a claim that waits; nothing: it goes on waiting.
  [[nodiscard]] std::optional<Status> Judge(const Claim& claim, const json::Value& node) const;
  [[nodiscard]] bool MayJoin(const DomainMember& member) const;
  [[nodiscard]] bool IsReady(const std::string& node, std::string_view uid) const;
  void AnswerClaims(const json::Value& object, Node& node, controllers::Work& work);
  void SyncLabel(const json::Value& object, Node& node, controllers::Work& work);
  // The domain's daemons on our nodes of that clique.
  [[nodiscard]] std::vector<const json::Value*> DaemonsOf(std::string_view uid,
                                                          const std::string& clique) const;
  // The clique's daemons as they should stand there.
  [[nodiscard]] json::Value Registered(const json::Value& daemons, std::string_view uid,
                                       const std::string& clique,
                                       const std::vector<const json::Value*>& pods,
                                       controllers::Work& work) const;
  void Act(client::Request request, controllers::Work& work) const;

  const bool host_managed_;
  controllers::Cache& nodes_;
  controllers::Cache& pods_;
  const std::shared_ptr<const client::Identity> account_;
  const std::shared_ptr<DomainLink> link_;
  std::map<std::string, Node, std::less<>> members_;
};

}  // namespace drachma::gpu
