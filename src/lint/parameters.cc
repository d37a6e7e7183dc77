#include "lint/parameters.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "json/json.h"
#include "json/yaml.h"
#include "lint/listed.h"
#include "lint/text_form.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

// API groups of drivers of classic DRA, whose kinds today's drivers do not read.
constexpr std::array<std::string_view, 2> kGroups = {"gpu.resource.nvidia.com",
                                                     "gpu.resource.example.com"};
constexpr std::string_view kDra = "resource.k8s.io/";

// Where classic DRA had a parametersRef, and whether it was a claim's.
struct Reference {
  std::string_view path;
  bool of_claim;
};
constexpr auto kReferences = std::to_array<Reference>({
    {"parametersRef", false},
    {"spec.parametersRef", true},
    {"spec.spec.parametersRef", true},
});

std::string_view GroupOf(const Value& object) {
  const std::string_view version = object["apiVersion"].AsString();
  const std::size_t slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
}

bool Means(const ParameterDocument& document, std::string_view group, std::string_view kind,
           std::string_view ns, std::string_view name) {
  const Value& metadata = document.object["metadata"];
  return GroupOf(document.object) == group && document.object["kind"].AsString() == kind &&
         metadata["name"].AsString() == name &&
         // A class has no namespace; its reference then may give one.
         (ns.empty() || metadata["namespace"].AsString("default") == ns);
}

std::string_view NamespaceOf(const Value& object) {
  return object["metadata"]["namespace"].AsString("default");
}

}  // namespace

RuleContext ContextOf(std::string driver, std::span<const std::string_view> texts) {
  RuleContext context{.driver = std::move(driver)};
  std::vector<Value> others;
  for (const std::string_view text : texts) {
    const Result<std::vector<json::YamlDocument>> documents = json::ReadYaml(PlainForm(text));
    if (!documents) continue;
    for (const json::YamlDocument& document : *documents) {
      for (ListedObject& object : ObjectsOf(document)) {
        Value& value = object.document.value;
        const bool dra = value["apiVersion"].AsString().starts_with(kDra);
        (dra ? context.objects : others).push_back(std::move(value));
      }
    }
  }
  for (Value& object : others) {
    const std::string_view group = GroupOf(object);
    if (group.empty()) continue;
    ParameterDocument document{.object = object};
    bool known = std::ranges::find(kGroups, group) != kGroups.end();
    for (const Value& owner : context.objects) {
      for (const Reference& reference : kReferences) {
        const Value& ref = ValueAt(owner, reference.path);
        const std::string_view ns =
            reference.of_claim ? NamespaceOf(owner) : ref["namespace"].AsString();
        if (!Means(document, ref["apiGroup"].AsString(), ref["kind"].AsString(), ns,
                   ref["name"].AsString())) {
          continue;
        }
        known = true;
        if (reference.of_claim) document.of_claim = true;
      }
    }
    if (known) context.parameters.push_back(std::move(document));
  }
  return context;
}

const ParameterDocument* FindParameter(const RuleContext& context, const Value& ref,
                                       std::string_view ns) {
  const auto found = std::ranges::find_if(context.parameters, [&](const auto& document) {
    return Means(document, ref["apiGroup"].AsString(), ref["kind"].AsString(), ns,
                 ref["name"].AsString());
  });
  return found == context.parameters.end() ? nullptr : &*found;
}

const ParameterDocument* FindParameter(const RuleContext& context, const Value& object) {
  const auto found = std::ranges::find_if(
      context.parameters, [&](const auto& document) { return document.object == object; });
  return found == context.parameters.end() ? nullptr : &*found;
}

bool HasCount(const Value& parameters) {
  const Value& count = parameters["spec"]["count"];
  return count.IsNumber() && count.AsInt() > 0;
}

std::string BesideCount(const Value& parameters, bool with_count) {
  Value rest = parameters["spec"];
  if (!with_count && HasCount(parameters)) rest.Erase("count");
  return rest.empty() ? std::string() : json::Write(rest);
}

}  // namespace drachma::lint
