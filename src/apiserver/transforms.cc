#include "apiserver/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/json_kind.h"
#include "api/unstructured.h"
#include "apiserver/go_print.h"
#include "apiserver/managed_fields.h"
#include "apiserver/patch_text.h"
#include "apiserver/status.h"
#include "json/json.h"
#include "validation/field_error.h"

namespace drachma::apiserver {
namespace {

// What the transforms keep of a request.
struct Writer {
  const Kind* kind;
  std::string version;
  std::string api_version;
  client::PatchType patch_type;
  Force force;
  FieldValidation validation;
  TrackCreates track_creates;
  std::string ns;
  std::string name;
  FieldWrite field_write;
};

// "status,metadata.generation" as a set of fields.
FieldSet ResetFieldsOf(std::string_view text) {
  FieldSet fields;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view path = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    std::vector<std::string> elements;
    while (!path.empty()) {
      const std::size_t dot = path.find('.');
      elements.push_back(FieldElement(path.substr(0, dot)));
      path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    fields.Insert(elements);
  }
  return fields;
}

Writer WriterOf(const Kind& kind, const ApiRequest& request, Time now) {
  const client::Request& call = request.call;
  const std::string api_version = kind.ApiVersion(call.resource.version);
  return {.kind = &kind,
          .version = call.resource.version,
          .api_version = api_version,
          .patch_type = call.patch,
          .force = call.force ? Force::kYes : Force::kNo,
          .validation = FieldValidationOf(call),
          .track_creates = request.track_creates,
          .ns = call.ns,
          .name = call.name,
          .field_write = {.manager = ManagerOf(request),
                          .api_version = api_version,
                          .subresource = call.subresource,
                          .time = FormatTime(now),
                          .reset_fields = ResetFieldsOf(kind.ResetFields(call.subresource))}};
}

void SetManagedFields(json::Value& object, json::Value fields) {
  if (fields.IsNull()) {
    if (object["metadata"].Has("managedFields")) object.Edit("metadata").Erase("managedFields");
    return;
  }
  object.Edit("metadata").Set("managedFields", std::move(fields));
}

Result<json::Value> ToStorage(const Writer& writer, json::Value object) {
  return writer.kind->Convert(std::move(object), writer.kind->storage_api_version());
}

// Follows the change from `existing` (storage version, null for none) to `object` (the writer's
// version) in the managed fields of `object`.
Status Follow(const Writer& writer, const json::Value& existing, json::Value& object) {
  const bool tracked =
      existing["metadata"].Has("managedFields") || object["metadata"].Has("managedFields");
  if (existing.IsObject() ? !tracked : writer.track_creates == TrackCreates::kNo) {
    SetManagedFields(object, nullptr);
    return {};
  }
  json::Value live;
  if (existing.IsObject()) {
    DRA_ASSIGN(live, writer.kind->Convert(existing, writer.api_version));
  }
  SetManagedFields(object, TrackUpdate(live, object, writer.field_write, writer.kind->versions()));
  return {};
}

}  // namespace

Transform CreateTransform(const Kind& kind, const ApiRequest& request, json::Value object,
                          Time now) {
  return [writer = WriterOf(kind, request, now),
          object = std::move(object)](const json::Value&) -> Result<json::Value> {
    json::Value created = object;
    DRA_TRY(Follow(writer, nullptr, created));
    return ToStorage(writer, std::move(created));
  };
}

Transform UpdateTransform(const Kind& kind, const ApiRequest& request, json::Value object,
                          Time now) {
  return [writer = WriterOf(kind, request, now),
          object = std::move(object)](const json::Value& existing) -> Result<json::Value> {
    json::Value updated = object;
    DRA_TRY(Follow(writer, existing, updated));
    return ToStorage(writer, std::move(updated));
  };
}

namespace {

// Named limit of JSON patches (upstream's maxJSONPatchOperations).
constexpr std::size_t kPatchOperationsMax = 10'000;

Error InvalidPatch(const std::string& shown, const std::string& why) {
  return validation::InvalidObject(
      "", "", "", {validation::Invalid("patch", validation::ShownText(shown), why)});
}

// The error of an operation that does not apply: clients get no details.
Error RejectedPatch() {
  return {.code = Code::kInvalid,
          .message = "the server rejected our request due to an error in our request"};
}

std::vector<std::string> PatchStrictErrors(const Writer& writer, const ParsedBody& patch) {
  std::vector<std::string> errors;
  for (const json::DuplicateKey& duplicate : patch.duplicates) {
    errors.push_back(fmt::format("{}duplicate field \"{}\"",
                                 writer.patch_type == client::PatchType::kJson ? "json patch " : "",
                                 duplicate.path));
  }
  if (writer.patch_type != client::PatchType::kJson) return errors;
  static constexpr std::string_view kFields[] = {"op", "path", "from", "value"};
  // A patch that is no array is refused later.
  const auto operations = patch.object.Items();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const json::Member& member : operations[i].Members()) {
      if (std::ranges::find(kFields, member.key()) == std::end(kFields)) {
        errors.push_back(fmt::format("json patch unknown field \"[{}].{}\"", i, member.key()));
      }
    }
  }
  return errors;
}

// JSON patches are read as operations before they are applied, strictly unless nobody wants to know
// of unknown fields.
Status CheckOperations(const Writer& writer, const json::Value& operations) {
  const bool strict = writer.validation != FieldValidation::kIgnore;
  const auto wrong = [&](const json::Value& value, std::string_view where) {
    return BadInput(fmt::format("{}json: cannot unmarshal {} into Go {}",
                                strict ? "error decoding patch: " : "", api::JsonKind(value),
                                where));
  };
  if (!operations.IsArray() && !operations.IsNull()) {
    return wrong(operations,
                 strict ? "value of type []handlers.jsonPatchOp" : "value of type jsonpatch.Patch");
  }
  for (const json::Value& operation : operations.Items()) {
    if (operation.IsNull()) continue;
    if (!operation.IsObject()) {
      return wrong(operation, strict ? "value of type handlers.jsonPatchOp"
                                     : "value of type jsonpatch.Operation");
    }
    if (!strict) continue;
    for (const char* field : {"op", "path", "from"}) {
      const json::Value& text = operation[field];
      if (text.IsString() || text.IsNull()) continue;
      return wrong(text, fmt::format("struct field jsonPatchOp.{} of type string", field));
    }
  }
  return {};
}

Result<json::Value> PatchedJson(const Writer& writer, const json::Value& versioned,
                                const ParsedBody& patch) {
  switch (writer.patch_type) {
    case client::PatchType::kJson: {
      DRA_TRY(CheckOperations(writer, patch.object));
      if (patch.object.size() > kPatchOperationsMax) {
        return Fail(Code::kTooLarge,
                    fmt::format("Request entity too large: The allowed maximum operations in a "
                                "JSON patch is {}, got {}",
                                kPatchOperationsMax, patch.object.size()));
      }
      Result<json::Value> patched = json::JsonPatch(versioned, patch.object);
      if (!patched && patched.error().code == Code::kInvalid) {
        return std::unexpected(RejectedPatch());
      }
      return patched;
    }
    case client::PatchType::kMerge:
      return json::MergePatch(versioned, patch.object);
    case client::PatchType::kStrategicMerge:
      return writer.kind->StrategicMerge(versioned, patch.object, writer.version);
    default:
      return Fail(Code::kUnsupportedMediaType, "415: Unsupported Media Type");
  }
}

// What the error of a patch that makes no object shows of it.
std::string ShownPatch(const Writer& writer, const json::Value& versioned, const ParsedBody& patch,
                       const json::Value& patched) {
  if (writer.patch_type == client::PatchType::kStrategicMerge) return GoText(patch.object);
  if (writer.patch_type == client::PatchType::kJson) return OperatedText(patched, patch.object);
  return MergedText(versioned, patch.object);
}

// An object as Go writes it: the stored one with its members in the order of the struct.
Result<json::Value> InOrder(const Writer& writer, json::Value object) {
  const api::VersionInfo* info = writer.kind->info().FindVersion(writer.version);
  if (info == nullptr || info->type == nullptr) return object;
  return api::Canonical(object, *info->type);
}

Result<api::Decoded> DecodePatched(const Writer& writer, json::Value& patched) {
  const std::string_view kind = writer.kind->info().kind;
  const auto strict = writer.validation == FieldValidation::kIgnore ? api::StrictFields::kIgnore
                                                                    : api::StrictFields::kReport;
  const api::VersionInfo* info = writer.kind->info().FindVersion(writer.version);
  if (writer.patch_type == client::PatchType::kStrategicMerge && info != nullptr &&
      info->type != nullptr) {
    // The map becomes the struct as it is; what it says of its type means nothing.
    DRA_ASSIGN(api::Decoded decoded, api::FromUnstructured(patched, *info->type, strict));
    decoded.value.Set("kind", kind);
    decoded.value.Set("apiVersion", writer.api_version);
    return decoded;
  }
  if (!patched.IsObject()) patched = json::Value::Object();
  for (const char* field : {"apiVersion", "kind"}) {
    const json::Value& text = patched[field];
    if (text.IsString() || text.IsNull()) continue;
    return BadInput(
        fmt::format("couldn't get version/kind; json parse error: json: cannot "
                    "unmarshal {} into Go struct field .{} of type string",
                    api::JsonKind(text), field));
  }
  if (patched["kind"].AsString().empty()) patched.Set("kind", kind);
  if (patched["apiVersion"].AsString().empty()) patched.Set("apiVersion", writer.api_version);
  if (patched["kind"].AsString() != kind ||
      patched["apiVersion"].AsString() != writer.api_version) {
    return BadInput(fmt::format(
        "no kind {} is registered for version \"{}\" in scheme "
        "\"pkg/runtime/scheme.go:111\"",
        validation::ShownText(patched["kind"].AsString()), patched["apiVersion"].AsString()));
  }
  return writer.kind->Decode(patched, writer.version, strict, {});
}

// The object that a patch makes of `versioned`.
Result<json::Value> Patched(const Writer& writer, const json::Value& versioned,
                            const ParsedBody& patch, Time now, std::vector<std::string>& warnings) {
  std::vector<std::string> strict;
  if (writer.validation != FieldValidation::kIgnore) strict = PatchStrictErrors(writer, patch);
  DRA_ASSIGN(json::Value patched, PatchedJson(writer, versioned, patch));
  DRA_TRY(CheckDepth(patched));
  json::Value read = patched;
  Result<api::Decoded> decoded = DecodePatched(writer, read);
  std::string problem = decoded ? std::string() : decoded.error().message;
  if (decoded) {
    if (decoded->strict_errors.size() > 1 &&
        writer.patch_type != client::PatchType::kStrategicMerge) {
      // They come in the order of the text that the patch makes.
      DRA_ASSIGN(const json::Value ordered, InOrder(writer, versioned));
      DRA_ASSIGN(json::Value text, json::Read(ShownPatch(writer, ordered, patch, patched)));
      if (auto again = DecodePatched(writer, text)) decoded->strict_errors = again->strict_errors;
    }
    strict.insert(strict.end(), decoded->strict_errors.begin(), decoded->strict_errors.end());
    if (!strict.empty() && writer.validation == FieldValidation::kStrict) {
      problem = api::StrictErrorText(strict);
    }
  }
  if (!problem.empty()) {
    DRA_ASSIGN(const json::Value ordered, InOrder(writer, versioned));
    if (writer.patch_type == client::PatchType::kJson) {
      DRA_ASSIGN(patched, PatchedJson(writer, ordered, patch));
    }
    return std::unexpected(InvalidPatch(ShownPatch(writer, ordered, patch, patched), problem));
  }
  if (writer.validation == FieldValidation::kWarn) {
    warnings.insert(warnings.end(), strict.begin(), strict.end());
  }
  writer.kind->SetDefaults(writer.version, now, decoded->value);
  return std::move(decoded->value);
}

std::string TypeText(std::string_view api_version, std::string_view kind) {
  if (std::ranges::count(api_version, '/') > 1) return "/, Kind=";
  return fmt::format("{}{}, Kind={}", api_version.contains('/') ? "" : "/", api_version, kind);
}

// The result of an apply as the struct of its kind.
Result<api::Decoded> DecodeApplied(const Writer& writer, const json::Value& applied,
                                   const json::Value& config) {
  const api::VersionInfo* info = writer.kind->info().FindVersion(writer.version);
  Result<api::Decoded> result =
      info != nullptr && info->type != nullptr
          ? api::FromUnstructured(applied, *info->type)
          : writer.kind->Decode(applied, writer.version, api::StrictFields::kIgnore, {});
  if (result) return result;
  const std::string shown = TypeText(writer.api_version, writer.kind->info().kind);
  return Fail(
      Code::kUnknown,
      fmt::format("failed to convert new object ({}/{}; {}) to proper version: unable "
                  "to convert unstructured object to {}: {}",
                  config["metadata"]["namespace"].AsString(), config["metadata"]["name"].AsString(),
                  shown, shown, result.error().message));
}

Result<json::Value> ApplyPatch(const Writer& writer, const json::Value& existing,
                               const ParsedBody& patch, Time now) {
  const json::Value& config = patch.object;
  const std::string_view kind = config["kind"].AsString();
  const std::string_view version = config["apiVersion"].AsString();
  if (kind != writer.kind->info().kind || version != writer.api_version) {
    return BadInput("invalid object type: " + TypeText(version, kind));
  }
  json::Value live = json::Value::Object(
      {{"kind", kind}, {"apiVersion", version}, {"metadata", json::Value::Object()}});
  if (existing.IsObject()) {
    DRA_ASSIGN(live, writer.kind->Convert(existing, writer.api_version));
  }
  FieldWrite write = writer.field_write;
  write.time = FormatTime(now);
  DRA_ASSIGN(Applied applied, Apply(live, config, write, writer.force, writer.kind->versions()));
  DRA_ASSIGN(api::Decoded decoded, DecodeApplied(writer, applied.object, config));
  writer.kind->SetDefaults(writer.version, now, decoded.value);
  SetManagedFields(decoded.value, std::move(applied.managed_fields));
  if (!existing.IsObject() && !decoded.value["metadata"]["uid"].AsString().empty()) {
    return std::unexpected(ConflictError(
        writer.kind->group(), writer.kind->plural(), writer.name,
        fmt::format("uid mismatch: the provided object specified uid {}, and no existing object "
                    "was found",
                    decoded.value["metadata"]["uid"].AsString())));
  }
  return std::move(decoded.value);
}

}  // namespace

Transform PatchTransform(const Kind& kind, const ApiRequest& request, ParsedBody patch,
                         std::function<Time()> now, std::vector<std::string>& warnings) {
  return [writer = WriterOf(kind, request, now()), patch = std::move(patch), now,
          &warnings](const json::Value& existing) -> Result<json::Value> {
    json::Value object;
    if (writer.patch_type == client::PatchType::kApply) {
      DRA_ASSIGN(object, ApplyPatch(writer, existing, patch, now()));
    } else {
      DRA_ASSIGN(const json::Value versioned, writer.kind->Convert(existing, writer.api_version));
      DRA_ASSIGN(object, Patched(writer, versioned, patch, now(), warnings));
      DRA_TRY(Follow(writer, existing, object));
    }
    DRA_TRY(MatchNamespace(*writer.kind, writer.ns, object));
    DRA_TRY(CheckName(object, writer.name));
    if (!existing.IsObject()) WipeSystemFields(object);
    DRA_ASSIGN(object, ToStorage(writer, std::move(object)));
    return object;
  };
}

void WipeSystemFields(json::Value& object) {
  const json::Value& metadata = object["metadata"];
  for (const char* field : {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                            "selfLink", "uid"}) {
    if (metadata.Has(field)) object.Edit("metadata").Erase(field);
  }
}

Status CheckName(const json::Value& object, const std::string& name) {
  const std::string_view given = object["metadata"]["name"].AsString();
  if (given.empty()) {
    return BadInput(fmt::format(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        name));
  }
  if (given != name) {
    return BadInput(fmt::format(
        "the name of the object ({}) does not match the name on the URL ({})", given, name));
  }
  return {};
}

void DedupOwnerReferences(json::Value& object, std::vector<std::string>& warnings) {
  const json::Value& references = object["metadata"]["ownerReferences"];
  if (references.size() < 2) return;
  json::Value kept = json::Value::Array();
  std::vector<std::string_view> repeated;
  for (const json::Value& reference : references.Items()) {
    const bool seen = std::ranges::any_of(
        kept.Items(), [&](const json::Value& other) { return other == reference; });
    if (!seen) {
      kept.Append(reference);
    } else if (std::ranges::find(repeated, reference["uid"].AsString()) == repeated.end()) {
      repeated.push_back(reference["uid"].AsString());
    }
  }
  if (repeated.empty()) return;
  warnings.push_back(fmt::format(
      ".metadata.ownerReferences contains duplicate entries; API server dedups owner references "
      "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
      "duplicate UID(s) observed: {}",
      fmt::join(repeated, ", ")));
  object.Edit("metadata").Set("ownerReferences", std::move(kept));
}

void KeepManagedFieldsTimes(json::Value& object, const json::Value& existing) {
  const json::Value& fields = object["metadata"]["managedFields"];
  const json::Value& before = existing["metadata"]["managedFields"];
  if (fields.IsNull() || before.IsNull() || fields == before || !SameButForTimes(fields, before)) {
    return;
  }
  json::Value same = object;
  same.Edit("metadata").Set("managedFields", before);
  if (same == existing) object = std::move(same);
}

bool DeletesItself(const Kind& kind, const json::Value& object, const json::Value& existing) {
  const json::Value& metadata = existing["metadata"];
  if (!metadata.Has("deletionTimestamp") || !object["metadata"]["finalizers"].empty()) return false;
  if (metadata["deletionGracePeriodSeconds"].AsInt() != 0) return false;
  const bool is_namespace = kind.group().empty() && kind.plural() == "namespaces";
  return !is_namespace || object["spec"]["finalizers"].empty();
}

json::Value OptionsOf(const ApiRequest& request, bool creates) {
  const client::Request& call = request.call;
  json::Value options = json::Value::Object(
      {{"kind", creates ? "CreateOptions" : "UpdateOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
  if (call.dry_run) options.Set("dryRun", json::Value::Array({"All"}));
  if (!call.field_manager.empty()) options.Set("fieldManager", call.field_manager);
  if (!call.field_validation.empty()) options.Set("fieldValidation", call.field_validation);
  return options;
}

}  // namespace drachma::apiserver
