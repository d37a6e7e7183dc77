#include "lint/schema.h"

#include <fmt/format.h>

#include <utility>

#include "api/conversion.h"
#include "api/decode.h"
#include "api/defaults.h"
#include "api/features.h"
#include "api/kinds.h"
#include "apiserver/structural_schema.h"
#include "base/clock.h"
#include "controllers/compute_domain_kinds.h"
#include "lint/config_rules.h"
#include "lint/path.h"
#include "lint/tree.h"
#include "validation/gpu_config.h"
#include "validation/object_meta.h"
#include "validation/strategy.h"

namespace drachma::lint {
namespace {

using json::Value;

Found Make(std::string path, std::string rule, std::string message) {
  return {
      .finding = {.rule = std::move(rule), .message = std::move(message), .path = std::move(path)}};
}

// Groups of Kubernetes itself: a kind of theirs that is not known is a fault, a kind of another
// group may come from a CustomResourceDefinition.
bool IsBuiltInGroup(std::string_view group) {
  for (const api::GroupInfo& info : api::AllGroups()) {
    if (info.name == group) return true;
  }
  return group.empty();
}

// The path in a text like `unknown field "spec.x"`.
std::string QuotedPath(std::string_view text) {
  const std::size_t begin = text.find('"');
  const std::size_t end = text.rfind('"');
  if (begin == std::string_view::npos || end <= begin) return {};
  return std::string(text.substr(begin + 1, end - begin - 1));
}

// The path in a decoder's text, "… Go struct field Type.spec.devices of type …".
std::string PathInDecoderText(std::string_view text) {
  constexpr std::string_view kField = "Go struct field ";
  const std::size_t at = text.find(kField);
  if (at == std::string_view::npos) return {};
  std::string_view name = text.substr(at + kField.size());
  name = name.substr(0, name.find(' '));
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string() : std::string(name.substr(dot + 1));
}

validation::Context ContextFor(const api::KindInfo& kind, std::string_view version,
                               const Value& object) {
  validation::Context context;
  context.group = kind.group;
  context.version = version;
  context.resource = kind.plural;
  if (kind.namespaced()) context.ns = object["metadata"]["namespace"].AsString("default");
  context.now = FormatTime(RealClock().Now());
  context.enabled = [gates = api::FeatureGates()](std::string_view name) {
    for (const api::GateInfo& gate : api::AllGates()) {
      if (gate.name == name) return gates.On(gate.gate);
    }
    return false;
  };
  // A file does not know the namespaces of the cluster that it will go to.
  context.lookup_namespace = [](std::string_view) -> Result<Value> {
    return Value::Object(
        {{"metadata",
          Value::Object(
              {{"labels", Value::Object({{"resource.kubernetes.io/admin-access", "true"}})}})}});
  };
  return context;
}

// Everything behind decoding: defaults, the storage version, the rules of creation.
void CheckRules(const api::KindInfo& kind, std::string_view version, Value object,
                std::vector<Found>& found) {
  if (kind.Has(api::kNotStored)) return;
  const validation::Context context = ContextFor(kind, version, object);
  api::SetDefaults(kind.group, version, kind.kind, RealClock().Now(), object);
  Result<Value> stored =
      api::Convert(std::move(object), api::GroupVersion(kind.storage_group, kind.storage_version));
  if (!stored) {
    found.push_back(Make("", "conversion", stored.error().message));
    return;
  }
  if (kind.namespaced() && !(*stored)["metadata"].Has("namespace")) {
    stored->Edit("metadata").Set("namespace", context.ns);
  }
  // The server makes a name before it looks at it.
  const Value& metadata = (*stored)["metadata"];
  if (const std::string prefix(metadata["generateName"].AsString());
      !prefix.empty() && metadata["name"].AsString().empty()) {
    stored->Edit("metadata").Set("name", prefix + "x");
  }
  const validation::Strategy& strategy = validation::StrategyFor(kind.group, kind.kind);
  for (const validation::FieldError& error : validation::Check(strategy, context, *stored)) {
    found.push_back(Make(error.path, "validation", error.Text()));
  }
}

// What the admission of the GPU drivers refuses in opaque configs.
void CheckGpuParameters(const Value& object, std::vector<Found>& found) {
  const std::string configs = ConfigsPath(object);
  for (std::size_t i = 0; i < ValueAt(object, configs).size(); ++i) {
    const std::string opaque = Child(Item(configs, i), "opaque");
    const std::string_view driver = ValueAt(object, opaque)["driver"].AsString();
    const Value& parameters = ValueAt(object, opaque)["parameters"];
    const bool reads_them =
        driver == validation::kGpuDriver || driver == validation::kComputeDomainDriver;
    if (!reads_them || !parameters.IsObject()) continue;
    // Which gates a cluster's driver has on, a file does not know.
    const auto config = validation::ReadGpuConfig(parameters, validation::Decoding::kStrict,
                                                  [](std::string_view) { return true; });
    if (config) continue;
    found.push_back(
        Make(Child(opaque, "parameters"), "gpu-config",
             fmt::format("{} refuses these parameters: {}", driver, config.error().message)));
  }
}

// A kind that a definition of the GPU drivers declares: what the API server would refuse by it.
void CheckCustomObject(const json::YamlDocument& document, const Value& definition,
                       std::vector<Found>& found) {
  const Value& version = definition["spec"]["versions"].Items()[0];
  const auto schema = apiserver::StructuralSchema::Parse(version["schema"]["openAPIV3Schema"]);
  Value object = document.value;
  std::vector<std::string> unknown;
  (*schema)->Prune(object, &unknown);
  for (const std::string& path : unknown) {
    found.push_back(Make(path, "unknown-field", fmt::format("unknown field \"{}\"", path)));
  }
  (*schema)->PruneNulls(object);
  (*schema)->SetDefaults(object);
  validation::ErrorList errors = (*schema)->Validate(object);
  const validation::ErrorList metadata =
      validation::ValidateObjectMeta(object["metadata"], validation::Scope::kNamespaced,
                                     validation::NameIsDnsSubdomain, "metadata");
  for (const validation::FieldError& error : metadata) {
    // A file may leave the namespace to whoever applies it.
    if (error.path != "metadata.namespace") errors.push_back(error);
  }
  for (const validation::FieldError& error : errors) {
    found.push_back(Make(error.path, "validation", error.Text()));
  }
}

// ComputeDomains in another version than the drivers have, and kinds of theirs that do not exist.
bool CheckDriverKind(const json::YamlDocument& document, std::vector<Found>& found) {
  namespace domains = controllers::compute_domain;
  const std::string_view api_version = document.value["apiVersion"].AsString();
  const std::string_view kind = document.value["kind"].AsString();
  if (api::SplitGroupVersion(api_version).group != domains::kGroup) return false;
  const Value* definition = domains::DefinitionOf(kind);
  if (definition == nullptr || api_version != domains::kApiVersion) {
    found.push_back(
        Make(definition == nullptr ? "kind" : "apiVersion", "unknown-kind",
             fmt::format("no matches for kind \"{}\" in version \"{}\"", kind, api_version)));
  } else {
    CheckCustomObject(document, *definition, found);
  }
  return true;
}

}  // namespace

void FindSchemaFaults(const json::YamlDocument& document, std::vector<Found>& found) {
  const Value& object = document.value;
  if (!object.IsObject()) {
    found.push_back(Make("", "no-object", "a manifest is a mapping with apiVersion and kind"));
    return;
  }
  for (const std::string_view field : {"apiVersion", "kind"}) {
    if (object[field].AsString().empty()) {
      found.push_back(Make("", "no-kind", fmt::format("{} is missing", field)));
      return;
    }
  }
  if (CheckDriverKind(document, found)) return;
  const api::GroupVersionParts parts = api::SplitGroupVersion(object["apiVersion"].AsString());
  const std::string_view kind_name = object["kind"].AsString();
  const api::KindInfo* kind = api::FindKind(parts.group, parts.version, kind_name);
  if (kind == nullptr) {
    const bool known = api::FindTypeOfKind(object["apiVersion"].AsString(), kind_name) != nullptr;
    if (IsBuiltInGroup(parts.group) && !known) {
      found.push_back(Make("kind", "unknown-kind",
                           fmt::format("no matches for kind \"{}\" in version \"{}\"", kind_name,
                                       object["apiVersion"].AsString())));
    }
    return;
  }
  Result<api::Decoded> decoded = api::Decode(object, *kind->FindVersion(parts.version)->type,
                                             api::StrictFields::kReport, document.duplicates);
  if (!decoded) {
    found.push_back(
        Make(PathInDecoderText(decoded.error().message), "wrong-type", decoded.error().message));
    return;
  }
  for (const std::string& text : decoded->strict_errors) {
    found.push_back(Make(QuotedPath(text), "unknown-field", text));
  }
  CheckGpuParameters(object, found);
  decoded->value.Set("apiVersion", object["apiVersion"]);
  decoded->value.Set("kind", object["kind"]);
  CheckRules(*kind, parts.version, std::move(decoded->value), found);
}

}  // namespace drachma::lint
