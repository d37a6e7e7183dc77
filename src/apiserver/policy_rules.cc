#include "apiserver/policy_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <utility>

#include "apiserver/policy_expression.h"
#include "apiserver/policy_params.h"
#include "apiserver/policy_spec_rules.h"
#include "apiserver/webhook_rules.h"
#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Index;
using validation::Invalid;
using validation::Required;
using validation::ShownText;
using Returns = PolicyCompiler::Returns;
using MayAsk = PolicyCompiler::MayAsk;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::size_t kConditionsMax = 64;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// As Go prints a pointer to user.DefaultInfo.
std::string ShownUserInfo(const User& user) {
  std::string extra;
  for (const auto& [key, values] : user.extra) {
    extra += fmt::format("{}{}:[{}]", extra.empty() ? "" : " ", key, fmt::join(values, " "));
  }
  return fmt::format("&{{{} {} [{}] map[{}]}}", user.name, user.uid, fmt::join(user.groups, " "),
                     extra);
}

struct ParamResource {
  std::string group = "*";
  std::string version = "*";
  std::string resource = "*";
  bool resolved = false;
};

// What a writer must be able to read for a policy's parameters.
ParamResource ResourceOf(const KindTable& kinds, const Value& param_kind) {
  ParamResource resource;
  if (!param_kind.IsObject()) return resource;
  const api::GroupVersionParts parts = api::SplitGroupVersion(param_kind["apiVersion"].AsString());
  resource.group = parts.group;
  resource.version = parts.version;
  if (const auto kind = ParamKindOf(kinds, param_kind)) {
    resource.resource = (*kind)->plural();
    resource.resolved = true;
  }
  return resource;
}

}  // namespace

ErrorList MatchConditionFaults(const Value& conditions, bool params, const std::string& path) {
  ErrorList errors;
  if (conditions.empty()) return errors;
  PolicyCompiler compiler({.params = params, .variables = false});
  if (conditions.size() > kConditionsMax) {
    errors.push_back(validation::TooMany(path, conditions.size(), kConditionsMax));
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view text = Trimmed(condition["expression"].AsString());
    if (text.empty()) {
      errors.push_back(Required(Child(at, "expression")));
    } else {
      Append(errors, FaultOf(compiler.Compile(text, Returns::kBool, MayAsk::kYes),
                             Child(at, "expression")));
    }
    const std::string_view name = condition["name"].AsString();
    if (name.empty()) {
      errors.push_back(Required(Child(at, "name")));
      continue;
    }
    Append(errors, validation::InvalidEach(Child(at, "name"), name, validation::IsLabelKey(name)));
    if (!names.insert(name).second) {
      errors.push_back(validation::Duplicate(Child(at, "name"), ShownText(name)));
    }
  }
  return errors;
}

bool PolicyRules::May(const AdmissionRequest& request, Attributes attributes) const {
  attributes.user = request.user;
  std::string reason;
  return core_.Ask(attributes, reason) == Decision::kAllow;
}

ErrorList PolicyRules::ParamKindFaults(const AdmissionRequest& request) const {
  const Value& kind = request.object["spec"]["paramKind"];
  if (kind.IsNull() || kind == request.old_object["spec"]["paramKind"]) return {};
  const ParamResource resource = ResourceOf(core_.kinds(), kind);
  const bool may = May(request, {.verb = "get",
                                 .group = resource.group,
                                 .version = resource.version,
                                 .resource = resource.resource,
                                 .ns = "*",
                                 .name = "*"});
  if (may) return {};
  return {validation::Forbidden(
      "spec.paramKind",
      fmt::format("user {} must have \"get\" permission on all objects of the referenced paramKind "
                  "(kind={}, apiVersion={})",
                  ShownUserInfo(request.user), kind["kind"].AsString(),
                  kind["apiVersion"].AsString()))};
}

ErrorList PolicyRules::ParamRefFaults(const AdmissionRequest& request,
                                      const ObjectReader& objects) const {
  const Value& spec = request.object["spec"];
  const Value& ref = spec["paramRef"];
  const Value& old = request.old_object["spec"];
  const bool same = ref == old["paramRef"] && spec["policyName"] == old["policyName"];
  if (ref.IsNull() || same) return {};
  const std::string policy_name(spec["policyName"].AsString());
  const bool mutating = request.resource == "mutatingadmissionpolicybindings";
  const Value policy =
      objects.Get(kGroup, mutating ? "mutatingadmissionpolicies" : "validatingadmissionpolicies",
                  "", policy_name);
  const Value& kind = policy["spec"]["paramKind"];
  const ParamResource resource = ResourceOf(core_.kinds(), kind);
  const std::string verb = ref["name"].AsString().empty() ? "list" : "get";
  const bool may = May(request, {.verb = verb,
                                 .group = resource.group,
                                 .version = resource.version,
                                 .resource = resource.resource,
                                 .ns = std::string(ref["namespace"].AsString()),
                                 .name = std::string(ref["name"].AsString())});
  if (may) return {};
  const std::string user = ShownUserInfo(request.user);
  constexpr const char* kAll =
      "{} to determine minimum required permissions and user {} does not have \"{}\" permission "
      "for "
      "all groups, versions and resources";
  std::string why;
  if (policy.IsNull()) {
    why = fmt::format(kAll, fmt::format("unable to get policy {}", policy_name), user, verb);
  } else if (kind.IsObject() && !resource.resolved) {
    why =
        fmt::format(kAll,
                    fmt::format("unable to resolve paramKind &ParamKind{{APIVersion:{},Kind:{},}}",
                                kind["apiVersion"].AsString(), kind["kind"].AsString()),
                    user, verb);
  } else {
    why = fmt::format(
        "user {} does not have \"{}\" permission on the object referenced by paramRef", user, verb);
  }
  return {validation::Forbidden("spec.paramRef", std::move(why))};
}

Status PolicyRules::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (request.group != kGroup || !request.subresource.empty() || request.object.IsNull()) {
    return {};
  }
  ErrorList errors;
  if (request.resource == "validatingadmissionpolicies") {
    errors = ValidatingPolicyFaults(request.object, request.old_object);
    if (errors.empty()) errors = ParamKindFaults(request);
  } else if (request.resource == "mutatingadmissionpolicies") {
    errors = MutatingPolicyFaults(request.object, request.old_object);
    if (errors.empty()) errors = ParamKindFaults(request);
  } else if (request.resource == "validatingadmissionpolicybindings" ||
             request.resource == "mutatingadmissionpolicybindings") {
    errors = ParamRefFaults(request, objects);
  } else if (request.kind == "ValidatingWebhookConfiguration" ||
             request.kind == "MutatingWebhookConfiguration") {
    errors = WebhookFaults(request.object, request.old_object);
  }
  if (errors.empty()) return {};
  return std::unexpected(validation::InvalidObject(
      kGroup, request.kind, request.object["metadata"]["name"].AsString(), errors));
}

}  // namespace drachma::apiserver
