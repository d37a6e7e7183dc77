#include "apiserver/custom_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "api/types.h"
#include "apiserver/custom_shape.h"
#include "apiserver/human.h"
#include "apiserver/json_path.h"
#include "apiserver/printers.h"
#include "apiserver/schema_rules.h"
#include "apiserver/structural_schema.h"
#include "validation/object_meta.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kObjectMeta = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta";

struct CustomColumn {
  api::ColumnInfo info;
  JsonPath path;
};

// A served version of the definition.
struct CustomVersion {
  std::shared_ptr<const StructuralSchema> schema;
  std::shared_ptr<const SchemaRules> rules;  // null when it has none
  std::vector<CustomColumn> columns;
  bool has_status = false;
  std::optional<ScalePaths> scale;
};

// What the KindInfo of a custom kind points into. Deques keep their elements in place.
struct CustomInfo {
  std::deque<std::string> texts;
  std::vector<api::SubresourceInfo> subresources;
  api::KindInfo info = {};
  std::map<std::string, CustomVersion, std::less<>> versions;

  std::string_view Keep(std::string_view text) { return texts.emplace_back(text); }
};

// --- The strategy of custom resources (apiextensions' customresource strategy).

// Everything that counts for metadata.generation: all but metadata and, with a status subresource,
// status.
Value Counted(const Value& object, bool has_status) {
  Value counted = object;
  counted.Erase("metadata");
  if (has_status) counted.Erase("status");
  return counted;
}

void SetStatus(Value& object, const Value& from) {
  if (from.Has("status")) {
    object.Set("status", from["status"]);
  } else {
    object.Erase("status");
  }
}

void CountGeneration(Value& object, const Value& old, bool has_status) {
  const std::int64_t generation = old["metadata"]["generation"].AsInt();
  const bool changed = !(Counted(object, has_status) == Counted(old, has_status));
  object.Edit("metadata").Set("generation", generation + (changed ? 1 : 0));
}

void PrepareCreate(const validation::Context&, Value& object) {
  object.Edit("metadata").Set("generation", 1);
}
void PrepareCreateWithStatus(const validation::Context& context, Value& object) {
  object.Erase("status");
  PrepareCreate(context, object);
}
void PrepareUpdate(const validation::Context&, Value& object, const Value& old) {
  CountGeneration(object, old, false);
}
void PrepareUpdateWithStatus(const validation::Context&, Value& object, const Value& old) {
  SetStatus(object, old);
  CountGeneration(object, old, true);
}
void PrepareStatus(const validation::Context&, Value& object, const Value& old) {
  Value updated = old;
  SetStatus(updated, object);
  Value& meta = updated.Edit("metadata");
  for (const std::string_view kept : {"managedFields", "resourceVersion"}) {
    if (const Value* value = object["metadata"].Find(kept)) meta.Set(kept, *value);
  }
  object = std::move(updated);
}

template <validation::Scope scope>
validation::ErrorList ValidateMeta(const validation::Context&, const Value& object) {
  return validation::ValidateObjectMeta(object["metadata"], scope, validation::NameIsDnsSubdomain,
                                        "metadata");
}
validation::ErrorList ValidateMetaUpdate(const validation::Context&, const Value& object,
                                         const Value& old) {
  return validation::ValidateObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

bool NoUnconditionalUpdate(const validation::Context&) { return false; }

validation::Strategy StrategyOf(const api::KindInfo& info, std::string_view subresource,
                                bool has_status) {
  const bool namespaced = info.namespaced();
  validation::Strategy strategy{
      .group = info.group,
      .kind = info.kind,
      .subresource = subresource,
      .scope = namespaced ? validation::Scope::kNamespaced : validation::Scope::kCluster,
      .allow_unconditional_update = NoUnconditionalUpdate,
      .prepare_create = has_status ? PrepareCreateWithStatus : PrepareCreate,
      .prepare_update = has_status ? PrepareUpdateWithStatus : PrepareUpdate,
      .validate_create = namespaced ? ValidateMeta<validation::Scope::kNamespaced>
                                    : ValidateMeta<validation::Scope::kCluster>,
      .validate_update = ValidateMetaUpdate,
      .reset_fields = has_status ? "status" : ""};
  if (subresource == "status") {
    strategy.prepare_update = PrepareStatus;
    strategy.reset_fields = "metadata,spec";
  }
  return strategy;
}

// --- Reading the definition.

Result<std::vector<CustomColumn>> ReadColumns(const Value& columns, CustomInfo& info) {
  std::vector<CustomColumn> read;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view format,
                       std::string_view description, std::int64_t priority,
                       std::string_view path) -> Status {
    DRA_ASSIGN(JsonPath parsed, JsonPath::Parse(path));
    read.push_back(
        {.info = {.name = info.Keep(name),
                  .type = info.Keep(type),
                  .format = info.Keep(format),
                  .description = info.Keep(description),
                  .priority = static_cast<std::uint8_t>(std::min<std::int64_t>(priority, 255))},
         .path = std::move(parsed)});
    return {};
  };
  DRA_TRY(add("Name", "string", "name", "Name must be unique within a namespace.", 0,
              ".metadata.name"));
  if (columns.empty()) {
    DRA_TRY(
        add("Age", "date", "", "When the object was created.", 0, ".metadata.creationTimestamp"));
  }
  for (const Value& column : columns.Items()) {
    DRA_TRY(add(column["name"].AsString(), column["type"].AsString(), column["format"].AsString(),
                column["description"].AsString(), column["priority"].AsInt(),
                column["jsonPath"].AsString()));
  }
  return read;
}

std::optional<ScalePaths> ReadScale(const Value& scale) {
  if (!scale.IsObject()) return std::nullopt;
  ScalePaths paths{.spec_replicas = FieldPath(scale["specReplicasPath"].AsString()),
                   .status_replicas = FieldPath(scale["statusReplicasPath"].AsString()),
                   .label_selector = std::nullopt};
  const std::string_view selector = scale["labelSelectorPath"].AsString();
  if (!selector.empty()) paths.label_selector = FieldPath(selector);
  return paths;
}

Result<CustomVersion> ReadVersion(const Value& version, CustomInfo& info) {
  CustomVersion read;
  DRA_ASSIGN(read.schema, StructuralSchema::Parse(version["schema"]["openAPIV3Schema"]));
  read.rules = SchemaRules::Parse(read.schema->json());
  DRA_ASSIGN(read.columns, ReadColumns(version["additionalPrinterColumns"], info));
  read.has_status = version["subresources"].Has("status");
  read.scale = ReadScale(version["subresources"]["scale"]);
  return read;
}

void ReadNames(const Value& spec, CustomInfo& custom) {
  const Value& names = spec["names"];
  const auto keep = [&](std::string_view field) { return custom.Keep(names[field].AsString()); };
  api::KindInfo& info = custom.info;
  info.group = custom.Keep(spec["group"].AsString());
  info.kind = keep("kind");
  info.list_kind =
      names.Has("listKind") ? keep("listKind") : custom.Keep(fmt::format("{}List", info.kind));
  info.plural = keep("plural");
  std::string lower(info.kind);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  info.singular = names.Has("singular") ? keep("singular") : custom.Keep(lower);
  for (const Value& name : names["shortNames"].Items()) {
    info.short_names.push_back(custom.Keep(name.AsString()));
  }
  for (const Value& category : names["categories"].Items()) {
    info.categories.push_back(custom.Keep(category.AsString()));
  }
  info.scope =
      spec["scope"].AsString() == "Namespaced" ? api::Scope::kNamespaced : api::Scope::kCluster;
  info.verbs = api::kAllVerbs;
  info.storage_group = info.group;
  info.gate = api::Gate::kNone;
}

Result<std::unique_ptr<CustomInfo>> ReadDefinition(const Value& definition) {
  const Value& spec = definition["spec"];
  // Objects are not converted by webhooks: where definitions ask for it, the version that is stored
  // is served alone, which needs none.
  const bool only_stored = spec["conversion"]["strategy"].AsString() == "Webhook";
  auto custom = std::make_unique<CustomInfo>();
  ReadNames(spec, *custom);
  bool has_status = false;
  bool has_scale = false;
  for (const Value& version : spec["versions"].Items()) {
    const std::string_view name = custom->Keep(version["name"].AsString());
    if (version["storage"].AsBool()) custom->info.storage_version = name;
    if (!version["served"].AsBool()) continue;
    if (only_stored && !version["storage"].AsBool()) continue;
    DRA_ASSIGN(CustomVersion read, ReadVersion(version, *custom));
    has_status |= read.has_status;
    has_scale |= read.scale.has_value();
    custom->info.versions.push_back({.version = name, .type = nullptr});
    custom->versions.emplace(name, std::move(read));
  }
  if (custom->versions.empty()) return Fail(Code::kInvalid, "no version is served");
  custom->info.traits = api::kNoUnconditionalUpdate | api::kHasGeneration;
  const std::uint16_t verbs = api::kVerbGet | api::kVerbPatch | api::kVerbUpdate;
  if (has_scale) custom->subresources.push_back({"scale", "autoscaling/v1", "Scale", verbs});
  if (has_status) {
    custom->info.traits |= api::kHasStatus;
    custom->subresources.push_back({"status", "", "", verbs});
  }
  custom->info.subresources = custom->subresources;
  return custom;
}

// The cell of a column (apiextensions' tableconvertor).
Value CellOf(const CustomColumn& column, const Value& object, Ages& ages) {
  const std::vector<Value> found = column.path.Find(object);
  if (found.empty()) return nullptr;
  const Value& first = found.front();
  const std::string_view type = column.info.type;
  if (type == "integer")
    return first.IsNumber() ? Value(first.AsInt(static_cast<std::int64_t>(first.AsDouble())))
                            : Value();
  if (type == "number") return first.IsNumber() ? Value(first.AsDouble()) : Value();
  if (type == "boolean") return first.IsBool() ? first : Value();
  if (type == "date") return first.IsString() ? Value(AgeOf(first, ages)) : Value();
  std::string text;
  for (const Value& value : found) {
    if (!text.empty()) text += ",";
    text += value.IsString() ? std::string(value.AsString()) : json::Write(value);
  }
  return text;
}

// Base-from-member: the KindInfo must be there before Kind is made.
struct InfoHolder {
  explicit InfoHolder(std::unique_ptr<CustomInfo> held) : custom(std::move(held)) {}
  std::unique_ptr<CustomInfo> custom;
};

class DefinedKind final : private InfoHolder, public CustomKind, private KindVersions {
 public:
  explicit DefinedKind(std::unique_ptr<CustomInfo> custom)
      : InfoHolder(std::move(custom)), CustomKind(InfoHolder::custom->info) {
    const bool has_status = info_.Has(api::kHasStatus);
    for (const std::string_view subresource : {"", "status", "scale"}) {
      strategies_.emplace(subresource, StrategyOf(info_, subresource, has_status));
    }
  }

  Result<api::Decoded> Decode(const Value& object, std::string_view version,
                              api::StrictFields strict,
                              std::span<const json::DuplicateKey> duplicates) const override {
    if (!object.IsObject()) return BadInput("the object must be a JSON object");
    const CustomVersion& served = VersionOf(version);
    api::Decoded decoded{.value = object, .strict_errors = {}};
    const bool report = strict == api::StrictFields::kReport;
    std::vector<std::string> unknown;
    served.schema->Prune(decoded.value, report ? &unknown : nullptr);
    served.schema->PruneNulls(decoded.value);
    DRA_ASSIGN(api::Decoded meta,
               api::Decode(object["metadata"].IsNull() ? Value::Object() : object["metadata"],
                           *api::FindType(kObjectMeta), strict));
    decoded.value.Set("metadata", std::move(meta.value));
    if (!report) return decoded;
    for (const std::string& path : unknown) {
      decoded.strict_errors.push_back(fmt::format("unknown field \"{}\"", path));
    }
    for (const json::DuplicateKey& key : duplicates) {
      decoded.strict_errors.push_back(fmt::format("duplicate field \"{}\"", key.path));
    }
    return decoded;
  }

  void SetDefaults(std::string_view version, Time /*now*/, Value& object) const override {
    VersionOf(version).schema->SetDefaults(object);
  }

  Result<Value> Convert(Value object, std::string_view api_version) const override {
    object.Set("apiVersion", api_version);
    return object;
  }

  const KindVersions& versions() const override { return *this; }

  std::optional<Shape> ShapeOf(std::string_view api_version) const override {
    const auto found = custom->versions.find(api::SplitGroupVersion(api_version).version);
    if (found == custom->versions.end()) return std::nullopt;
    return ShapeOfCustomResource(found->second.schema->json());
  }
  Value Convert(const Value& object, std::string_view api_version) const override {
    Value converted = object;
    converted.Set("apiVersion", api_version);
    return converted;
  }

  Result<Value> StrategicMerge(Value /*object*/, const Value& /*patch*/,
                               std::string_view /*version*/) const override {
    return Fail(Code::kUnsupportedMediaType,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, "
                "application/apply-patch+yaml");
  }

  bool AllowsUnconditionalUpdate(const validation::Context& /*context*/) const override {
    return false;
  }
  std::string_view ResetFields(std::string_view subresource) const override {
    return StrategyFor(subresource).reset_fields;
  }

  Status BeforeCreate(const validation::Context& context, Value& object,
                      std::vector<std::string>* warnings) const override {
    DRA_TRY(validation::BeforeCreate(StrategyFor(context.subresource), context, object, warnings));
    return CheckSchema(context, object, nullptr, warnings);
  }
  Status BeforeUpdate(const validation::Context& context, Value& object, const Value& old,
                      std::vector<std::string>* warnings) const override {
    DRA_TRY(
        validation::BeforeUpdate(StrategyFor(context.subresource), context, object, old, warnings));
    return CheckSchema(context, object, old, warnings);
  }

  Value Cells(const Value& object, std::string_view version, Ages& ages) const override {
    apiserver::Cells cells;
    for (const CustomColumn& column : VersionOf(version).columns) {
      cells.Add(CellOf(column, object, ages));
    }
    return cells.Take();
  }
  std::vector<api::ColumnInfo> Columns(std::string_view version) const override {
    std::vector<api::ColumnInfo> columns;
    for (const CustomColumn& column : VersionOf(version).columns) columns.push_back(column.info);
    return columns;
  }

  const ScalePaths* Scale(std::string_view version) const override {
    const std::optional<ScalePaths>& scale = VersionOf(version).scale;
    return scale ? &*scale : nullptr;
  }
  const Value& SchemaOf(std::string_view version) const override {
    static const Value kNone;
    const auto found = custom->versions.find(version);
    return found == custom->versions.end() ? kNone : found->second.schema->json();
  }

 private:
  // The version, or the preferred one for versions that are not served any more.
  [[nodiscard]] const CustomVersion& VersionOf(std::string_view version) const {
    const auto found = custom->versions.find(version);
    return found != custom->versions.end()
               ? found->second
               : custom->versions.find(info_.versions.front().version)->second;
  }
  [[nodiscard]] const validation::Strategy& StrategyFor(std::string_view subresource) const {
    const auto found = strategies_.find(subresource);
    return found == strategies_.end() ? strategies_.begin()->second : found->second;
  }
  [[nodiscard]] Status CheckSchema(const validation::Context& context, const Value& object,
                                   const Value& old, std::vector<std::string>* warnings) const {
    const CustomVersion& version = VersionOf(context.version);
    const bool status = context.subresource == "status";
    validation::ErrorList errors = status ? version.schema->ValidateStatus(object, old)
                                          : version.schema->Validate(object, old);
    if (version.scale) {
      if (!status) validation::Append(errors, ScaleSpecErrors(*version.scale, object));
      validation::Append(errors, ScaleStatusErrors(*version.scale, object));
    }
    AddRuleErrors(version.rules.get(), object, old, errors, warnings);
    if (errors.empty()) return {};
    return std::unexpected(validation::InvalidObject(
        info_.group, info_.kind, object["metadata"]["name"].AsString(), errors));
  }

  std::map<std::string_view, validation::Strategy> strategies_;
};

}  // namespace

Result<std::shared_ptr<const CustomKind>> MakeCustomKind(const Value& definition) {
  DRA_ASSIGN(std::unique_ptr<CustomInfo> custom, ReadDefinition(definition));
  return std::make_shared<const DefinedKind>(std::move(custom));
}

}  // namespace drachma::apiserver
