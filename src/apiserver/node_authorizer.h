#pragma once

#include <string>
#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/auth.h"

namespace drachma::apiserver {

// The node that `user` is ("system:node:NAME" of group system:nodes); empty for all others.
[[nodiscard]] std::string NodeNameOf(const User& user);

// Upstream's node authoriser: a kubelet reads what the pods bound to its node refer to, and its own
// Node, Lease, CSINode and ResourceSlices; the rest of its rights are the rules of the ClusterRole
// system:node. Relations are looked up in the objects themselves, so they are never stale.
class NodeAuthorizer final : public Authorizer {
 public:
  explicit NodeAuthorizer(const ObjectReader& objects) : objects_(objects) {}
  [[nodiscard]] Decision Authorize(const Attributes& attributes, std::string& reason) override;

 private:
  const ObjectReader& objects_;
};

// Upstream's admission plugin NodeRestriction: what a kubelet writes must be about itself and the
// pods bound to its node.
class NodeRestriction final : public AdmissionPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "NodeRestriction"; }
  [[nodiscard]] Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

}  // namespace drachma::apiserver
