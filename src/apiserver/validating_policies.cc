#include "apiserver/validating_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "apiserver/admission_refusal.h"
#include "apiserver/policy_inputs.h"
#include "apiserver/policy_invocations.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kFailureKey = "validation.policy.admission.k8s.io/validation_failure";
constexpr std::size_t kAnnotationBytesMax = 10 * 1024;  // the rest of a text is cut off
constexpr std::size_t kFailuresMax = 50;                // recorded of one request

void Annotate(AdmissionRequest& request, const std::string& key, std::string text) {
  if (request.annotations != nullptr) request.annotations->emplace(key, std::move(text));
}

}  // namespace

// One request on its way through the policies.
class ValidatingPolicies::Dispatch {
 public:
  Dispatch(Core& core, AdmissionRequest& request, const ObjectReader& objects)
      : request_(request),
        objects_(objects),
        invocations_(core.kinds(), request, objects),
        inputs_(core, request) {}

  // ERRORS: what ends the request whatever other policies say.
  Status Run(const Hook& hook) {
    const ValidatingPolicy& policy = *hook.policy;
    published_.clear();
    DRA_TRY(invocations_.ForEach(
        policy.spec(), hook.bindings,
        [&](const Value* binding, std::string_view why) { Misconfigured(policy, binding, why); },
        [&](const Value& binding, const ResourceKind& form, const Value& param) {
          return Evaluate(policy, binding, form, param);
        }));
    for (const auto& [key, texts] : published_) {
      Annotate(request_, fmt::format("{}/{}", policy.name(), key),
               fmt::format("{}", fmt::join(texts, ", ")));
    }
    return {};
  }

  Status Finish() {
    if (!failures_.empty()) Annotate(request_, std::string(kFailureKey), json::Write(failures_));
    if (!refusal_) return {};
    Error error = AdmissionRefusal(request_, refusal_->message);
    error.code = CodeFromReason(refusal_->reason.empty() ? "Invalid" : refusal_->reason, 422);
    error.causes.push_back({.reason = {}, .field = {}, .message = refusal_->message});
    return std::unexpected(std::move(error));
  }

 private:
  struct Refusal {
    std::string message;
    std::string reason;
  };

  void Misconfigured(const ValidatingPolicy& policy, const Value* binding, std::string_view why) {
    if (!policy.fails_open()) Refuse(policy, binding, why, {});
  }

  // The first refusal is the answer.
  void Refuse(const ValidatingPolicy& policy, const Value* binding, std::string_view message,
              std::string reason) {
    if (refusal_) return;
    std::string text = fmt::format("ValidatingAdmissionPolicy '{}'", policy.name());
    if (binding != nullptr) {
      text += fmt::format(" with binding '{}'", (*binding)["metadata"]["name"].AsString());
    }
    refusal_ = {.message = fmt::format("{} denied request: {}", text, message),
                .reason = std::move(reason)};
  }

  Status Evaluate(const ValidatingPolicy& policy, const Value& binding, const ResourceKind& form,
                  const Value& param) {
    const auto inputs = inputs_.For(form);
    if (!inputs) {
      Misconfigured(policy, &binding,
                    fmt::format("failed to configure binding: failed to convert object version: {}",
                                inputs.error().message));
      return {};
    }
    PolicyInputs own = (*inputs)->inputs;
    PolicyInputs matching = (*inputs)->matching;
    DRA_ASSIGN(own.namespace_object, inputs_.NamespaceObject(objects_));
    own.params = matching.params = inputs_.Keep(param);
    Judge(policy, binding, policy.Evaluate(own, matching, inputs_.arena()));
    return {};
  }

  void Judge(const ValidatingPolicy& policy, const Value& binding, const PolicyVerdict& verdict) {
    for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
      if (!verdict.decisions[i].allowed) Act(policy, binding, verdict.decisions[i], i);
    }
    for (const PolicyAnnotation& annotation : verdict.annotations) {
      using Action = PolicyAnnotation::Action;
      if (annotation.action == Action::kRefuse) Refuse(policy, &binding, annotation.text, {});
      if (annotation.action == Action::kPublish) Publish(annotation);
    }
  }

  void Act(const ValidatingPolicy& policy, const Value& binding, const PolicyDecision& decision,
           std::size_t index) {
    const Value& actions = binding["spec"]["validationActions"];
    for (const Value& action : actions.Items()) {
      if (action.AsString() == "Deny") {
        Refuse(policy, &binding, decision.message, decision.reason);
      } else if (action.AsString() == "Warn") {
        request_.warnings.push_back(fmt::format(
            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
            policy.name(), binding["metadata"]["name"].AsString(), decision.message));
      } else if (action.AsString() == "Audit" && failures_.size() < kFailuresMax) {
        failures_.Append(Value::Object({{"message", decision.message},
                                        {"policy", policy.name()},
                                        {"binding", binding["metadata"]["name"]},
                                        {"expressionIndex", static_cast<std::int64_t>(index)},
                                        {"validationActions", actions}}));
      }
    }
  }

  // Texts that several bindings or parameters give stand in a row, each once.
  void Publish(const PolicyAnnotation& annotation) {
    std::string text = annotation.text.substr(0, kAnnotationBytesMax);
    std::vector<std::string>& texts = published_[annotation.key];
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }

  AdmissionRequest& request_;
  const ObjectReader& objects_;
  const PolicyInvocations invocations_;
  RequestInputs inputs_;
  std::optional<Refusal> refusal_;
  Value failures_;
  std::map<std::string, std::vector<std::string>> published_;  // of the present policy
};

ValidatingPolicies::ValidatingPolicies(Core& core)
    : core_(core),
      hooks_(core, "validatingadmissionpolicies", "validatingadmissionpolicybindings") {}

Status ValidatingPolicies::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  const auto hooks = hooks_.Current(objects);
  if (hooks.empty() || IsExemptFromPolicies(request)) return {};
  Dispatch dispatch(core_, request, objects);
  for (const Hook& hook : hooks) DRA_TRY(dispatch.Run(hook));
  return dispatch.Finish();
}

}  // namespace drachma::apiserver
