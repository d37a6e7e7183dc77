#include "validation/strategy.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/conversion.h"
#include "api/kinds.h"
#include "validation/declarative.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/strategy_tables.h"

namespace drachma::validation {
namespace {

using json::Value;

// names.SimpleNameGenerator: a name of at most 63 bytes with five random ones at its end.
constexpr std::size_t kGeneratedPrefixMax = 63 - 5;

using StrategyKey = std::tuple<std::string_view, std::string_view, std::string_view>;
using StrategyMap = std::map<StrategyKey, const Strategy*>;

StrategyMap MakeMap() {
  StrategyMap map;
  for (const auto& rows :
       {ResourceStrategies(), PodStrategies(), WorkloadStrategies(), CoreStrategies(),
        QuotaStrategies(), ServiceStrategies(), VolumeStrategies(), EventStrategies(),
        ClusterStrategies(), AdmissionStrategies(), SchedulingStrategies()}) {
    for (const Strategy& row : rows) map[{row.group, row.kind, row.subresource}] = &row;
  }
  return map;
}

// --- What kinds without rules of their own get.

ErrorList CommonCreate(Scope scope, const Value& object) {
  return ValidateObjectMeta(object["metadata"], scope, NameIsPathSegment, "metadata");
}
ErrorList CommonCreateNamespaced(const Context&, const Value& object) {
  return CommonCreate(Scope::kNamespaced, object);
}
ErrorList CommonCreateCluster(const Context&, const Value& object) {
  return CommonCreate(Scope::kCluster, object);
}

void PrepareCommonCreate(const Context& context, Value& object) {
  const api::KindInfo* info = api::FindResource(context.group, context.resource);
  if (info == nullptr) return;
  if (info->Has(api::kHasStatus)) ClearStatus(context, object);
  if (info->Has(api::kHasGeneration)) StartGeneration(context, object);
}

void PrepareCommonUpdate(const Context& context, Value& object, const Value& old) {
  const api::KindInfo* info = api::FindResource(context.group, context.resource);
  if (info == nullptr) return;
  if (info->Has(api::kHasStatus)) KeepStatus(context, object, old);
  if (info->Has(api::kHasGeneration)) CountGeneration(context, object, old);
}

bool CommonUnconditional(const Context& context) {
  const api::KindInfo* info = api::FindResource(context.group, context.resource);
  return info == nullptr || !info->Has(api::kNoUnconditionalUpdate);
}

constexpr Strategy CommonRow(Scope scope, Rule create_on_update) {
  return {
      .scope = scope,
      .allow_create_on_update = create_on_update,
      .allow_unconditional_update = CommonUnconditional,
      .prepare_create = PrepareCommonCreate,
      .prepare_update = PrepareCommonUpdate,
      .validate_create = scope == Scope::kCluster ? CommonCreateCluster : CommonCreateNamespaced,
      .reset_fields = "status"};
}

constexpr Strategy CommonStatus(Scope scope) {
  return {.subresource = "status",
          .scope = scope,
          .allow_unconditional_update = CommonUnconditional,
          .prepare_update = KeepSpec,
          .reset_fields = "spec"};
}

// A name of its own for each kind, since error texts need the kind.
const Strategy& CommonStrategy(std::string_view group, std::string_view kind,
                               std::string_view subresource) {
  static const std::map<StrategyKey, Strategy> rows = [] {
    std::map<StrategyKey, Strategy> out;
    for (const api::KindInfo& info : api::AllKinds()) {
      const Scope scope = info.namespaced() ? Scope::kNamespaced : Scope::kCluster;
      const Rule create = info.Has(api::kCreateOnUpdate) ? Rule::kYes : Rule::kNo;
      for (Strategy row : {CommonRow(scope, create), CommonStatus(scope)}) {
        row.group = info.group;
        row.kind = info.kind;
        if (!info.Has(api::kHasStatus) && row.subresource.empty()) row.reset_fields = {};
        out.emplace(StrategyKey{row.group, row.kind, row.subresource}, row);
      }
    }
    return out;
  }();
  static const Strategy none;
  const auto found = rows.find({group, kind, subresource.empty() ? "" : "status"});
  return found == rows.end() ? none : found->second;
}

// --- The common course of create and update (apiserver's pkg/registry/rest).

Status MatchNamespace(const Strategy& strategy, const Context& context, Value& object) {
  const std::string wanted = strategy.scope == Scope::kNamespaced ? context.ns : std::string();
  const std::string_view given = object["metadata"]["namespace"].AsString();
  if (given == wanted) return {};
  if (given.empty()) {
    object.Edit("metadata").Set("namespace", wanted);
  } else if (wanted.empty()) {
    object.Edit("metadata").Erase("namespace");
  } else {
    return BadInput(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

void FillSystemFields(const Context& context, Value& object) {
  Value& meta = object.Edit("metadata");
  for (const std::string_view field :
       {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    meta.Erase(field);
  }
  meta.Set("creationTimestamp", context.now);
  if (context.new_uid) meta.Set("uid", context.new_uid());
  const std::string_view prefix = meta["generateName"].AsString();
  if (!prefix.empty() && meta["name"].AsString().empty()) {
    std::string name(prefix.substr(0, kGeneratedPrefixMax));
    if (context.name_suffix) name += context.name_suffix();
    meta.Set("name", name);
  }
}

// The object as the client's version has it, for the rules made from tags.
Value Versioned(const Context& context, const Value& object) {
  const std::string target = api::GroupVersion(context.group, context.version);
  if (context.version.empty() || object["apiVersion"].AsString() == target) return object;
  auto converted = api::Convert(object, target);
  return converted ? std::move(*converted) : object;
}

// Upstream filters its hand-written errors through an aggregate, which holds each text once.
ErrorList Distinct(ErrorList errors) {
  std::set<std::string> seen;
  std::erase_if(errors, [&](const FieldError& error) { return !seen.insert(error.Text()).second; });
  return errors;
}

ErrorList WithDeclared(const Strategy& strategy, const Context& context, ErrorList errors,
                       const Value& object, const Value* old) {
  errors = Distinct(std::move(errors));
  const std::string_view version = context.version;
  const bool plain = strategy.subresource.empty() || strategy.subresource == "status";
  if (!plain || !HasDeclarativeRules(strategy.group, version, strategy.kind)) return errors;
  const Value shaped = Versioned(context, object);
  const Value old_shaped = old == nullptr ? Value() : Versioned(context, *old);
  return MergeDeclarative(std::move(errors),
                          ValidateDeclaratively(context, strategy.group, version, strategy.kind,
                                                shaped, old == nullptr ? nullptr : &old_shaped));
}

ErrorList AllCreateErrors(const Strategy& strategy, const Context& context, const Value& object) {
  ErrorList errors;
  if (strategy.validate_create != nullptr) errors = strategy.validate_create(context, object);
  if (errors.empty()) {
    errors = ValidateObjectMeta(object["metadata"], strategy.scope, NameIsPathSegment, "metadata");
  }
  return WithDeclared(strategy, context, std::move(errors), object, nullptr);
}

ErrorList AllUpdateErrors(const Strategy& strategy, const Context& context, const Value& object,
                          const Value& old) {
  const Value& meta = object["metadata"];
  ErrorList errors = ValidateObjectMeta(meta, strategy.scope, NameIsPathSegment, "metadata");
  Append(errors, ValidateObjectMetaUpdate(meta, old["metadata"], "metadata"));
  if (strategy.validate_update != nullptr) {
    Append(errors, strategy.validate_update(context, object, old));
  }
  return WithDeclared(strategy, context, std::move(errors), object, &old);
}

// What an update cannot change in metadata.
void TakeOverSystemFields(Value& object, const Value& old) {
  const Value& old_meta = old["metadata"];
  Value& meta = object.Edit("metadata");
  if (meta["uid"].AsString().empty() && !old_meta["uid"].IsNull()) meta.Set("uid", old_meta["uid"]);
  for (const std::string_view field : {"creationTimestamp", "deletionTimestamp"}) {
    if (!old_meta[field].IsNull()) meta.Set(field, old_meta[field]);
  }
  meta.Erase("selfLink");
  const Value& grace = old_meta["deletionGracePeriodSeconds"];
  if (!grace.IsNull() && meta["deletionGracePeriodSeconds"].IsNull()) {
    meta.Set("deletionGracePeriodSeconds", grace);
  }
}

void AddWarnings(std::vector<std::string> found, std::vector<std::string>* warnings) {
  if (warnings == nullptr) return;
  std::ranges::move(found, std::back_inserter(*warnings));
}

// The events of both groups are one internal type, whose group is the core one.
std::string_view GroupInErrors(const Strategy& strategy) {
  return strategy.kind == "Event" ? std::string_view() : strategy.group;
}

}  // namespace

const Strategy& StrategyFor(std::string_view group, std::string_view kind,
                            std::string_view subresource) {
  static const StrategyMap map = MakeMap();
  const auto found = map.find({group, kind, subresource});
  return found == map.end() ? CommonStrategy(group, kind, subresource) : *found->second;
}

Status BeforeCreate(const Strategy& strategy, const Context& context, Value& object,
                    std::vector<std::string>* warnings) {
  FillSystemFields(context, object);
  DRA_TRY(MatchNamespace(strategy, context, object));
  if (strategy.prepare_create != nullptr) strategy.prepare_create(context, object);
  const ErrorList errors = AllCreateErrors(strategy, context, object);
  if (!errors.empty()) {
    return std::unexpected(InvalidObject(GroupInErrors(strategy), strategy.kind,
                                         object["metadata"]["name"].AsString(), errors));
  }
  if (strategy.warn_create != nullptr) AddWarnings(strategy.warn_create(context, object), warnings);
  return {};
}

Status BeforeUpdate(const Strategy& strategy, const Context& context, Value& object,
                    const Value& old, std::vector<std::string>* warnings) {
  DRA_TRY(MatchNamespace(strategy, context, object));
  TakeOver(object.Edit("metadata"), old["metadata"], "generation");
  if (strategy.prepare_update != nullptr) strategy.prepare_update(context, object, old);
  TakeOverSystemFields(object, old);
  const ErrorList errors = AllUpdateErrors(strategy, context, object, old);
  if (!errors.empty()) {
    return std::unexpected(InvalidObject(GroupInErrors(strategy), strategy.kind,
                                         object["metadata"]["name"].AsString(), errors));
  }
  if (strategy.warn_update != nullptr) {
    AddWarnings(strategy.warn_update(context, object, old), warnings);
  }
  return {};
}

Error MissingResourceVersion(const Context& context, std::string_view name) {
  return InvalidObject(
      context.group, context.resource, name,
      {Invalid("metadata.resourceVersion", "0", "must be specified for an update")});
}

ErrorList Check(const Strategy& strategy, const Context& context, const Value& object) {
  Value copy = object;
  if (strategy.prepare_create != nullptr) strategy.prepare_create(context, copy);
  return AllCreateErrors(strategy, context, copy);
}

// --- Steps that strategies are made of.

void TakeOver(Value& object, const Value& old, std::string_view field) {
  if (const Value& value = old[field]; !value.IsNull()) {
    object.Set(field, value);
  } else if (object.Has(field)) {
    object.Erase(field);
  }
}

void ClearStatus(const Context&, Value& object) {
  if (object.Has("status")) object.Erase("status");
}

void StartGeneration(const Context&, Value& object) {
  object.Edit("metadata").Set("generation", 1);
}

void ClearStatusAndStartGeneration(const Context& context, Value& object) {
  ClearStatus(context, object);
  StartGeneration(context, object);
}

void KeepStatus(const Context&, Value& object, const Value& old) {
  TakeOver(object, old, "status");
}

void CountGeneration(const Context&, Value& object, const Value& old) {
  if (SemanticEqual(object["spec"], old["spec"])) return;
  object.Edit("metadata").Set("generation", old["metadata"]["generation"].AsInt() + 1);
}

void KeepStatusAndCountGeneration(const Context& context, Value& object, const Value& old) {
  KeepStatus(context, object, old);
  CountGeneration(context, object, old);
}

void KeepSpec(const Context&, Value& object, const Value& old) { TakeOver(object, old, "spec"); }

void KeepAllButStatus(const Context&, Value& object, const Value& old) {
  TakeOver(object, old, "spec");
  static constexpr std::array<std::string_view, 7> kKept = {
      "deletionTimestamp", "generation", "selfLink",       "labels",
      "annotations",       "finalizers", "ownerReferences"};
  Value& meta = object.Edit("metadata");
  for (const std::string_view field : kKept) TakeOver(meta, old["metadata"], field);
}

bool Never(const Context&) { return false; }

}  // namespace drachma::validation
