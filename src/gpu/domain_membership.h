#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::gpu {

// A channel claim, which makes its node one of a compute domain's.
struct DomainMember {
  std::string node;
  std::string claim_uid;
  std::string claim_ns;
  std::string domain;  // its uid
};

// What a node's compute-domain driver wants of the API server. One for all nodes of a process;
// belongs to their executor.
class DomainMembership {
 public:
  using Joined = std::move_only_function<void(Status)>;

  virtual ~DomainMembership() = default;
  // A driver runs from now on, of a node whose GPUs are part of that fabric (empty: of none).
  virtual void AddNode(const std::string& node, const std::string& clique) = 0;
  // It ends; its claims are forgotten without an answer.
  virtual void RemoveNode(const std::string& node) = 0;
  // Makes the node one of the domain's and waits until its daemon is ready; again for the same
  // claim replaces the earlier wait, which gets no answer. `joined` comes later.
  // ERRORS: kNotFound: no such domain; kForbidden: it is of another namespace than the claim;
  // kConflict: the node is another domain's; kTimeout: its daemon is not ready.
  virtual void Join(DomainMember member, Joined joined) = 0;
  // The claim is prepared no longer: with the last one the node leaves its domain.
  virtual void Leave(const std::string& node, std::string_view claim_uid) = 0;
  // The domain of that uid; null: not known.
  [[nodiscard]] virtual const json::Value* FindDomain(std::string_view uid) const = 0;
  // Whether the IMEX daemons are the hosts' own: nodes need not join, and have no place for
  // daemons.
  [[nodiscard]] virtual bool host_managed() const = 0;
};

// How the drivers of a process find their membership, which is made with its simulated nodes.
struct DomainLink {
  DomainMembership* membership = nullptr;
};

}  // namespace drachma::gpu
