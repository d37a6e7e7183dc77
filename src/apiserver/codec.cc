#include "apiserver/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/protobuf.h"
#include "api/types.h"
#include "json/depth.h"
#include "json/yaml.h"

namespace drachma::apiserver {

FieldValidation FieldValidationOf(const client::Request& call) {
  if (call.field_validation == "Strict") return FieldValidation::kStrict;
  if (call.field_validation == "Ignore") return FieldValidation::kIgnore;
  return FieldValidation::kWarn;
}

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

Error UnsupportedBody() {
  return {.code = Code::kUnsupportedMediaType,
          .message =
              "the body of the request was in an unknown format - accepted media types "
              "include: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf"};
}

// What upstream shows of a body that it cannot make out (summarizeData).
std::string Summary(std::string_view body) {
  if (body.empty()) return "<empty>";
  const bool more = body.size() > kBodySummaryBytes;
  const std::string_view shown = body.substr(0, kBodySummaryBytes);
  if (body[0] == '{') return fmt::format("{}{}", shown, more ? " ..." : "");
  std::string hex;
  for (const unsigned char c : shown) hex += fmt::format("{:02x}", c);
  return hex + (more ? " ..." : "");
}

std::unexpected<Error> Unrecognized(const ExpectedKind& expected, std::string_view why,
                                    std::string_view body) {
  return BadInput(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                              expected.kind, why, Summary(body)));
}

std::string_view VersionOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
}

std::string CannotBeHandled(std::string_view kind, std::string_view api_version,
                            const ExpectedKind& expected, std::string_view why) {
  return fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind,
                     VersionOf(api_version), expected.kind, why);
}

// Upstream's internal package of a group: "resource" for resource.k8s.io, "core" for "".
std::string_view InternalPackage(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return "core";
  const std::string_view group = api_version.substr(0, slash);
  return group.substr(0, group.find('.'));
}

const char* GoTypeName(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::kBool:
      return "bool";
    case json::Kind::kInt:
    case json::Kind::kDouble:
      return "number";
    case json::Kind::kString:
      return "string";
    case json::Kind::kArray:
      return "array";
    default:
      return "object";
  }
}

// What Go's decoder says of a body whose apiVersion or kind is no string.
std::string TypeMetaProblem(const json::Value& body) {
  constexpr std::string_view kStruct =
      "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
      "\"json:\\\"kind,omitempty\\\"\" }";
  if (body.IsNull()) return {};
  if (!body.IsObject()) {
    return fmt::format("json: cannot unmarshal {} into Go value of type {}", GoTypeName(body),
                       kStruct);
  }
  for (const char* field : {"apiVersion", "kind"}) {
    const json::Value& value = body[field];
    if (!value.IsString() && !value.IsNull()) {
      return fmt::format("json: cannot unmarshal {} into Go struct field .{} of type string",
                         GoTypeName(value), field);
    }
  }
  return {};
}

Result<ParsedBody> ParseText(std::string_view body, bool yaml, const ExpectedKind& expected) {
  ParsedBody parsed;
  const json::ReadOptions options{.duplicates = &parsed.duplicates};
  Result<json::Value> value = yaml ? json::ReadYamlValue(body, options) : json::Read(body, options);
  if (!value) {
    const std::string why =
        yaml ? value.error().message
             : "couldn't get version/kind; json parse error: " + value.error().message;
    return Unrecognized(expected, why, body);
  }
  if (const std::string problem = TypeMetaProblem(*value); !problem.empty()) {
    return Unrecognized(expected, "couldn't get version/kind; json parse error: " + problem, body);
  }
  parsed.object = std::move(*value);
  return parsed;
}

void FillTypeMeta(json::Value& object, const ExpectedKind& expected) {
  if (!object.IsObject()) object = json::Value::Object();
  if (object["kind"].AsString().empty()) object.Set("kind", expected.kind);
  if (object["apiVersion"].AsString().empty()) object.Set("apiVersion", expected.api_version);
}

}  // namespace

Status CheckDepth(const json::Value& value) {
  if (!json::NestsDeeperThan(value, kObjectDepthMax)) return {};
  return BadInput(fmt::format("the object nests deeper than {} levels", kObjectDepthMax));
}

Result<ParsedBody> ParseBody(ApiRequest& request, const ExpectedKind& expected) {
  ParsedBody parsed;
  if (!request.raw_body) {
    parsed.object = std::move(request.call.body);
  } else if (request.content_type.empty() || request.content_type == kJson) {
    DRA_ASSIGN(parsed, ParseText(*request.raw_body, false, expected));
  } else if (request.content_type == kYaml) {
    DRA_ASSIGN(parsed, ParseText(*request.raw_body, true, expected));
  } else if (request.content_type == kProtobuf) {
    Result<json::Value> object =
        api::DecodeProtobuf(*request.raw_body, expected.api_version, expected.kind);
    if (!object) return Unrecognized(expected, object.error().message, *request.raw_body);
    parsed.object = std::move(*object);
  } else {
    return std::unexpected(UnsupportedBody());
  }
  DRA_TRY(CheckDepth(parsed.object));
  FillTypeMeta(parsed.object, expected);
  return parsed;
}

Status CheckKind(const json::Value& object, const ExpectedKind& expected) {
  const std::string_view kind = object["kind"].AsString();
  const std::string_view version = object["apiVersion"].AsString();
  if (kind == expected.kind && version == expected.api_version) return {};
  const bool list = kind.ends_with("List") &&
                    api::FindTypeOfKind(version, kind.substr(0, kind.size() - 4)) != nullptr;
  if (api::FindTypeOfKind(version, kind) == nullptr && !list) {
    return BadInput(
        CannotBeHandled(kind, version, expected,
                        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme "
                                    "\"pkg/runtime/scheme.go:111\"",
                                    kind, version)));
  }
  if (kind == expected.kind) {
    return BadInput(
        fmt::format("the API version in the data ({}) does not match the expected API version "
                    "({})",
                    version, expected.api_version));
  }
  return BadInput(CannotBeHandled(
      kind, version, expected,
      fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", VersionOf(version), kind,
                  InternalPackage(expected.api_version), expected.kind)));
}

namespace {

Status ReportStrictErrors(const std::vector<std::string>& errors, FieldValidation mode,
                          const ExpectedKind& expected, std::vector<std::string>& warnings) {
  if (errors.empty() || mode == FieldValidation::kIgnore) return {};
  if (mode == FieldValidation::kWarn) {
    warnings.insert(warnings.end(), errors.begin(), errors.end());
    return {};
  }
  return BadInput(
      CannotBeHandled(expected.kind, expected.api_version, expected, api::StrictErrorText(errors)));
}

// The YAML reader reports repeated keys itself, by line; JSON's are reported by the decoder.
std::vector<std::string> TakeYamlDuplicates(std::vector<json::DuplicateKey>& duplicates) {
  std::vector<std::string> texts;
  for (const json::DuplicateKey& duplicate : duplicates) {
    if (duplicate.line > 0) {
      texts.push_back(
          fmt::format("line {}: key \"{}\" already set in map", duplicate.line, duplicate.key));
    }
  }
  if (!texts.empty()) duplicates.clear();
  return texts;
}

Error DecodeError(Error error, const ExpectedKind& expected) {
  error.message = CannotBeHandled(expected.kind, expected.api_version, expected, error.message);
  return error;
}

api::StrictFields StrictnessOf(FieldValidation mode) {
  return mode == FieldValidation::kIgnore ? api::StrictFields::kIgnore : api::StrictFields::kReport;
}

}  // namespace

Result<json::Value> ReadObject(const Kind& kind, ApiRequest& request, Time now,
                               std::vector<std::string>& warnings) {
  const std::string& version = request.call.resource.version;
  const ExpectedKind expected{.api_version = kind.ApiVersion(version),
                              .kind = std::string(kind.info().kind)};
  DRA_ASSIGN(ParsedBody body, ParseBody(request, expected));
  DRA_TRY(CheckKind(body.object, expected));
  const FieldValidation mode = FieldValidationOf(request.call);
  std::vector<std::string> strict = TakeYamlDuplicates(body.duplicates);
  Result<api::Decoded> decoded =
      kind.Decode(body.object, version, StrictnessOf(mode), body.duplicates);
  if (!decoded) return std::unexpected(DecodeError(std::move(decoded.error()), expected));
  strict.insert(strict.end(), decoded->strict_errors.begin(), decoded->strict_errors.end());
  DRA_TRY(ReportStrictErrors(strict, mode, expected, warnings));
  request.call.body = std::move(body.object);  // validation looks at what was written
  kind.SetDefaults(version, now, decoded->value);
  return std::move(decoded->value);
}

Result<json::Value> ReadOther(const ExpectedKind& expected, ApiRequest& request,
                              std::vector<std::string>& warnings) {
  DRA_ASSIGN(ParsedBody body, ParseBody(request, expected));
  const std::string_view version = body.object["apiVersion"].AsString();
  const std::string_view kind = body.object["kind"].AsString();
  const api::TypeInfo* type = api::FindTypeOfKind(version, kind);
  if (kind != expected.kind || type == nullptr) {
    DRA_TRY(CheckKind(body.object, expected));
    type = api::FindTypeOfKind(expected.api_version, expected.kind);
  }
  if (type == nullptr) return std::move(body.object);
  const FieldValidation mode = FieldValidationOf(request.call);
  Result<api::Decoded> decoded =
      api::Decode(body.object, *type, StrictnessOf(mode), body.duplicates);
  if (!decoded) return std::unexpected(DecodeError(std::move(decoded.error()), expected));
  DRA_TRY(ReportStrictErrors(decoded->strict_errors, mode, expected, warnings));
  return std::move(decoded->value);
}

Result<json::Value> ReadDeleteOptionsBody(ApiRequest& request) {
  const bool has_body =
      request.raw_body ? !request.raw_body->empty() : request.call.body.IsObject();
  json::Value options =
      request.delete_options.IsObject() ? request.delete_options : json::Value::Object();
  if (has_body) {
    const ExpectedKind expected{.api_version = "v1", .kind = "DeleteOptions"};
    DRA_ASSIGN(ParsedBody body, ParseBody(request, expected));
    const std::string_view kind = body.object["kind"].AsString();
    const std::string_view version = body.object["apiVersion"].AsString();
    if (kind != "DeleteOptions") {
      if (api::FindTypeOfKind(version, kind) != nullptr) {
        return BadInput("decoded object cannot be converted to DeleteOptions");
      }
      return BadInput(
          fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme "
                      "\"pkg/runtime/scheme.go:111\"",
                      kind, version));
    }
    const api::TypeInfo* type = api::FindTypeOfKind("v1", "DeleteOptions");
    if (type != nullptr) {
      DRA_ASSIGN(options, api::Canonical(body.object, *type));
    } else {
      options = std::move(body.object);
    }
  } else if (request.call.dry_run) {
    options.Set("dryRun", json::Value::Array({"All"}));
  }
  DRA_TRY(CheckDeleteOptions(options));
  return options;
}

namespace {

Result<ParsedBody> ParseApplyPatch(std::string_view body) {
  ParsedBody parsed;
  Result<json::Value> value = json::ReadYamlValue(body, {.duplicates = &parsed.duplicates});
  if (!value) return BadInput("error encoding patch: " + value.error().message);
  if (!value->IsObject() && !value->IsNull()) {
    return BadInput(fmt::format(
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot "
        "unmarshal {} into Go value of type map[string]interface {{}}",
        GoTypeName(*value)));
  }
  parsed.object = value->IsNull() ? json::Value::Object() : std::move(*value);
  return parsed;
}

}  // namespace

Result<ParsedBody> ParsePatch(ApiRequest& request) {
  ParsedBody parsed;
  if (!request.raw_body) {
    parsed.object = std::move(request.call.body);
    return parsed;
  }
  if (request.call.patch == client::PatchType::kApply) return ParseApplyPatch(*request.raw_body);
  Result<json::Value> value = json::Read(*request.raw_body, {.duplicates = &parsed.duplicates});
  if (!value) return BadInput("invalid JSON patch");
  DRA_TRY(CheckDepth(*value));
  parsed.object = std::move(*value);
  switch (request.call.patch) {
    case client::PatchType::kMerge:
      if (parsed.object.IsNull()) return BadInput("Invalid JSON Patch");
      if (!parsed.object.IsObject()) {
        return BadInput(
            fmt::format("error decoding patch: json: cannot unmarshal {} into Go "
                        "value of type map[string]interface {{}}",
                        GoTypeName(parsed.object)));
      }
      return parsed;
    case client::PatchType::kStrategicMerge:
      if (!parsed.object.IsObject() && !parsed.object.IsNull()) {
        return BadInput(
            fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                        GoTypeName(parsed.object)));
      }
      return parsed;
    default:
      return parsed;
  }
}

}  // namespace drachma::apiserver
