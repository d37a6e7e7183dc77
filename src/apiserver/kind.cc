#include "apiserver/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/conversion.h"
#include "api/defaults.h"
#include "api/internal_form.h"
#include "api/strategic_merge.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

// Events of both groups are one resource: they are kept as core events (upstream's
// pkg/registry/core/event serves both).
const api::KindInfo& StorageInfo(const api::KindInfo& info) {
  if (info.group == "events.k8s.io" && info.kind == "Event") {
    if (const api::KindInfo* core = api::FindKind("", "Event"); core != nullptr) return *core;
  }
  return info;
}

}  // namespace

Kind::Kind(const api::KindInfo& info) : info_(info) {
  const api::KindInfo& storage = StorageInfo(info);
  storage_api_version_ = api::GroupVersion(storage.group, storage.storage_version);
  scope_ = storage.group.empty() ? fmt::format("/registry/{}/", storage.plural)
                                 : fmt::format("/registry/{}/{}/", storage.group, storage.plural);
}

std::string Kind::ApiVersion(std::string_view version) const {
  return api::GroupVersion(info_.group, version);
}

std::string Kind::ScopeOf(std::string_view ns) const {
  return ns.empty() || !info_.namespaced() ? scope_ : fmt::format("{}{}/", scope_, ns);
}

std::string Kind::KeyOf(std::string_view ns, std::string_view name) const {
  return ScopeOf(ns) + std::string(name);
}

namespace {

class BuiltInVersions final : public KindVersions {
 public:
  explicit BuiltInVersions(const api::KindInfo& info) : info_(info) {}

  std::optional<Shape> ShapeOf(std::string_view api_version) const override {
    const api::TypeInfo* type = api::FindTypeOfKind(api_version, info_.kind);
    if (type == nullptr) return std::nullopt;
    return ShapeOfType(*type);
  }

  json::Value Convert(const json::Value& object, std::string_view api_version) const override {
    // Objects that a manager's entry has no version for compare as they are.
    return api::Convert(object, api_version).value_or(object);
  }

  json::Value Nothing(std::string_view api_version) const override {
    const api::TypeInfo* type = api::FindTypeOfKind(api_version, info_.kind);
    json::Value nothing = json::Value::Object();
    if (type == nullptr) return nothing;
    auto decoded = api::Decode(nothing, *type, api::StrictFields::kIgnore, {});
    if (decoded) nothing = std::move(decoded->value);
    nothing.Set("apiVersion", api_version);
    nothing.Set("kind", info_.kind);
    return nothing;
  }

 private:
  const api::KindInfo& info_;
};

// Paths of lists that Go writes even when they are empty, as far as structs lead to them. Upstream
// keeps objects as Protobuf, which cannot tell an empty list from none: such a list comes back
// null.
void CollectPlainLists(const api::TypeInfo& type, std::vector<std::string_view>& prefix,
                       std::vector<std::vector<std::string_view>>& paths) {
  constexpr std::size_t kDepthMax = 6;
  if (prefix.size() >= kDepthMax) return;
  for (const api::FieldInfo& field : type.fields) {
    if (field.inlined) {
      if (field.type != nullptr) CollectPlainLists(*field.type, prefix, paths);
      continue;
    }
    prefix.push_back(field.json_name);
    if (field.shape == api::Shape::kList && !field.omit_empty && !field.omit_zero) {
      paths.push_back(prefix);
    } else if (field.shape == api::Shape::kOne && field.type != nullptr) {
      CollectPlainLists(*field.type, prefix, paths);
    }
    prefix.pop_back();
  }
}

const json::Value& ValueAt(const json::Value& object, std::span<const std::string_view> path) {
  const json::Value* value = &object;
  for (const std::string_view name : path) value = &(*value)[name];
  return *value;
}

class BuiltInKind final : public Kind {
 public:
  explicit BuiltInKind(const api::KindInfo& info)
      : Kind(info),
        versions_(info),
        printer_(PrinterFor(info.group, info.kind)),
        storage_type_(StorageInfo(info).storage_type) {
    if (printer_ == nullptr) printer_ = PrintNameAndAge;
    std::vector<std::string_view> prefix;
    if (storage_type_ != nullptr) CollectPlainLists(*storage_type_, prefix, plain_lists_);
  }

  Result<api::Decoded> Decode(const json::Value& object, std::string_view version,
                              api::StrictFields strict,
                              std::span<const json::DuplicateKey> duplicates) const override {
    const api::VersionInfo* info = info_.FindVersion(version);
    if (info == nullptr) return BadInput(fmt::format("unknown version {}", version));
    return api::Decode(object, *info->type, strict, duplicates);
  }

  void SetDefaults(std::string_view version, Time now, json::Value& object) const override {
    api::SetDefaults(info_.group, version, info_.kind, now, object);
    api::ThroughInternalForm(info_.group, info_.kind, object);
  }

  Result<json::Value> Convert(json::Value object, std::string_view api_version) const override {
    if (object["apiVersion"].AsString() == api_version) return object;
    return api::Convert(std::move(object), api_version);
  }

  const KindVersions& versions() const override { return versions_; }

  Result<json::Value> StrategicMerge(json::Value object, const json::Value& patch,
                                     std::string_view version) const override {
    const api::VersionInfo* info = info_.FindVersion(version);
    if (info == nullptr) return BadInput(fmt::format("unknown version {}", version));
    return api::StrategicMergePatch(std::move(object), patch, *info->type);
  }

  bool AllowsUnconditionalUpdate(const validation::Context& context) const override {
    const validation::Strategy& strategy = StrategyOf(context.subresource);
    if (strategy.allow_unconditional_update != nullptr) {
      return strategy.allow_unconditional_update(context);
    }
    return !info_.Has(api::kNoUnconditionalUpdate);
  }

  std::string_view ResetFields(std::string_view subresource) const override {
    return StrategyOf(subresource).reset_fields;
  }

  Status BeforeCreate(const validation::Context& context, json::Value& object,
                      std::vector<std::string>* warnings) const override {
    DRA_TRY(validation::BeforeCreate(StrategyOf(context.subresource), context, object, warnings));
    return MakeCanonical(object);
  }

  Status BeforeUpdate(const validation::Context& context, json::Value& object,
                      const json::Value& old, std::vector<std::string>* warnings) const override {
    DRA_TRY(
        validation::BeforeUpdate(StrategyOf(context.subresource), context, object, old, warnings));
    return MakeCanonical(object);
  }

  json::Value Cells(const json::Value& object, std::string_view /*version*/,
                    Ages& ages) const override {
    apiserver::Cells cells;
    printer_(object, ages, cells);
    return cells.Take();
  }

  std::vector<api::ColumnInfo> Columns(std::string_view /*version*/) const override {
    return {info_.columns.begin(), info_.columns.end()};
  }

 private:
  const validation::Strategy& StrategyOf(std::string_view subresource) const {
    return validation::StrategyFor(info_.group, info_.kind, subresource);
  }

  // What strategies have cleared is written as Go writes it: empty structs stand, empty lists go.
  Status MakeCanonical(json::Value& object) const {
    if (storage_type_ == nullptr) return {};
    DRA_ASSIGN(object, api::Canonical(object, *storage_type_));
    for (const std::vector<std::string_view>& path : plain_lists_) {
      const json::Value& list = ValueAt(object, path);
      if (!list.IsArray() || !list.empty()) continue;
      json::Value* parent = &object;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) parent = &parent->Edit(path[i]);
      parent->Set(path.back(), nullptr);
    }
    return {};
  }

  BuiltInVersions versions_;
  Printer printer_;
  const api::TypeInfo* storage_type_;
  std::vector<std::vector<std::string_view>> plain_lists_;
};

}  // namespace

KindPtr MakeBuiltInKind(const api::KindInfo& info) { return std::make_shared<BuiltInKind>(info); }

KindTable::KindTable(const api::FeatureGates& gates) {
  for (const api::KindInfo& info : api::AllKinds()) {
    if (info.gate == api::Gate::kNone || gates.On(info.gate)) all_.push_back(MakeBuiltInKind(info));
  }
}

KindPtr KindTable::Find(std::string_view group, std::string_view version,
                        std::string_view plural) const {
  const KindPtr kind = Find(group, plural);
  return kind != nullptr && kind->info().FindVersion(version) != nullptr ? kind : nullptr;
}

KindPtr KindTable::Find(std::string_view group, std::string_view plural) const {
  for (const KindPtr& kind : all_) {
    if (kind->plural() == plural && kind->group() == group) return kind;
  }
  return nullptr;
}

KindPtr KindTable::FindByKind(std::string_view group, std::string_view name) const {
  for (const KindPtr& kind : all_) {
    if (kind->info().kind == name && kind->group() == group) return kind;
  }
  return nullptr;
}

void KindTable::Put(KindPtr kind) {
  Remove(kind->group(), kind->plural());
  const auto behind = std::ranges::find_if(all_, [&](const KindPtr& other) {
    return api::FindResource(other->group(), other->plural()) == nullptr &&
           other->group() > kind->group();
  });
  all_.insert(behind, std::move(kind));
}

void KindTable::Remove(std::string_view group, std::string_view plural) {
  std::erase_if(all_, [&](const KindPtr& kind) {
    return kind->group() == group && kind->plural() == plural;
  });
}

void KindTable::Restrict(const std::function<bool(const Kind&, std::string_view version)>& served) {
  // A kind of fewer versions and what it refers to.
  struct Restricted {
    api::KindInfo info;
    KindPtr kind;
  };
  for (KindPtr& kind : all_) {
    auto restricted = std::make_shared<Restricted>(Restricted{kind->info(), nullptr});
    std::erase_if(restricted->info.versions,
                  [&](const api::VersionInfo& version) { return !served(*kind, version.version); });
    if (restricted->info.versions.size() == kind->info().versions.size()) continue;
    restricted->kind = MakeBuiltInKind(restricted->info);
    kind = KindPtr(restricted, restricted->kind.get());
  }
  std::erase_if(all_, [](const KindPtr& kind) { return kind->info().versions.empty(); });
}

}  // namespace drachma::apiserver
