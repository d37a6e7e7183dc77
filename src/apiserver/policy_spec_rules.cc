#include "apiserver/policy_spec_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "apiserver/policy_expression.h"
#include "apiserver/policy_rules.h"
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

// What the specs of both kinds of policies have in common; expressions are compiled in the order of
// the spec.
class SpecChecker {
 public:
  SpecChecker(const Value& policy, bool variables)
      : policy_(policy),
        spec_(policy["spec"]),
        compiler_({.params = spec_["paramKind"].IsObject(), .variables = variables}) {}

 protected:
  void CheckConditions(const Value& old) {
    const bool same_conditions = !old.IsNull() && old["spec"]["paramKind"] == spec_["paramKind"] &&
                                 old["spec"]["matchConditions"] == spec_["matchConditions"];
    if (same_conditions) return;
    Append(errors_, MatchConditionFaults(spec_["matchConditions"], spec_["paramKind"].IsObject(),
                                         "spec.matchConditions"));
  }

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

  const Value& policy_;
  const Value& spec_;
  PolicyCompiler compiler_;
  ErrorList errors_;
};

class ValidatingSpecChecker : public SpecChecker {
 public:
  // `variables` is only known where there are some.
  explicit ValidatingSpecChecker(const Value& policy)
      : SpecChecker(policy, !policy["spec"]["variables"].empty()) {}

  ErrorList Run(const Value& old) {
    CheckMatching();
    CheckConditions(old);
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
};

class MutatingSpecChecker : public SpecChecker {
 public:
  explicit MutatingSpecChecker(const Value& policy) : SpecChecker(policy, true) {}

  ErrorList Run(const Value& old) {
    CheckMatching();
    Append(errors_, validation::ValidateMutatingOperations(spec_["matchConstraints"],
                                                           "spec.matchConstraints"));
    CheckConditions(old);
    CheckVariables();
    const Value& mutations = spec_["mutations"];
    if (mutations.empty()) {
      errors_.push_back(Required("spec.mutations", "mutations must contain at least one item"));
    }
    for (std::size_t i = 0; i < mutations.size(); ++i) {
      CheckMutation(mutations.Items()[i], Index("spec.mutations", i));
    }
    CheckOneOf("spec.reinvocationPolicy", spec_["reinvocationPolicy"].AsString(), kAgain);
    return std::move(errors_);
  }

 private:
  static constexpr std::array<std::string_view, 2> kAgain = {"IfNeeded", "Never"};
  static constexpr std::array<std::string_view, 2> kPatchTypes = {"ApplyConfiguration",
                                                                  "JSONPatch"};

  void CheckOneOf(const std::string& path, std::string_view value,
                  std::span<const std::string_view> allowed) {
    if (value.empty()) {
      errors_.push_back(Required(path));
    } else if (std::ranges::find(allowed, value) == allowed.end()) {
      errors_.push_back(validation::NotSupported(path, validation::ShownNamed(value), allowed));
    }
  }

  void CheckMutation(const Value& mutation, const std::string& at) {
    const std::string_view type = mutation["patchType"].AsString();
    CheckOneOf(Child(at, "patchType"), type, kPatchTypes);
    if (type == "JSONPatch") {
      CheckChange(mutation, at, type, "jsonPatch", "applyConfiguration", Returns::kPatches);
    } else if (type == "ApplyConfiguration") {
      CheckChange(mutation, at, type, "applyConfiguration", "jsonPatch", Returns::kObject);
    }
  }

  // `field` is what a mutation of that type has, `other` what it has not.
  void CheckChange(const Value& mutation, const std::string& at, std::string_view type,
                   const char* field, const char* other, Returns returns) {
    if (mutation[field].IsNull()) {
      errors_.push_back(
          Required(Child(at, field), fmt::format("must be specified when patchType is {}", type)));
    } else {
      const std::string path = Child(Child(at, field), "expression");
      const std::string_view text = Trimmed(mutation[field]["expression"].AsString());
      if (text.empty()) {
        errors_.push_back(Required(path));
      } else {
        Report(compiler_.Compile(text, returns, MayAsk::kYes), path);
      }
    }
    if (!mutation[other].IsNull()) {
      errors_.push_back(Invalid(Child(at, other), ShownText(fmt::format("{{{}}}", other)),
                                fmt::format("must not be specified when patchType is {}", type)));
    }
  }
};

}  // namespace

ErrorList FaultOf(const PolicyExpression& expression, const std::string& path) {
  constexpr std::string_view kInternal = "program instantiation failed: ";
  if (expression.fault.empty()) return {};
  if (expression.fault.starts_with(kInternal)) {
    return {validation::InternalError(path, expression.fault)};
  }
  return {Invalid(path, ShownText(expression.text), expression.fault)};
}

ErrorList ValidatingPolicyFaults(const Value& policy, const Value& old) {
  return ValidatingSpecChecker(policy).Run(old);
}

ErrorList MutatingPolicyFaults(const Value& policy, const Value& old) {
  return MutatingSpecChecker(policy).Run(old);
}

}  // namespace drachma::apiserver
