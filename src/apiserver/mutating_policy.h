#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/policy_expression.h"
#include "json/value.h"

namespace drachma::apiserver {

// A MutatingAdmissionPolicy with its expressions compiled (apiserver's
// pkg/admission/plugin/policy/mutating). Immutable; any thread.
class MutatingPolicy {
 public:
  struct Mutation {
    enum class Form : std::uint8_t { kApply, kJsonPatch };
    Form form = Form::kApply;
    PolicyExpression expression;
  };

  // Of the object; expressions that do not compile fail when they are evaluated.
  explicit MutatingPolicy(json::Value policy);

  [[nodiscard]] const json::Value& object() const { return policy_; }
  [[nodiscard]] const json::Value& spec() const { return policy_["spec"]; }
  [[nodiscard]] std::string_view name() const;
  // failurePolicy: what a failure means.
  [[nodiscard]] bool fails_open() const;
  // reinvocationPolicy: whether it is evaluated again when others have changed the object.
  [[nodiscard]] bool may_run_again() const;
  [[nodiscard]] std::span<const Mutation> mutations() const { return mutations_; }

  // Whether the matchConditions hold; those that fail do not where failures are let through.
  [[nodiscard]] std::expected<bool, std::string> Applies(const PolicyInputs& matching,
                                                         cel::Arena& arena) const;
  // What the expression of one of the mutations gives, or why it gives nothing.
  [[nodiscard]] std::expected<cel::Value, std::string> Evaluate(const Mutation& mutation,
                                                                const PolicyInputs& inputs,
                                                                cel::Arena& arena) const;

 private:
  json::Value policy_;
  std::vector<PolicyVariable> variables_;
  std::vector<PolicyExpression> conditions_;
  std::vector<Mutation> mutations_;
};

}  // namespace drachma::apiserver
