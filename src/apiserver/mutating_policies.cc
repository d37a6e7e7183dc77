#include "apiserver/mutating_policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/admission_form.h"
#include "apiserver/admission_refusal.h"
#include "apiserver/policy_inputs.h"
#include "apiserver/policy_invocations.h"
#include "apiserver/policy_patches.h"
#include "apiserver/status.h"

namespace drachma::apiserver {

using json::Value;

// One request on its way through the policies.
class MutatingPolicies::Dispatch {
 public:
  Dispatch(Core& core, AdmissionRequest& request, const ObjectReader& objects)
      : core_(core),
        request_(request),
        objects_(objects),
        invocations_(core.kinds(), request, objects),
        inputs_(core, request) {}

  // What is to be evaluated is found for all policies before one of them changes anything.
  void Collect(const Hook& hook) {
    const MutatingPolicy& policy = *hook.policy;
    const Status found = invocations_.ForEach(
        policy.spec(), hook.bindings,
        [&](const Value* binding, std::string why) { AddFault(policy, binding, std::move(why)); },
        [&](const Value& binding, const ResourceKind& form, const Value& param) -> Status {
          found_.push_back({&policy, &binding, form, param});
          return {};
        });
    static_cast<void>(found);  // the visitor never fails
  }

  // ERRORS: what ends the request whatever other policies say.
  Status Run() {
    Reinvocation::Steps& steps = request_.reinvocation.policies;
    if (request_.reinvocation.running && !(steps.last_output == request_.object)) steps.Changed();
    Status status;
    for (const Invocation& invocation : found_) {
      status = Run(invocation, steps);
      if (!status) break;
    }
    if (touched_) {
      steps.Changed();
      request_.reinvocation.wanted = true;
    }
    steps.last_output = request_.object;
    return status;
  }

  Status Finish() {
    if (faults_.empty()) return {};
    Error error = AdmissionRefusal(request_, {});
    error.message = faults_.front();
    for (std::string& fault : faults_) {
      error.causes.push_back({.reason = {}, .field = {}, .message = std::move(fault)});
    }
    return std::unexpected(std::move(error));
  }

 private:
  struct Invocation {
    const MutatingPolicy* policy;
    const Value* binding;
    ResourceKind form;
    Value param;

    [[nodiscard]] std::string Key() const {
      const Value& metadata = param["metadata"];
      return fmt::format("{}/{}/{}/{}", policy->name(), (*binding)["metadata"]["name"].AsString(),
                         metadata["namespace"].AsString(), metadata["name"].AsString());
    }
  };

  // Those of policies that cannot be configured begin with "failed to configure": what makes their
  // reason another one (see StatusOf).
  void AddFault(const MutatingPolicy& policy, const Value* binding, std::string why) {
    if (policy.fails_open()) return;
    std::string who = binding == nullptr
                          ? fmt::format("policy \"{}\"", policy.name())
                          : fmt::format("policy '{}' with binding '{}'", policy.name(),
                                        (*binding)["metadata"]["name"].AsString());
    faults_.push_back(fmt::format("{} denied request: {}", who, why));
  }

  Status Run(const Invocation& invocation, Reinvocation::Steps& steps) {
    const MutatingPolicy& policy = *invocation.policy;
    DRA_ASSIGN(PolicyInputs matching, Inputs(invocation, &RequestInputs::Form::matching));
    const auto applies = policy.Applies(matching, inputs_.arena());
    if (!applies) AddFault(policy, invocation.binding, applies.error());
    if (!applies || !*applies) return {};
    const std::string key = invocation.Key();
    if (request_.reinvocation.running && !steps.again.contains(key)) return {};
    const Value before = request_.object;
    for (const MutatingPolicy::Mutation& mutation : policy.mutations()) {
      if (request_.object.IsNull()) break;  // nothing that could be changed
      DRA_TRY(Mutate(invocation, mutation));
    }
    if (!(before == request_.object)) {
      steps.Changed();
      request_.reinvocation.wanted = true;
    }
    if (policy.may_run_again()) steps.reinvocable.insert(key);
    return {};
  }

  Result<PolicyInputs> Inputs(const Invocation& invocation,
                              PolicyInputs RequestInputs::Form::* which) {
    DRA_ASSIGN(const RequestInputs::Form* form, inputs_.For(invocation.form));
    PolicyInputs inputs = form->*which;
    inputs.params = inputs_.Keep(invocation.param);
    return inputs;
  }

  Status Mutate(const Invocation& invocation, const MutatingPolicy::Mutation& mutation) {
    using Mutation = MutatingPolicy::Mutation;
    const MutatingPolicy& policy = *invocation.policy;
    DRA_ASSIGN(PolicyInputs inputs, Inputs(invocation, &RequestInputs::Form::inputs));
    DRA_ASSIGN(inputs.namespace_object, inputs_.NamespaceObject(objects_));
    DRA_ASSIGN(const Value object,
               InForm(core_.kinds(), request_, request_.object, invocation.form));
    auto made = policy.Evaluate(mutation, inputs, inputs_.arena());
    std::expected<Value, std::string> changed;
    if (!made) {
      changed = std::unexpected(std::move(made.error()));
    } else if (mutation.form == Mutation::Form::kApply) {
      changed = Applied(invocation.form, object, *made);
    } else {
      changed = ApplyJsonPatches(object, *made);
    }
    if (!changed) {
      AddFault(policy, invocation.binding, std::move(changed.error()));
      return {};
    }
    const auto strict = mutation.form == Mutation::Form::kApply ? api::StrictFields::kIgnore
                                                                : api::StrictFields::kReport;
    DRA_ASSIGN(request_.object, FromForm(core_, request_, invocation.form, *changed, strict));
    touched_ = true;
    inputs_.Changed();
    return {};
  }

  std::expected<Value, std::string> Applied(const ResourceKind& form, const Value& object,
                                            const cel::Value& config) const {
    const std::string_view version = object["apiVersion"].AsString();
    const KindPtr kind = core_.kinds().Find(form.group, form.version, form.resource);
    std::optional<Shape> shape;
    if (kind != nullptr && form.kind_group_version.empty()) {
      shape = kind->versions().ShapeOf(version);
    }
    if (shape) return ApplyConfiguration(object, config, *shape);
    return std::unexpected(
        fmt::format("error applying patch: failed to convert patch object to typed object: no "
                    "corresponding type for {}, Kind={}",
                    version, object["kind"].AsString()));
  }

  Core& core_;
  AdmissionRequest& request_;
  const ObjectReader& objects_;
  const PolicyInvocations invocations_;
  RequestInputs inputs_;
  std::vector<Invocation> found_;
  std::vector<std::string> faults_;
  bool touched_ = false;  // a mutation has made the object anew, perhaps as it was
};

namespace {

// Whether the request writes the object, or a part of it. What other subresources are sent is
// answered and not stored (evictions, tokens), or no part of what policies can change (bindings).
bool WritesObject(const AdmissionRequest& request) {
  static constexpr auto kParts = std::to_array<std::string_view>(
      {"", "status", "scale", "ephemeralcontainers", "resize", "approval", "finalize"});
  return request.operation != Operation::kDelete &&
         std::ranges::find(kParts, request.subresource) != kParts.end();
}

}  // namespace

MutatingPolicies::MutatingPolicies(Core& core)
    : core_(core), hooks_(core, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings") {}

Status MutatingPolicies::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  const auto hooks = hooks_.Current(objects);
  if (hooks.empty() || !WritesObject(request) || IsExemptFromPolicies(request)) return {};
  Dispatch dispatch(core_, request, objects);
  for (const Hook& hook : hooks) dispatch.Collect(hook);
  DRA_TRY(dispatch.Run());
  return dispatch.Finish();
}

}  // namespace drachma::apiserver
