#include "apiserver/audit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "api/protobuf.h"
#include "apiserver/codec.h"
#include "base/log.h"
#include "json/json.h"
#include "json/yaml.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr auto kLevels =
    std::to_array<std::string_view>({"None", "Metadata", "Request", "RequestResponse"});
constexpr auto kStages = std::to_array<std::string_view>(
    {"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"});
// Bodies larger than this are recorded without their objects.
constexpr std::size_t kObjectBytesMax = 3 * 1024 * 1024;

bool Contains(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.Items(),
                             [&](const Value& item) { return item.AsString() == text; });
}

// "*" at the end of a path stands for any rest.
bool PathFits(std::string_view pattern, std::string_view path) {
  if (pattern == "*") return true;
  if (!pattern.ends_with('*')) return pattern == path;
  return path.starts_with(pattern.substr(0, pattern.size() - 1));
}

// "pods", "pods/log", "*/status", "pods/*", "*": as policies name resources.
bool ResourceFits(std::string_view pattern, const Attributes& attributes) {
  const std::string whole = attributes.subresource.empty()
                                ? attributes.resource
                                : attributes.resource + "/" + attributes.subresource;
  if (pattern == "*" || pattern == whole) return true;
  if (attributes.subresource.empty()) return false;
  return pattern == "*/" + attributes.subresource || pattern == attributes.resource + "/*";
}

bool ResourcesFit(const Value& rule, const Attributes& attributes) {
  return std::ranges::any_of(rule["resources"].Items(), [&](const Value& entry) {
    if (entry["group"].AsString() != attributes.group) return false;
    const Value& names = entry["resourceNames"];
    if (!names.empty() && !Contains(names, attributes.name)) return false;
    const auto resources = entry["resources"].Items();
    return resources.empty() || std::ranges::any_of(resources, [&](const Value& pattern) {
             return ResourceFits(pattern.AsString(), attributes);
           });
  });
}

bool RuleFits(const Value& rule, const Attributes& attributes) {
  const auto allows = [&](std::string_view field, std::string_view text) {
    return rule[field].empty() || Contains(rule[field], text);
  };
  if (!allows("users", attributes.user.name) || !allows("verbs", attributes.verb)) return false;
  if (!rule["userGroups"].empty() &&
      std::ranges::none_of(attributes.user.groups, [&](const std::string& group) {
        return Contains(rule["userGroups"], group);
      })) {
    return false;
  }
  const bool about_resources = !rule["resources"].empty() || !rule["namespaces"].empty();
  const bool about_paths = !rule["nonResourceURLs"].empty();
  if (!about_resources && !about_paths) return true;
  if (!attributes.is_resource) {
    return std::ranges::any_of(rule["nonResourceURLs"].Items(), [&](const Value& pattern) {
      return PathFits(pattern.AsString(), attributes.path);
    });
  }
  return about_resources && allows("namespaces", attributes.ns) &&
         (rule["resources"].empty() || ResourcesFit(rule, attributes));
}

Status CheckStages(const Value& stages, std::string_view path) {
  for (const Value& stage : stages.Items()) {
    if (std::ranges::find(kStages, stage.AsString()) == kStages.end()) {
      return Fail(Code::kInvalid,
                  fmt::format("{}: Invalid value: \"{}\": not a stage", path, stage.AsString()));
    }
  }
  return {};
}

Value UserValue(const User& user) {
  Value value = Value::Object();
  if (!user.name.empty()) value.Set("username", user.name);
  if (!user.uid.empty()) value.Set("uid", user.uid);
  const auto list = [](const std::vector<std::string>& texts) {
    Value items = Value::Array();
    for (const std::string& text : texts) items.Append(text);
    return items;
  };
  if (!user.groups.empty()) value.Set("groups", list(user.groups));
  Value extra = Value::Object();
  for (const auto& [key, values] : user.extra) extra.Set(key, list(values));
  if (!extra.empty()) value.Set("extra", std::move(extra));
  return value;
}

Value ObjectRef(const AuditEvent& event) {
  const Attributes& attributes = event.attributes;
  const Value& metadata = event.request_object["metadata"];
  Value ref = Value::Object();
  const auto set = [&](const char* field, std::string_view text) {
    if (!text.empty()) ref.Set(field, text);
  };
  const auto text_or = [&](const std::string& text, const char* field) {
    return text.empty() ? metadata[field].AsString() : std::string_view(text);
  };
  set("resource", attributes.resource);
  set("namespace", text_or(attributes.ns, "namespace"));
  set("name", text_or(attributes.name, "name"));
  set("uid", metadata["uid"].AsString());
  set("apiGroup", attributes.group);
  set("apiVersion", attributes.version);
  set("resourceVersion", metadata["resourceVersion"].AsString());
  set("subresource", attributes.subresource);
  return ref;
}

// The body of a response when it is JSON; null otherwise.
Value ResponseObject(const net::HttpResponse& response) {
  if (!response.headers.Get("Content-Type").starts_with("application/json")) return nullptr;
  std::string body;
  for (const net::Slice& part : response.body) {
    if (body.size() + part.size() > kObjectBytesMax) return nullptr;
    body += part.text();
  }
  Result<Value> value = json::Read(body);
  return value ? std::move(*value) : Value();
}

// The parts of a Status that events show; of other objects only the code.
Value ResponseStatus(const Value& object, int code) {
  Value status = Value::Object({{"metadata", Value::Object()}});
  if (object["kind"].AsString() == "Status") {
    for (const char* field : {"status", "message", "reason", "details"}) {
      if (const Value* value = object.Find(field)) status.Set(field, *value);
    }
  }
  status.Set("code", code);
  return status;
}

Value WithoutManagedFields(Value object) {
  if (object["metadata"].Has("managedFields")) object.Edit("metadata").Erase("managedFields");
  for (std::size_t i = 0; i < object["items"].size(); ++i) {
    if (object["items"].Items()[i]["metadata"].Has("managedFields")) {
      object.Edit("items").EditItem(i).Edit("metadata").Erase("managedFields");
    }
  }
  return object;
}

}  // namespace

AuditPolicy::AuditPolicy() : rules_(Value::Array({Value::Object({{"level", "Metadata"}})})) {}

Result<AuditPolicy> AuditPolicy::Parse(std::string_view text) {
  DRA_ASSIGN(const Value object, json::ReadYamlValue(text));
  if (object["kind"].AsString() != "Policy" ||
      object["apiVersion"].AsString() != "audit.k8s.io/v1") {
    return Fail(Code::kInvalid, "an audit policy has apiVersion audit.k8s.io/v1 and kind Policy");
  }
  if (object["rules"].empty()) {
    return Fail(Code::kInvalid, "loaded illegal policy with 0 rules");
  }
  DRA_TRY(CheckStages(object["omitStages"], "omitStages"));
  std::size_t index = 0;
  for (const Value& rule : object["rules"].Items()) {
    const std::string path = fmt::format("rules[{}]", index++);
    const std::string_view level = rule["level"].AsString();
    if (level.empty()) return Fail(Code::kInvalid, path + ".level: Required value");
    if (std::ranges::find(kLevels, level) == kLevels.end()) {
      return Fail(Code::kInvalid,
                  fmt::format("{}.level: Unsupported value: \"{}\": supported values: \"None\", "
                              "\"Metadata\", \"Request\", \"RequestResponse\"",
                              path, level));
    }
    if (!rule["nonResourceURLs"].empty() &&
        (!rule["resources"].empty() || !rule["namespaces"].empty())) {
      return Fail(Code::kInvalid,
                  path +
                      ".nonResourceURLs: Invalid value: rules cannot apply to both regular "
                      "resources and non-resource URLs");
    }
    DRA_TRY(CheckStages(rule["omitStages"], path + ".omitStages"));
  }
  AuditPolicy policy;
  policy.rules_ = object["rules"];
  policy.omit_stages_ = object["omitStages"];
  policy.omit_managed_fields_ = object["omitManagedFields"].AsBool();
  return policy;
}

AuditPolicy::Decision AuditPolicy::For(const Attributes& attributes) const {
  for (const Value& rule : rules_.Items()) {
    if (!RuleFits(rule, attributes)) continue;
    const auto omits = [&](std::string_view stage) {
      return Contains(omit_stages_, stage) || Contains(rule["omitStages"], stage);
    };
    const auto level = std::ranges::find(kLevels, rule["level"].AsString());
    return {.level = static_cast<AuditLevel>(level - kLevels.begin()),
            .omit_response_started = omits("ResponseStarted"),
            .omit_response_complete = omits("ResponseComplete"),
            .omit_managed_fields = rule["omitManagedFields"].AsBool(omit_managed_fields_)};
  }
  return {};
}

AuditEvent NewAuditEvent(const net::HttpRequest& request, Time now, std::string id) {
  AuditEvent event{.id = std::move(id), .received = now, .uri = request.target};
  event.annotations = std::make_shared<std::map<std::string, std::string>>();
  event.user_agent = request.headers.Get("User-Agent");
  // Callers may give an id of their own.
  if (const std::string_view given = request.headers.Get("Audit-ID"); !given.empty()) {
    event.id = given;
  }
  std::string_view forwarded = request.headers.Get("X-Forwarded-For");
  while (!forwarded.empty()) {
    const std::size_t comma = forwarded.find(',');
    std::string_view ip = forwarded.substr(0, comma);
    while (ip.starts_with(' ')) ip.remove_prefix(1);
    if (!ip.empty()) event.source_ips.emplace_back(ip);
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(comma + 1);
  }
  const std::string peer = request.peer.substr(0, request.peer.rfind(':'));
  if (!peer.empty() && std::ranges::find(event.source_ips, peer) == event.source_ips.end()) {
    event.source_ips.push_back(peer);
  }
  return event;
}

Value AuditedBody(std::string_view body) {
  if (body.empty() || body.size() > kObjectBytesMax) return nullptr;
  Result<Value> object = api::IsProtobuf(body) ? api::DecodeProtobuf(body) : json::Read(body);
  if (!object) object = json::ReadYamlValue(body);
  // Deeper objects are refused, too.
  return object && CheckDepth(*object) ? std::move(*object) : Value();
}

Value AuditLine(const AuditEvent& event, std::string_view stage, Time now,
                const net::HttpResponse& response) {
  const Attributes& attributes = event.attributes;
  const AuditLevel level = event.decision.level;
  Value line = Value::Object({{"kind", "Event"},
                              {"apiVersion", "audit.k8s.io/v1"},
                              {"level", kLevels[static_cast<std::size_t>(level)]},
                              {"auditID", event.id},
                              {"stage", stage},
                              {"requestURI", event.uri},
                              {"verb", attributes.verb},
                              {"user", UserValue(event.user)}});
  if (event.impersonated) line.Set("impersonatedUser", UserValue(attributes.user));
  Value ips = Value::Array();
  for (const std::string& ip : event.source_ips) ips.Append(ip);
  if (!ips.empty()) line.Set("sourceIPs", std::move(ips));
  if (!event.user_agent.empty()) line.Set("userAgent", event.user_agent);
  if (attributes.is_resource) line.Set("objectRef", ObjectRef(event));
  const Value answer = level == AuditLevel::kRequestResponse || response.status >= 400
                           ? ResponseObject(response)
                           : Value();
  line.Set("responseStatus", ResponseStatus(answer, response.status));
  const auto shown = [&](Value object) {
    return event.decision.omit_managed_fields ? WithoutManagedFields(std::move(object)) : object;
  };
  if (level >= AuditLevel::kRequest && !event.request_object.IsNull()) {
    line.Set("requestObject", shown(event.request_object));
  }
  if (level == AuditLevel::kRequestResponse && !answer.IsNull()) {
    line.Set("responseObject", shown(answer));
  }
  line.Set("requestReceivedTimestamp", FormatMicroTime(event.received));
  line.Set("stageTimestamp", FormatMicroTime(now));
  if (event.annotations != nullptr && !event.annotations->empty()) {
    Value& annotations = line.Set("annotations", Value::Object());
    for (const auto& [key, text] : *event.annotations) annotations.Set(key, text);
  }
  return line;
}

Result<std::shared_ptr<AuditLog>> AuditLog::Open(const std::string& path, AuditPolicy policy) {
  const int file = path == "-"
                       ? dup(STDOUT_FILENO)
                       : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    return Fail(Code::kUnavailable, fmt::format("audit log {}: {}", path, std::strerror(errno)));
  }
  return std::shared_ptr<AuditLog>(new AuditLog(file, std::move(policy)));
}

AuditLog::~AuditLog() { close(file_); }

void AuditLog::Write(const Value& line) {
  const std::string text = json::Write(line) + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Log(LogLevel::kError, "apiserver", "audit log: {}", std::strerror(errno));
      return;
    }
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace drachma::apiserver
