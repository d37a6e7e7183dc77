#include "apiserver/validating_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "apiserver/admission_form.h"
#include "apiserver/admission_refusal.h"
#include "apiserver/policy_inputs.h"
#include "apiserver/policy_match.h"
#include "apiserver/policy_params.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kFailureKey = "validation.policy.admission.k8s.io/validation_failure";
constexpr std::size_t kAnnotationBytesMax = 10 * 1024;  // the rest of a text is cut off
constexpr std::size_t kFailuresMax = 50;                // recorded of one request

// Policies do not guard themselves, so that a broken one can be removed.
bool IsPolicy(const AdmissionRequest& request) {
  return request.group == kGroup && (request.resource.starts_with("validatingadmissionpolic") ||
                                     request.resource.starts_with("mutatingadmissionpolic"));
}

bool IsNamespace(const AdmissionRequest& request) {
  return request.group.empty() && request.resource == "namespaces";
}

void Annotate(AdmissionRequest& request, const std::string& key, std::string text) {
  if (request.annotations != nullptr) request.annotations->emplace(key, std::move(text));
}

}  // namespace

// One request on its way through the policies.
class ValidatingPolicies::Dispatch {
 public:
  Dispatch(Core& core, AdmissionRequest& request, const ObjectReader& objects)
      : core_(core),
        request_(request),
        objects_(objects),
        equivalents_(EquivalentsOf(core.kinds())),
        inputs_(core, request) {}

  // ERRORS: what ends the request whatever other policies say.
  Status Run(const Hook& hook) {
    const ValidatingPolicy& policy = *hook.policy;
    const Value& spec = policy.spec();
    const auto form =
        MatchPolicyResources(spec["matchConstraints"], request_, objects_, equivalents_);
    if (!form) return Misconfigured(policy, nullptr, form.error());
    if (!*form) return {};
    if (spec["paramKind"].IsObject()) {
      const auto kind = ParamKindOf(core_.kinds(), spec["paramKind"]);
      if (!kind) return Misconfigured(policy, nullptr, kind.error());
    }
    published_.clear();
    for (const Value& binding : hook.bindings) DRA_TRY(Bind(policy, binding, **form));
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

  Status Misconfigured(const ValidatingPolicy& policy, const Value* binding, const Error& error) {
    if (policy.fails_open()) return {};
    Refuse(policy, binding,
           fmt::format("failed to configure {}: {}", binding == nullptr ? "policy" : "binding",
                       error.message),
           {});
    return {};
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

  Status Bind(const ValidatingPolicy& policy, const Value& binding, const ResourceKind& form) {
    const Value& spec = binding["spec"];
    if (spec["matchResources"].IsObject()) {
      const auto fits =
          MatchPolicyResources(spec["matchResources"], request_, objects_, equivalents_);
      if (!fits) return Misconfigured(policy, &binding, fits.error());
      if (!*fits) return {};
    }
    const auto params = CollectParams(core_.kinds(), objects_, policy.spec()["paramKind"],
                                      spec["paramRef"], SubjectOf(request_).ns);
    if (!params) return Misconfigured(policy, &binding, params.error());
    if (params->empty()) return {};
    const auto inputs = inputs_.For(form);
    if (!inputs) {
      return Misconfigured(
          policy, &binding,
          {.message = "failed to convert object version: " + inputs.error().message});
    }
    DRA_ASSIGN(const cel::Value ns, NamespaceObject());
    for (const Value& param : *params) {
      PolicyInputs own = (*inputs)->inputs;
      PolicyInputs matching = (*inputs)->matching;
      own.namespace_object = ns;
      own.params = matching.params = inputs_.Keep(param);
      Judge(policy, binding, policy.Evaluate(own, matching, inputs_.arena()));
    }
    return {};
  }

  // A namespace has none around it.
  Result<cel::Value> NamespaceObject() {
    if (request_.ns.empty() || IsNamespace(request_)) return cel::Value::Null();
    if (namespace_object_) return *namespace_object_;
    const Value found = objects_.Get("", "namespaces", "", request_.ns);
    if (found.IsNull()) return std::unexpected(NotFoundError("", "namespaces", request_.ns));
    namespace_object_ = inputs_.Keep(VisibleNamespace(found));
    return *namespace_object_;
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

  Core& core_;
  AdmissionRequest& request_;
  const ObjectReader& objects_;
  const Equivalents equivalents_;
  RequestInputs inputs_;
  std::optional<cel::Value> namespace_object_;
  std::optional<Refusal> refusal_;
  Value failures_;
  std::map<std::string, std::vector<std::string>> published_;  // of the present policy
};

ValidatingPolicies::ValidatingPolicies(Core& core)
    : core_(core), changes_(core.store(), fmt::format("/registry/{}/", kGroup)) {}

std::shared_ptr<const ValidatingPolicy> ValidatingPolicies::Compiled(const Value& policy) const {
  for (const Hook& hook : hooks_) {
    if (hook.policy->object()["spec"] == policy["spec"] &&
        hook.policy->name() == policy["metadata"]["name"].AsString()) {
      return hook.policy;
    }
  }
  return std::make_shared<const ValidatingPolicy>(policy);
}

void ValidatingPolicies::Refresh(const ObjectReader& objects) {
  std::map<std::string, std::vector<Value>> bindings;
  objects.ForEach(kGroup, "validatingadmissionpolicybindings", "", [&](const Value& binding) {
    bindings[std::string(binding["spec"]["policyName"].AsString())].push_back(binding);
  });
  std::vector<Hook> hooks;
  for (auto& [policy, bound] : bindings) {
    const Value found = objects.Get(kGroup, "validatingadmissionpolicies", "", policy);
    if (!found.IsNull()) hooks.push_back({Compiled(found), std::move(bound)});
  }
  hooks_ = std::move(hooks);
}

Status ValidatingPolicies::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (changes_.Take()) Refresh(objects);
  if (hooks_.empty() || IsPolicy(request)) return {};
  Dispatch dispatch(core_, request, objects);
  for (const Hook& hook : hooks_) DRA_TRY(dispatch.Run(hook));
  return dispatch.Finish();
}

}  // namespace drachma::apiserver
