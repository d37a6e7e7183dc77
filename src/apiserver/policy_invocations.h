#pragma once

#include <functional>
#include <span>
#include <string>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/webhook_match.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// Whether policies never see a request: those about policies do not guard themselves, so that a
// broken one can be removed, and reviews of access are answered whatever policies say.
[[nodiscard]] bool IsExemptFromPolicies(const AdmissionRequest& request);

// Finds what a policy is evaluated for: which bindings a request is about, with which parameters
// (upstream's PolicyDispatcher). For one request; on the server's executor.
class PolicyInvocations {
 public:
  // A policy that cannot be evaluated; without a binding when none of them can be.
  using Fault = std::function<void(const json::Value* binding, std::string message)>;
  // `form` is what the policy's rules ask for; `param` is null when there is none.
  using Visit = std::function<Status(const json::Value& binding, const ResourceKind& form,
                                     const json::Value& param)>;

  // All must outlive this.
  PolicyInvocations(const KindTable& kinds, const AdmissionRequest& request,
                    const ObjectReader& objects);

  // Visits the invocations of a policy with that spec. ERRORS: those of `visit`, which end it.
  Status ForEach(const json::Value& spec, std::span<const json::Value> bindings, const Fault& fault,
                 const Visit& visit) const;

 private:
  const KindTable& kinds_;
  const AdmissionRequest& request_;
  const ObjectReader& objects_;
  const Equivalents equivalents_;
};

}  // namespace drachma::apiserver
