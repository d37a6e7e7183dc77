#include "apiserver/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/json_kind.h"
#include "api/protobuf.h"
#include "api/types.h"
#include "json/depth.h"
#include "json/yaml.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

bool IsJson(std::string_view content_type) {
  return content_type.empty() || content_type == "application/json";
}

FieldValidation FieldValidationOf(const client::Request& call) {
  if (call.field_validation == "Strict") return FieldValidation::kStrict;
  if (call.field_validation == "Ignore") return FieldValidation::kIgnore;
  return FieldValidation::kWarn;
}

namespace {

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

// schema.GroupVersion as text: a slash stands only behind a group.
std::string_view GroupVersionText(std::string_view api_version) {
  return api_version.starts_with('/') ? api_version.substr(1) : api_version;
}

std::string NotRegistered(std::string_view kind, std::string_view api_version) {
  return fmt::format(
      "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
      validation::ShownText(kind), validation::ShownText(GroupVersionText(api_version)));
}

std::string CannotBeHandled(std::string_view kind, std::string_view api_version,
                            const ExpectedKind& expected, std::string_view why) {
  return fmt::format("{} in version {} cannot be handled as a {}: {}", kind,
                     validation::ShownText(VersionOf(api_version)), expected.kind, why);
}

// Upstream's internal package of a group: "resource" for resource.k8s.io, "core" for "".
std::string_view InternalPackage(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return "core";
  const std::string_view group = api_version.substr(0, slash);
  return group.substr(0, group.find('.'));
}

// What Go's decoder says of a body whose apiVersion or kind is no string.
std::string TypeMetaProblem(const json::Value& body) {
  constexpr std::string_view kStruct =
      "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
      "\"json:\\\"kind,omitempty\\\"\" }";
  if (body.IsNull()) return {};
  if (!body.IsObject()) {
    return fmt::format("json: cannot unmarshal {} into Go value of type {}", api::JsonKind(body),
                       kStruct);
  }
  for (const char* field : {"apiVersion", "kind"}) {
    const json::Value& value = body[field];
    if (!value.IsString() && !value.IsNull()) {
      return fmt::format("json: cannot unmarshal {} into Go struct field .{} of type string",
                         api::JsonKind(value), field);
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
  const std::string_view api_version = (*value)["apiVersion"].AsString();
  if (std::ranges::count(api_version, '/') > 1) {
    return Unrecognized(expected, fmt::format("unexpected GroupVersion string: {}", api_version),
                        body);
  }
  parsed.object = std::move(*value);
  return parsed;
}

void FillTypeMeta(json::Value& object, const ExpectedKind& expected) {
  if (!object.IsObject()) object = json::Value::Object();
  if (object["kind"].AsString().empty()) object.Set("kind", expected.kind);
  // "/" is no version at all, and one without its last part is the expected one of that group.
  const std::string_view version = object["apiVersion"].AsString();
  const bool in_group =
      version.size() > 1 && version.ends_with('/') && expected.api_version.starts_with(version);
  if (version.empty() || version == "/" || in_group) {
    object.Set("apiVersion", expected.api_version);
  }
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
  } else if (IsJson(request.content_type)) {
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

namespace {

bool IsKnown(std::string_view version, std::string_view kind) {
  if (api::FindTypeOfKind(GroupVersionText(version), kind) != nullptr) return true;
  return kind.ends_with("List") &&
         api::FindTypeOfKind(version, kind.substr(0, kind.size() - 4)) != nullptr;
}

Error UnknownConversion(std::string_view kind, std::string_view version,
                        const ExpectedKind& expected) {
  const api::TypeInfo* type = api::FindTypeOfKind(version, kind);
  const std::string name = type != nullptr ? std::string(type->ShortName())
                                           : fmt::format("{}.{}", VersionOf(version), kind);
  return BadInput(
             CannotBeHandled(kind, version, expected,
                             fmt::format("converting ({}) to ({}.{}): unknown conversion", name,
                                         InternalPackage(expected.api_version), expected.kind)))
      .error();
}

// Bodies of another version of the same kind are read in that version before they are refused.
Error OtherVersion(std::string_view version, const ExpectedKind& expected) {
  return BadInput(fmt::format("the API version in the data ({}) does not match the expected API "
                              "version ({})",
                              version, expected.api_version))
      .error();
}

}  // namespace

Status CheckKind(const json::Value& object, const ExpectedKind& expected, std::string_view sent) {
  const std::string_view kind = object["kind"].AsString();
  const std::string_view version = object["apiVersion"].AsString();
  if (kind == expected.kind && version == expected.api_version) return {};
  if (VersionOf(version).empty()) {
    return BadInput(CannotBeHandled(kind, version, expected,
                                    fmt::format("Object 'apiVersion' is missing in '{}'", sent)));
  }
  if (!IsKnown(version, kind)) {
    return BadInput(CannotBeHandled(kind, version, expected, NotRegistered(kind, version)));
  }
  if (kind == expected.kind) return std::unexpected(OtherVersion(version, expected));
  return std::unexpected(UnknownConversion(kind, version, expected));
}

namespace {

Status ReportStrictErrors(const std::vector<std::string>& errors, FieldValidation mode,
                          const json::Value& body, const ExpectedKind& expected,
                          std::vector<std::string>& warnings) {
  if (errors.empty() || mode == FieldValidation::kIgnore) return {};
  if (mode == FieldValidation::kWarn) {
    warnings.insert(warnings.end(), errors.begin(), errors.end());
    return {};
  }
  return BadInput(CannotBeHandled(body["kind"].AsString(), body["apiVersion"].AsString(), expected,
                                  api::StrictErrorText(errors)));
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

Error DecodeError(Error error, const json::Value& body, const ExpectedKind& expected) {
  error.message = CannotBeHandled(body["kind"].AsString(), body["apiVersion"].AsString(), expected,
                                  error.message);
  return error;
}

std::string_view SentText(const ApiRequest& request) {
  return IsJson(request.content_type) && request.raw_body ? *request.raw_body : std::string_view();
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
  const std::string_view sent = SentText(request);
  const FieldValidation mode = FieldValidationOf(request.call);
  const bool as_expected = body.object["kind"].AsString() == expected.kind &&
                           body.object["apiVersion"].AsString() == expected.api_version;
  const api::VersionInfo* info = kind.info().FindVersion(version);
  const api::TypeInfo* type = info == nullptr ? nullptr : info->type;
  // Built-in kinds are read as what they say they are, before that is held against the request.
  if (!as_expected && type != nullptr) {
    type = api::FindTypeOfKind(GroupVersionText(body.object["apiVersion"].AsString()),
                               body.object["kind"].AsString());
  }
  if (!as_expected && type == nullptr) DRA_TRY(CheckKind(body.object, expected, sent));
  std::vector<std::string> strict = TakeYamlDuplicates(body.duplicates);
  Result<api::Decoded> decoded =
      type != nullptr ? api::Decode(body.object, *type, StrictnessOf(mode), body.duplicates, sent)
                      : kind.Decode(body.object, version, StrictnessOf(mode), body.duplicates);
  if (!decoded)
    return std::unexpected(DecodeError(std::move(decoded.error()), body.object, expected));
  if (body.object["kind"].AsString() != expected.kind) {
    DRA_TRY(CheckKind(body.object, expected, sent));
  }
  strict.insert(strict.end(), decoded->strict_errors.begin(), decoded->strict_errors.end());
  DRA_TRY(ReportStrictErrors(strict, mode, body.object, expected, warnings));
  if (!as_expected) DRA_TRY(CheckKind(body.object, expected, sent));
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
    DRA_TRY(CheckKind(body.object, expected, SentText(request)));
    type = api::FindTypeOfKind(expected.api_version, expected.kind);
  }
  if (type == nullptr) return std::move(body.object);
  const FieldValidation mode = FieldValidationOf(request.call);
  Result<api::Decoded> decoded =
      api::Decode(body.object, *type, StrictnessOf(mode), body.duplicates, SentText(request));
  if (!decoded)
    return std::unexpected(DecodeError(std::move(decoded.error()), body.object, expected));
  DRA_TRY(ReportStrictErrors(decoded->strict_errors, mode, body.object, expected, warnings));
  return std::move(decoded->value);
}

namespace {

// What is wrong with a body without saying what it should have been and how it begins.
Error PlainError(Error error, const ExpectedKind& expected) {
  const std::string before =
      fmt::format("the object provided is unrecognized (must be of type {}): ", expected.kind);
  if (error.message.starts_with(before)) {
    error.message = error.message.substr(before.size(), error.message.rfind(" (") - before.size());
  }
  return error;
}

}  // namespace

Result<json::Value> ReadDeleteOptionsBody(ApiRequest& request) {
  const bool has_body =
      request.raw_body ? !request.raw_body->empty() : request.call.body.IsObject();
  json::Value options =
      request.delete_options.IsObject() ? request.delete_options : json::Value::Object();
  if (has_body) {
    const ExpectedKind expected{.api_version = "v1", .kind = "DeleteOptions"};
    Result<ParsedBody> parsed = ParseBody(request, expected);
    if (!parsed) return std::unexpected(PlainError(std::move(parsed.error()), expected));
    const ParsedBody& body = *parsed;
    const std::string_view kind = body.object["kind"].AsString();
    if (kind != "DeleteOptions") {
      return BadInput(NotRegistered(kind, body.object["apiVersion"].AsString()));
    }
    const api::TypeInfo* type = api::FindTypeOfKind("v1", "DeleteOptions");
    if (type != nullptr) {
      DRA_ASSIGN(options, api::Canonical(body.object, *type));
    } else {
      options = body.object;
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
  if (!value) {
    // JSON goes as it is to the decoder; YAML is turned to JSON before.
    const bool json = body.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                      body[body.find_first_not_of(" \t\r\n")] == '{';
    return BadInput((json ? "error decoding patch: error converting YAML to JSON: "
                          : "error encoding patch: ") +
                    value.error().message);
  }
  if (!value->IsObject() && !value->IsNull()) {
    return BadInput(fmt::format(
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot "
        "unmarshal {} into Go value of type map[string]interface {{}}",
        api::JsonKind(*value)));
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
  if (!value) return BadInput(kNoJsonPatch);
  DRA_TRY(CheckDepth(*value));
  parsed.object = std::move(*value);
  switch (request.call.patch) {
    case client::PatchType::kMerge:
      if (parsed.object.IsNull()) return BadInput("Invalid JSON Patch");
      if (!parsed.object.IsObject()) {
        return BadInput(
            fmt::format("error decoding patch: json: cannot unmarshal {} into Go "
                        "value of type map[string]interface {{}}",
                        api::JsonKind(parsed.object)));
      }
      return parsed;
    case client::PatchType::kStrategicMerge:
      if (!parsed.object.IsObject() && !parsed.object.IsNull()) {
        return BadInput(
            fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                        api::JsonKind(parsed.object)));
      }
      return parsed;
    default:
      return parsed;
  }
}

}  // namespace drachma::apiserver
