#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apiserver/admission.h"
#include "apiserver/auth.h"
#include "apiserver/pods_of_nodes.h"

namespace drachma::apiserver {

class Core;

// The node that `user` is ("system:node:NAME" of group system:nodes); empty for all others.
[[nodiscard]] std::string NodeNameOf(const User& user);

// Upstream's node authoriser: a kubelet reads what the pods bound to its node refer to, and its own
// Node, Lease, CSINode and ResourceSlices; the rest of its rights are the rules of the ClusterRole
// system:node. Relations are looked up in the objects themselves, so they are never stale.
class NodeAuthorizer final : public Authorizer {
 public:
  // `pods` may be null: then all pods of a namespace are looked at for each question.
  explicit NodeAuthorizer(const ObjectReader& objects, std::unique_ptr<PodsOfNodes> pods = nullptr)
      : objects_(objects), pods_(std::move(pods)) {}
  [[nodiscard]] Decision Authorize(const Attributes& attributes, std::string& reason) override;
  [[nodiscard]] std::string RulesFault(const User& user) const override;

 private:
  const ObjectReader& objects_;
  const std::unique_ptr<PodsOfNodes> pods_;
};

// Upstream's admission plugin NodeRestriction: what a kubelet writes must be about itself and the
// pods bound to its node.
class NodeRestriction final : public AdmissionPlugin {
 public:
  // `core` answers which audiences a node may ask tokens for; null: none but its pods'.
  explicit NodeRestriction(const Core* core = nullptr) : core_(core) {}
  [[nodiscard]] std::string_view name() const override { return "NodeRestriction"; }
  [[nodiscard]] Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  const Core* const core_;
};

}  // namespace drachma::apiserver
