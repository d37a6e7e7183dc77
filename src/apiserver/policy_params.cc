#include "apiserver/policy_params.h"

#include <fmt/format.h>

#include <utility>

#include "api/kinds.h"
#include "api/selectors.h"

namespace drachma::apiserver {

using json::Value;

Result<KindPtr> ParamKindOf(const KindTable& kinds, const Value& param_kind) {
  const api::GroupVersionParts parts = api::SplitGroupVersion(param_kind["apiVersion"].AsString());
  const std::string_view name = param_kind["kind"].AsString();
  KindPtr kind = kinds.FindByKind(parts.group, name);
  if (kind != nullptr && kind->info().FindVersion(parts.version) != nullptr) return kind;
  return BadInput(fmt::format("failed to find resource referenced by paramKind: '{}/{}, Kind={}'",
                              parts.group, parts.version, name));
}

namespace {

// The namespace that the parameters are read from; empty for all and for those of the cluster.
Result<std::string> NamespaceOfParams(const Kind& kind, const Value& param_ref,
                                      const std::string& ns) {
  const std::string given(param_ref["namespace"].AsString());
  if (!kind.info().namespaced()) {
    if (given.empty()) return std::string();
    return BadInput("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  if (!given.empty()) return given;
  if (!ns.empty()) return ns;
  return BadInput(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
}

}  // namespace

Result<std::vector<Value>> CollectParams(const KindTable& kinds, const ObjectReader& objects,
                                         const Value& param_kind, const Value& param_ref,
                                         const std::string& ns) {
  if (!param_kind.IsObject() || !param_ref.IsObject()) return std::vector<Value>{Value()};
  DRA_ASSIGN(const KindPtr kind, ParamKindOf(kinds, param_kind));
  DRA_ASSIGN(const std::string from, NamespaceOfParams(*kind, param_ref, ns));
  std::vector<Value> params;
  const auto add = [&](const Value& object) {
    auto converted = kind->Convert(object, param_kind["apiVersion"].AsString());
    if (converted) params.push_back(std::move(*converted));
  };
  if (const std::string_view name = param_ref["name"].AsString(); !name.empty()) {
    const Value found = objects.Get(kind->group(), kind->plural(), from, name);
    if (!found.IsNull()) add(found);
  } else {
    DRA_ASSIGN(const api::LabelSelector selector,
               api::LabelSelector::FromObject(param_ref["selector"]));
    objects.ForEach(kind->group(), kind->plural(), from, [&](const Value& object) {
      if (selector.Matches(object["metadata"]["labels"])) add(object);
    });
  }
  if (params.empty() && param_ref["parameterNotFoundAction"].AsString() == "Deny") {
    return BadInput("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return params;
}

}  // namespace drachma::apiserver
