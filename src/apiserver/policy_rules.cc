#include "apiserver/policy_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "apiserver/policy_expression.h"
#include "apiserver/policy_params.h"
#include "apiserver/webhook_rules.h"
#include "validation/admission_rules.h"
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
constexpr std::size_t kAnnotationsMax = 20;
constexpr std::size_t kValueExpressionBytesMax = 5 * 1024;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Whether CEL takes `name` for an identifier.
bool IsCelIdentifier(std::string_view name) {
  static constexpr auto kReserved = std::to_array<std::string_view>(
      {"true",     "false",   "null",      "in",       "as",  "break",  "const",
       "continue", "else",    "for",       "function", "if",  "import", "let",
       "loop",     "package", "namespace", "return",   "var", "void",   "while"});
  const auto word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, word) && std::ranges::find(kReserved, name) == kReserved.end();
}

ErrorList FaultOf(const PolicyExpression& expression, const std::string& path) {
  if (expression.fault.empty()) return {};
  return {Invalid(path, ShownText(expression.text), expression.fault)};
}

// The faults of one policy; expressions are compiled in the order of the spec.
class SpecChecker {
 public:
  explicit SpecChecker(const Value& policy)
      : policy_(policy),
        spec_(policy["spec"]),
        compiler_(
            {.params = spec_["paramKind"].IsObject(), .variables = !spec_["variables"].empty()}) {}

  ErrorList Run(const Value& old) {
    CheckMatching();
    const bool same_conditions = !old.IsNull() && old["spec"]["paramKind"] == spec_["paramKind"] &&
                                 old["spec"]["matchConditions"] == spec_["matchConditions"];
    if (!same_conditions) {
      Append(errors_, MatchConditionFaults(spec_["matchConditions"], spec_["paramKind"].IsObject(),
                                           "spec.matchConditions"));
    }
    CheckVariables();
    if (spec_["validations"].empty() && spec_["auditAnnotations"].empty()) {
      for (const char* field : {"spec.validations", "spec.auditAnnotations"}) {
        errors_.push_back(
            Required(field, "validations or auditAnnotations must contain at least one item"));
      }
      return std::move(errors_);
    }
    CheckValidations();
    CheckAnnotations();
    return std::move(errors_);
  }

 private:
  void CheckMatching() {
    static constexpr std::array<std::string_view, 2> kPolicies = {"Fail", "Ignore"};
    const std::string_view failure = spec_["failurePolicy"].AsString();
    if (failure.empty() && spec_["failurePolicy"].IsNull()) {
      errors_.push_back(Required("spec.failurePolicy"));
    } else if (std::ranges::find(kPolicies, failure) == kPolicies.end()) {
      errors_.push_back(validation::NotSupported("spec.failurePolicy",
                                                 validation::ShownNamed(failure), kPolicies));
    }
    Append(errors_, validation::ValidateParamKind(spec_["paramKind"], "spec.paramKind"));
    const Value& constraints = spec_["matchConstraints"];
    if (constraints.IsNull()) {
      errors_.push_back(Required("spec.matchConstraints"));
      return;
    }
    Append(errors_, validation::ValidateMatchResources(constraints, "spec.matchConstraints"));
    if (constraints["resourceRules"].empty()) {
      errors_.push_back(Required("spec.matchConstraints.resourceRules"));
    }
  }

  void Report(const PolicyExpression& expression, const std::string& path) {
    Append(errors_, FaultOf(expression, path));
  }

  void CheckVariables() {
    const Value& variables = spec_["variables"];
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Value& variable = variables.Items()[i];
      const std::string at = Index("spec.variables", i);
      const std::string_view name = variable["name"].AsString();
      if (Trimmed(name).empty()) {
        errors_.push_back(Required(Child(at, "name"), "name is not specified"));
      } else if (!IsCelIdentifier(name)) {
        errors_.push_back(
            Invalid(Child(at, "name"), ShownText(name), "must be a valid CEL identifier"));
      }
      const std::string_view text = variable["expression"].AsString();
      if (Trimmed(text).empty()) {
        errors_.push_back(Required(Child(at, "expression"), "expression is not specified"));
      } else {
        Report(compiler_.CompileVariable(name, text).expression, Child(at, "expression"));
      }
    }
  }

  void CheckValidations() {
    const Value& validations = spec_["validations"];
    for (std::size_t i = 0; i < validations.size(); ++i) {
      const Value& rule = validations.Items()[i];
      const std::string at = Index("spec.validations", i);
      const std::string_view text = rule["expression"].AsString();
      if (Trimmed(text).empty()) {
        errors_.push_back(Required(Child(at, "expression"), "expression is not specified"));
      } else {
        Report(compiler_.Compile(text, Returns::kBool, MayAsk::kYes), Child(at, "expression"));
      }
      CheckTexts(rule, at);
    }
  }

  void CheckTexts(const Value& rule, const std::string& at) {
    static constexpr std::array<std::string_view, 3> kReasons = {"Forbidden", "Invalid",
                                                                 "RequestEntityTooLarge"};
    constexpr const char* kEmpty = "must be non-empty if specified";
    const std::string_view expression = rule["messageExpression"].AsString();
    if (!Trimmed(expression).empty()) {
      Report(compiler_.Compile(expression, Returns::kString, MayAsk::kNo),
             Child(at, "messageExpression"));
    } else if (!expression.empty()) {
      errors_.push_back(Invalid(Child(at, "messageExpression"), ShownText(expression), kEmpty));
    }
    const std::string_view message = rule["message"].AsString();
    if (!message.empty() && Trimmed(message).empty()) {
      errors_.push_back(Invalid(Child(at, "message"), ShownText(message), kEmpty));
    } else if (Trimmed(message).find_first_of("\r\n") != std::string_view::npos) {
      errors_.push_back(
          Invalid(Child(at, "message"), ShownText(message), "must not contain line breaks"));
    }
    const Value& reason = rule["reason"];
    if (!reason.IsNull() && std::ranges::find(kReasons, reason.AsString()) == kReasons.end()) {
      errors_.push_back(validation::NotSupported(
          Child(at, "reason"), validation::ShownNamed(reason.AsString()), kReasons));
    }
  }

  void CheckAnnotations() {
    static constexpr std::array<std::string_view, 2> kFields = {"key", "valueExpression"};
    const Value& annotations = spec_["auditAnnotations"];
    if (annotations.size() > kAnnotationsMax) {
      Value shown = Value::Array();
      for (const Value& item : annotations.Items()) {
        shown.Append(validation::Internal(item, kFields));
      }
      errors_.push_back(
          Invalid("spec.auditAnnotations", validation::Shown(shown),
                  fmt::format("must not have more than {} auditAnnotations", kAnnotationsMax)));
    }
    std::set<std::string_view> keys;
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      const Value& annotation = annotations.Items()[i];
      const std::string at = Index("spec.auditAnnotations", i);
      const std::string_view key = annotation["key"].AsString();
      CheckKey(key, Child(at, "key"));
      CheckValueExpression(annotation["valueExpression"].AsString(), Child(at, "valueExpression"));
      if (!keys.insert(key).second) {
        errors_.push_back(validation::Duplicate(Child(at, "key"), ShownText(key)));
      }
    }
  }

  void CheckKey(std::string_view key, const std::string& path) {
    const std::string_view name = policy_["metadata"]["name"].AsString();
    const std::string full = fmt::format("{}/{}", name, key);
    if (name.empty()) {
      errors_.push_back(Invalid(path, ShownText(key), "requires metadata.name be non-empty"));
      return;
    }
    Append(errors_, validation::InvalidEach(path, full, validation::IsLabelKey(full)));
  }

  void CheckValueExpression(std::string_view text, const std::string& path) {
    const std::string_view trimmed = Trimmed(text);
    if (trimmed.empty()) {
      errors_.push_back(Required(path, "valueExpression is not specified"));
    } else if (trimmed.size() > kValueExpressionBytesMax) {
      errors_.push_back(Required(
          path, fmt::format("must not exceed {} bytes in length", kValueExpressionBytesMax)));
    } else {
      PolicyExpression compiled = compiler_.Compile(trimmed, Returns::kStringOrNull, MayAsk::kYes);
      compiled.text = text;
      Report(compiled, path);
    }
  }

  const Value& policy_;
  const Value& spec_;
  PolicyCompiler compiler_;
  ErrorList errors_;
};

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

ErrorList ValidatingPolicyFaults(const Value& policy, const Value& old) {
  return SpecChecker(policy).Run(old);
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
  const Value policy = objects.Get(kGroup, "validatingadmissionpolicies", "", policy_name);
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
  } else if (request.resource == "validatingadmissionpolicybindings") {
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
