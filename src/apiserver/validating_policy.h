#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apiserver/policy_expression.h"
#include "json/value.h"

namespace drachma::apiserver {

// What a ValidatingAdmissionPolicy says of one request with one set of parameters.
struct PolicyDecision {
  bool allowed = true;
  std::string message;  // of a refusal
  std::string reason;   // a metav1.StatusReason; empty when the evaluation failed
};
struct PolicyAnnotation {
  enum class Action : std::uint8_t { kPublish, kLeaveOut, kRefuse };
  Action action = Action::kLeaveOut;
  std::string key;
  std::string text;  // the value, or why the request is refused
};
struct PolicyVerdict {
  std::vector<PolicyDecision> decisions;  // one for each validation
  std::vector<PolicyAnnotation> annotations;
};

// A ValidatingAdmissionPolicy with its expressions compiled (apiserver's
// pkg/admission/plugin/policy/validating). Immutable; any thread.
class ValidatingPolicy {
 public:
  // Of the object; expressions that do not compile fail when they are evaluated.
  explicit ValidatingPolicy(json::Value policy);

  [[nodiscard]] const json::Value& object() const { return policy_; }
  [[nodiscard]] const json::Value& spec() const { return policy_["spec"]; }
  [[nodiscard]] std::string_view name() const;
  // failurePolicy: what a failure means.
  [[nodiscard]] bool fails_open() const;

  // `matching` is what matchConditions see: they know no namespace, and the resource of the
  // request as it came.
  [[nodiscard]] PolicyVerdict Evaluate(const PolicyInputs& inputs, const PolicyInputs& matching,
                                       cel::Arena& arena) const;

 private:
  struct Validation {
    PolicyExpression expression;
    std::optional<PolicyExpression> message;  // messageExpression
    std::string text;                         // message
    std::string reason;
  };
  struct Annotation {
    std::string key;
    PolicyExpression expression;
  };
  [[nodiscard]] PolicyDecision Failure(std::string why) const;
  [[nodiscard]] PolicyDecision Decide(const Validation& validation,
                                      const PolicyResults::One& result,
                                      const PolicyResults& messages, std::size_t index) const;
  [[nodiscard]] PolicyAnnotation Annotate(const Annotation& annotation,
                                          const PolicyResults::One& result) const;

  json::Value policy_;
  std::vector<PolicyVariable> variables_;
  std::vector<PolicyExpression> conditions_;
  std::vector<Validation> validations_;
  std::vector<Annotation> annotations_;
};

}  // namespace drachma::apiserver
