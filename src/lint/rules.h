#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "lint/finding.h"

namespace drachma::lint {

// A document with parameters of classic DRA.
struct ParameterDocument {
  json::Value object;
  bool of_claim = false;  // a claim's or template's parametersRef names it
};

// What rules may know beside the object.
struct RuleContext {
  std::string driver = "gpu.nvidia.com";  // the domain of names that have none
  // Of all files of the input as they were written (parameters.h); CheckText looks into its own
  // text when both are empty.
  std::vector<ParameterDocument> parameters = {};
  std::vector<json::Value> objects = {};  // of resource.k8s.io: claims, templates, classes
};

// What a rule found: a Finding without file and place (`path` says where), or with an offset into
// the text of the scalar at `path`.
struct Found {
  Finding finding;
  std::optional<std::size_t> offset_in_scalar = std::nullopt;
};

[[nodiscard]] Found MakeFound(std::string path, std::string rule, std::string message,
                              std::string fix);

// A rule looks at one object in the form in which it was written. Rules are independent of each
// other: each is one row of Rules().
using RuleFunction = void (*)(const json::Value& object, const RuleContext& context,
                              std::vector<Found>& found);
struct Rule {
  std::string_view name;
  RuleFunction run;
};

// The rules about forms that are outdated or easily got wrong, in the order in which --fix takes
// them: versions of objects first, since the other rules speak of today's form.
[[nodiscard]] std::span<const Rule> Rules();

// The path of the pod spec inside a Pod or a workload ("spec", "spec.template.spec",
// "spec.jobTemplate.spec.template.spec"); empty for other kinds.
[[nodiscard]] std::string_view PodSpecPath(const json::Value& object);
// Where the claim's spec stands: "spec" of a claim, "spec.spec" of a template; empty otherwise.
[[nodiscard]] std::string_view ClaimSpecPath(const json::Value& object);

}  // namespace drachma::lint
