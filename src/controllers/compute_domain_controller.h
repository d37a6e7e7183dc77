#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/compute_domain_follower.h"

namespace drachma::controllers {

// Makes of each ComputeDomain the claim template for its pods, and in the driver's namespace the
// DaemonSet of its IMEX daemons with their template; says in its status which nodes have joined;
// takes all of it away when the domain is deleted, and labels off nodes (the NVIDIA driver's
// compute-domain-controller).
//
// It needs no memory: every step follows from what is there, so it goes on after a restart at any
// point. A template of the wanted name that belongs to somebody else is left as it is and told of.
//
// With the gate HostManagedIMEXDaemon it makes the template alone, and the domain is ready with it.
//
// Keys are "NAMESPACE/NAME" of domains, and "uid:UID" of domains that left something behind.
class ComputeDomainController final : public ComputeDomainFollower {
 public:
  // Copies come in any order: what seems to belong to nobody is looked at again after this time.
  static constexpr Duration kLeftoverDelay = std::chrono::seconds(5);
  // A daemon that is registered but has no pod stays so long (the driver's status interval).
  static constexpr Duration kStaleDelay = std::chrono::seconds(2);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<ComputeDomainController>(host);
  }
  explicit ComputeDomainController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  // What carries the label of a domain.
  struct Owned {
    std::vector<const json::Value*> workload_templates;
    std::vector<const json::Value*> daemon_templates;
    std::vector<const json::Value*> sets;
  };

  void OnDomain(const client::Change& change) override;
  void OnClique(const client::Change& change) override { OnLabelled(change); }
  void OnListed() override;
  void OnLabelled(const client::Change& change);
  void OnTemplate(const client::Change& change);
  void OnNode(const client::Change& change);
  void AddOwner(std::string_view uid);

  [[nodiscard]] Owned OwnedBy(std::string_view uid) const;
  [[nodiscard]] Work SyncDomain(const json::Value& domain);
  // The next step of taking away what the domain has; true: all is gone.
  [[nodiscard]] bool Remove(std::string_view uid, Work& work) const;
  void Create(const json::Value& domain, const client::Resource& resource, json::Value object,
              Work& work);
  void MakeDaemons(const json::Value& domain, const Owned& owned, Work& work);
  // False: the wanted template is somebody else's.
  [[nodiscard]] bool MakeTemplate(const json::Value& domain, const Owned& owned, Work& work);
  // What keeps the domain from being ready; empty: nothing.
  [[nodiscard]] std::string WhyNotReadyYet(const json::Value& domain, bool has_template,
                                           const json::Value& nodes) const;
  void SyncStatus(const json::Value& domain, bool has_template, Work& work);
  // Takes daemons without a pod out of the cliques.
  void CleanCliques(const std::vector<const json::Value*>& cliques,
                    const std::vector<const json::Value*>& daemons, Work& work);
  [[nodiscard]] bool IsAlive(std::string_view node) const;

  const bool host_managed_;
  Cache& templates_;
  Cache& sets_;
  Cache& nodes_;
  Cache& pods_;
  Cache& namespaces_;
  Cache& accounts_;
  std::map<std::string, Time, std::less<>> stale_since_;  // "clique/node"
};

}  // namespace drachma::controllers
