#include "api/openapi.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/kinds.h"
#include "api/openapi_schema.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;

constexpr std::string_view kVersion = "v1.37.2";

// A group-version that is served, by the path of its document: "api/v1", "apis/apps/v1".
struct Document {
  std::string path;
  std::string_view group;
  std::string_view version;
};

std::vector<Document> Documents(const FeatureGates& gates) {
  std::vector<Document> documents;
  for (const GroupInfo& group : AllGroups()) {
    for (const std::string_view version : group.versions) {
      const bool served = std::ranges::any_of(AllKinds(), [&](const KindInfo& kind) {
        return kind.group == group.name && kind.FindVersion(version) != nullptr &&
               gates.On(kind.gate);
      });
      if (!served) continue;
      documents.push_back({group.name.empty() ? fmt::format("api/{}", version)
                                              : fmt::format("apis/{}/{}", group.name, version),
                           group.name, version});
    }
  }
  return documents;
}

// Changes whenever anything does that the documents are made of.
std::uint64_t Fnv(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return hash;
}

std::uint64_t TableHash() {
  static const std::uint64_t hash = [] {
    SchemaWriter writer(SchemaWriter::Version::kV3);
    for (const KindInfo& kind : AllKinds()) {
      for (const VersionInfo& version : kind.versions) writer.Add(*version.type);
    }
    return Fnv(json::Write(writer.Take()), 0xCBF29CE484222325ULL);
  }();
  return hash;
}

Value Gvk(std::string_view group, std::string_view version, std::string_view kind) {
  return Value::Object({{"group", group}, {"kind", kind}, {"version", version}});
}

Value Parameter(std::string_view name, std::string_view in, std::string_view description, bool v2) {
  Value parameter = Value::Object({{"name", name}, {"in", in}, {"description", description}});
  if (v2) {
    parameter.Set("type", "string");
  } else {
    parameter.Set("schema", Value::Object({{"type", "string"}, {"uniqueItems", true}}));
  }
  parameter.Set(in == "path" ? "required" : "uniqueItems", true);
  return parameter;
}

constexpr std::string_view kPatchTypes[] = {
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
};

// Writes the operations of one group-version.
class PathWriter {
 public:
  PathWriter(const Document& document, const SchemaWriter& schemas, bool v2)
      : document_(document), schemas_(schemas), v2_(v2) {}

  void AddResource(const KindInfo& kind, Value& paths) const {
    const TypeInfo& type = *kind.FindVersion(document_.version)->type;
    const Value gvk = Gvk(document_.group, document_.version, kind.kind);
    std::string list_path = "/" + document_.path;
    if (kind.namespaced()) {
      if ((kind.verbs & kVerbList) != 0) {
        paths.Set(fmt::format("{}/{}", list_path, kind.plural), ListPath(type, gvk, kVerbList));
      }
      list_path += "/namespaces/{namespace}";
    }
    list_path += fmt::format("/{}", kind.plural);
    paths.Set(list_path, ListPath(type, gvk, kind.verbs));
    const std::string item_path = list_path + "/{name}";
    if ((kind.verbs & kVerbGet) != 0) {
      paths.Set(item_path, ItemPath(type, gvk, kind.verbs));
    }
    for (const SubresourceInfo& sub : kind.subresources) {
      const std::string group_version = sub.group_version.empty()
                                            ? GroupVersion(document_.group, document_.version)
                                            : std::string(sub.group_version);
      const std::string_view sub_kind = sub.kind.empty() ? kind.kind : sub.kind;
      const TypeInfo* sub_type = FindTypeOfKind(group_version, sub_kind);
      if (sub_type == nullptr) continue;
      const auto [group, version] = SplitGroupVersion(group_version);
      Value item = ItemPath(*sub_type, Gvk(group, version, sub_kind), sub.verbs);
      if ((sub.verbs & kVerbCreate) != 0) {
        item.Set("post", Write("post", *sub_type, Gvk(group, version, sub_kind)));
      }
      paths.Set(fmt::format("{}/{}", item_path, sub.name), std::move(item));
    }
  }

 private:
  Value ListPath(const TypeInfo& type, const Value& gvk, std::uint16_t verbs) const {
    Value path = Value::Object();
    if ((verbs & kVerbList) != 0) path.Set("get", Operation("list", type, gvk));
    if ((verbs & kVerbCreate) != 0) path.Set("post", Write("post", type, gvk));
    if ((verbs & kVerbDeleteCollection) != 0) {
      path.Set("delete", Operation("deletecollection", type, gvk));
    }
    return path;
  }

  Value ItemPath(const TypeInfo& type, const Value& gvk, std::uint16_t verbs) const {
    Value path = Value::Object();
    if ((verbs & kVerbGet) != 0) path.Set("get", Operation("get", type, gvk));
    if ((verbs & kVerbUpdate) != 0) path.Set("put", Write("put", type, gvk));
    if ((verbs & kVerbPatch) != 0) path.Set("patch", Patch(type, gvk));
    if ((verbs & kVerbDelete) != 0) path.Set("delete", Operation("delete", type, gvk));
    path.Set("parameters", Value::Array({Parameter("name", "path", "Name of the object.", v2_)}));
    return path;
  }

  Value Operation(std::string_view action, const TypeInfo& type, const Value& gvk) const {
    Value answer = Value::Object({{"description", "OK"}});
    const Value schema = schemas_.Ref(OpenApiName(type.go_name));
    if (v2_) {
      answer.Set("schema", schema);
    } else {
      answer.Set("content",
                 Value::Object({{"application/json", Value::Object({{"schema", schema}})}}));
    }
    return Value::Object({{"responses", Value::Object({{"200", std::move(answer)}})},
                          {"x-kubernetes-action", action},
                          {"x-kubernetes-group-version-kind", gvk}});
  }

  Value QueryParameters() const {
    return Value::Array({
        Parameter("dryRun", "query", "All: nothing is stored.", v2_),
        Parameter("fieldManager", "query", "Who makes the change.", v2_),
        Parameter("fieldValidation", "query", "Strict, Warn or Ignore: unknown fields.", v2_),
    });
  }

  Value Write(std::string_view action, const TypeInfo& type, const Value& gvk) const {
    Value operation = Operation(action, type, gvk);
    operation.Set("parameters", QueryParameters());
    SetBody(operation, schemas_.Ref(OpenApiName(type.go_name)),
            std::span<const std::string_view>(kJson));
    return operation;
  }

  Value Patch(const TypeInfo& type, const Value& gvk) const {
    Value operation = Operation("patch", type, gvk);
    operation.Set("parameters", QueryParameters());
    SetBody(operation, Value::Object({{"type", "object"}}), kPatchTypes);
    return operation;
  }

  void SetBody(Value& operation, const Value& schema,
               std::span<const std::string_view> types) const {
    if (v2_) {
      Value consumes = Value::Array();
      for (const std::string_view type : types) consumes.Append(Value(type));
      operation.Set("consumes", std::move(consumes));
      operation.Edit("parameters")
          .Append(Value::Object(
              {{"name", "body"}, {"in", "body"}, {"required", true}, {"schema", schema}}));
      return;
    }
    Value content = Value::Object();
    for (const std::string_view type : types) {
      content.Set(type, Value::Object({{"schema", schema}}));
    }
    operation.Set("requestBody", Value::Object({{"content", std::move(content)}}));
  }

  static constexpr std::string_view kJson[] = {"application/json"};
  const Document& document_;
  const SchemaWriter& schemas_;
  const bool v2_;
};

// Adds the schemas of a group-version's kinds: objects, lists and what subresources speak.
void AddSchemas(const Document& document, const FeatureGates& gates, SchemaWriter& schemas) {
  const std::string group_version = GroupVersion(document.group, document.version);
  const auto add = [&](std::string_view kind) {
    const TypeInfo* type = FindTypeOfKind(group_version, kind);
    if (type != nullptr) schemas.AddKind(*type, document.group, document.version, kind);
  };
  for (const KindInfo& kind : AllKinds()) {
    if (kind.group != document.group || !gates.On(kind.gate)) continue;
    if (kind.FindVersion(document.version) == nullptr) continue;
    add(kind.kind);
    if (!kind.list_kind.empty()) add(kind.list_kind);
    for (const SubresourceInfo& sub : kind.subresources) {
      if (sub.kind.empty()) continue;
      if (sub.group_version.empty()) {
        add(sub.kind);
        continue;
      }
      const auto [group, version] = SplitGroupVersion(sub.group_version);
      if (const TypeInfo* type = FindTypeOfKind(sub.group_version, sub.kind)) {
        schemas.AddKind(*type, group, version, sub.kind);
      }
    }
  }
  add("DeleteOptions");
}

void AddPaths(const Document& document, const FeatureGates& gates, const SchemaWriter& schemas,
              bool v2, Value& paths) {
  const PathWriter writer(document, schemas, v2);
  for (const KindInfo& kind : AllKinds()) {
    if (kind.group == document.group && gates.On(kind.gate) &&
        kind.FindVersion(document.version) != nullptr) {
      writer.AddResource(kind, paths);
    }
  }
}

Value Info() { return Value::Object({{"title", "Kubernetes"}, {"version", kVersion}}); }

Value SortedByKey(const Value& object) {
  std::vector<const json::Member*> members;
  for (const json::Member& member : object.Members()) members.push_back(&member);
  std::ranges::sort(members, {}, [](const json::Member* member) { return member->key(); });
  Value sorted = Value::Object();
  sorted.Reserve(members.size());
  for (const json::Member* member : members) sorted.SetByKey(member->key_value, member->value);
  return sorted;
}

}  // namespace

std::vector<OpenApiEntry> OpenApiIndex(const FeatureGates& gates) {
  std::string on;
  for (const GateInfo& gate : AllGates()) on += gates.On(gate.gate) ? '1' : '0';
  std::vector<OpenApiEntry> entries;
  for (const Document& document : Documents(gates)) {
    const std::uint64_t first = Fnv(document.path, Fnv(on, TableHash()));
    const std::uint64_t second = Fnv(kVersion, first);
    entries.push_back({document.path, fmt::format("{:016X}{:016X}", first, second)});
  }
  return entries;
}

Value OpenApiDocument(std::string_view path, const FeatureGates& gates) {
  for (const Document& document : Documents(gates)) {
    if (document.path != path) continue;
    SchemaWriter schemas(SchemaWriter::Version::kV3);
    AddSchemas(document, gates, schemas);
    Value paths = Value::Object();
    AddPaths(document, gates, schemas, false, paths);
    return Value::Object(
        {{"openapi", "3.0.0"},
         {"info", Info()},
         {"paths", SortedByKey(paths)},
         {"components", Value::Object({{"schemas", SortedByKey(schemas.Take())}})}});
  }
  return {};
}

Value OpenApiV2(const FeatureGates& gates) {
  SchemaWriter schemas(SchemaWriter::Version::kV2);
  Value paths = Value::Object();
  for (const Document& document : Documents(gates)) {
    AddSchemas(document, gates, schemas);
    AddPaths(document, gates, schemas, true, paths);
  }
  return Value::Object({{"swagger", "2.0"},
                        {"info", Info()},
                        {"paths", SortedByKey(paths)},
                        {"definitions", SortedByKey(schemas.Take())}});
}

}  // namespace drachma::api
