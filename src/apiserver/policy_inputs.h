#pragma once

#include <deque>
#include <optional>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/policy_expression.h"
#include "apiserver/webhook_match.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// What `namespaceObject` shows of a namespace: not its managed fields and owners, nor its kind.
[[nodiscard]] json::Value VisibleNamespace(const json::Value& ns);

// The values that the expressions of policies see of one request, made once for each form that
// policies ask for. On the server's executor, for as long as the request lives.
class RequestInputs {
 public:
  // What expressions see, and what matchConditions see.
  struct Form {
    ResourceKind kind;
    PolicyInputs inputs;
    PolicyInputs matching;
  };

  RequestInputs(Core& core, const AdmissionRequest& request);

  // Without parameters and namespace. ERRORS: those of conversions.
  [[nodiscard]] Result<const Form*> For(const ResourceKind& form);
  // The object of the request has changed: forms that were given show it as it was.
  void Changed() { forms_.clear(); }
  // The namespace around the object; a namespace has none. ERRORS: kNotFound.
  [[nodiscard]] Result<cel::Value> NamespaceObject(const ObjectReader& objects);
  // `value` as expressions see it.
  [[nodiscard]] cel::Value Keep(json::Value value);
  [[nodiscard]] cel::Arena& arena() { return arena_; }

 private:
  // Asks the server's authorisers about the user of the request.
  class Access final : public cel::AccessChecker {
   public:
    Access(const Core& core, const User& user) : core_(core), user_(user) {}
    [[nodiscard]] cel::AccessDecision Check(const cel::AccessQuestion& question) const override;

   private:
    const Core& core_;
    const User& user_;
  };

  [[nodiscard]] json::Value Shown(const ResourceKind& resource, const ResourceKind& kind) const;

  Core& core_;
  const AdmissionRequest& request_;
  const Access access_;
  cel::Arena arena_;
  std::deque<json::Value> kept_;  // what values refer to
  std::deque<Form> forms_;
  std::optional<cel::Value> namespace_object_;
};

}  // namespace drachma::apiserver
