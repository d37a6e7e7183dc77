#include "validation/node_selector.h"

#include <string>

#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

using json::Value;

ErrorList ValidateRequirement(const Value& requirement, LabelValues kind, std::string_view path) {
  ErrorList errors;
  const std::string_view op = requirement["operator"].AsString();
  const Value& values = requirement["values"];
  const std::string values_path = Child(path, "values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          Required(values_path, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(Forbidden(
          values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) {
      errors.push_back(
          Required(values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(
        Invalid(Child(path, "operator"), ShownNamed(op), "not a valid selector operator"));
  }
  Append(errors, ValidateLabelName(requirement["key"].AsString(), Child(path, "key")));
  if (kind == LabelValues::kAnything) return errors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values.Items()[i].AsString();
    Append(errors, InvalidEach(Index(values_path, i), value, IsLabelValue(value),
                               "format=k8s-label-value"));
  }
  return errors;
}

ErrorList ValidateFieldRequirement(const Value& requirement, std::string_view path) {
  ErrorList errors;
  const std::string_view op = requirement["operator"].AsString();
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() != 1) {
      errors.push_back(Required(
          Child(path, "values"),
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
    }
  } else {
    errors.push_back(
        Invalid(Child(path, "operator"), ShownNamed(op), "not a valid selector operator"));
  }
  const std::string_view key = requirement["key"].AsString();
  if (key != "metadata.name") {
    errors.push_back(Invalid(Child(path, "key"), ShownText(key), "not a valid field selector key"));
    return errors;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values.Items()[i].AsString();
    Append(errors, ValidateNodeName(value, Index(Child(path, "values"), i)));
  }
  return errors;
}

}  // namespace

ErrorList ValidateNodeName(std::string_view name, std::string_view path) {
  return InvalidEach(path, name, IsDns1123Subdomain(name));
}

ErrorList ValidateNodeSelectorTerm(const Value& term, LabelValues values, std::string_view path) {
  ErrorList errors;
  const auto expressions = term["matchExpressions"].Items();
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    Append(errors,
           ValidateRequirement(expressions[i], values, Index(Child(path, "matchExpressions"), i)));
  }
  const auto fields = term["matchFields"].Items();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Append(errors, ValidateFieldRequirement(fields[i], Index(Child(path, "matchFields"), i)));
  }
  return errors;
}

ErrorList ValidateNodeSelector(const Value& selector, std::string_view path) {
  const std::string terms_path = Child(path, "nodeSelectorTerms");
  const auto terms = selector["nodeSelectorTerms"].Items();
  if (terms.empty()) return {Required(terms_path, "must have at least one node selector term")};
  ErrorList errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Append(errors, ValidateNodeSelectorTerm(terms[i], LabelValues::kChecked, Index(terms_path, i)));
  }
  return errors;
}

}  // namespace drachma::validation
