#include "apiserver/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cel/eval/format.h"
#include "net/http.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

using validation::ErrorList;

RequestPath ParsePath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) parts.push_back(net::PercentDecode(part));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  RequestPath parsed;
  std::size_t next = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    parsed.resource.version = parts[1];
    next = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    parsed.resource.group = parts[1];
    parsed.resource.version = parts[2];
    next = 3;
  } else {
    return parsed;
  }
  parsed.is_resource = true;
  if (parts[next] == "namespaces" && parts.size() >= next + 2) {
    parsed.ns = parts[next + 1];
    const bool of_namespace =
        parts.size() >= next + 3 && parts[next + 2] != "status" && parts[next + 2] != "finalize";
    if (of_namespace) next += 2;
  }
  parsed.resource.plural = parts[next];
  if (parts.size() > next + 1) parsed.name = parts[next + 1];
  for (std::size_t i = next + 2; i < parts.size(); ++i) {
    if (i > next + 2) parsed.subresource += '/';
    parsed.subresource += parts[i];
  }
  return parsed;
}

const std::string* QueryValue(const Query& query, std::string_view name) {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool QueryFlag(const Query& query, std::string_view name) {
  const std::string* value = QueryValue(query, name);
  return value != nullptr && *value != "0" && *value != "false";
}

namespace {

// Limits of options (apimachinery's meta/v1 validation).
constexpr std::size_t kFieldManagerBytesMax = 128;

Status Invalid(std::string_view kind, const ErrorList& errors) {
  if (errors.empty()) return {};
  return std::unexpected(validation::InvalidObject("meta.k8s.io", kind, "", errors));
}

Result<std::int64_t> ReadNumber(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadInput(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
  }
  return number;
}

void CheckFieldManager(const std::string& manager, ErrorList& errors) {
  if (manager.size() > kFieldManagerBytesMax) {
    errors.push_back(validation::TooLong("fieldManager", kFieldManagerBytesMax));
  }
  // Upstream asks that every rune can be printed.
  for (std::size_t i = 0; i < manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(manager[i]);
    if (c < 0x20 || c == 0x7F) {
      errors.push_back(
          validation::Invalid("fieldManager", validation::ShownText(manager),
                              fmt::format("invalid character U+{:04X} (at position {})", c, i)));
      return;
    }
  }
}

void CheckDryRun(const std::vector<std::string>& values, ErrorList& errors) {
  static constexpr std::array<std::string_view, 1> kAllowed = {"All"};
  for (const std::string& value : values) {
    if (value == "All") continue;
    std::string shown;
    for (const std::string& given : values) {
      shown += fmt::format("{}\"{}\"", shown.empty() ? "" : ",", given);
    }
    errors.push_back(validation::NotSupported("dryRun", "[" + shown + "]", kAllowed));
    return;
  }
}

void CheckFieldValidation(const std::string& value, ErrorList& errors) {
  static constexpr std::array<std::string_view, 4> kAllowed = {"", "Ignore", "Strict", "Warn"};
  if (std::ranges::find(kAllowed, value) == kAllowed.end()) {
    errors.push_back(
        validation::NotSupported("fieldValidation", validation::ShownText(value), kAllowed));
  }
}

std::vector<std::string> AllValues(const Query& query, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : query) {
    if (key == name) values.push_back(value);
  }
  return values;
}

std::string ValueOr(const Query& query, std::string_view name) {
  const std::string* value = QueryValue(query, name);
  return value == nullptr ? std::string() : *value;
}

Status ReadListOptions(const Query& query, ApiRequest& request) {
  client::Request& call = request.call;
  call.label_selector = ValueOr(query, "labelSelector");
  call.field_selector = ValueOr(query, "fieldSelector");
  call.resource_version = ValueOr(query, "resourceVersion");
  call.resource_version_match = ValueOr(query, "resourceVersionMatch");
  call.continue_token = ValueOr(query, "continue");
  if (const std::string* limit = QueryValue(query, "limit"); limit != nullptr && !limit->empty()) {
    DRA_ASSIGN(call.limit, ReadNumber(*limit));
  }
  if (const std::string* seconds = QueryValue(query, "timeoutSeconds");
      seconds != nullptr && !seconds->empty()) {
    DRA_ASSIGN(const std::int64_t number, ReadNumber(*seconds));
    call.timeout_seconds = static_cast<int>(number);
  }
  if (QueryValue(query, "sendInitialEvents") != nullptr) {
    call.send_initial_events = QueryFlag(query, "sendInitialEvents");
  }
  call.allow_watch_bookmarks = QueryFlag(query, "allowWatchBookmarks");
  return CheckListOptions(call);
}

const char* OptionsKind(client::Verb verb) {
  switch (verb) {
    case client::Verb::kCreate:
      return "CreateOptions";
    case client::Verb::kUpdate:
      return "UpdateOptions";
    default:
      return "PatchOptions";
  }
}

Status ReadWriteOptions(const Query& query, ApiRequest& request) {
  client::Request& call = request.call;
  ErrorList errors;
  call.field_manager = ValueOr(query, "fieldManager");
  call.field_validation = ValueOr(query, "fieldValidation");
  const std::vector<std::string> dry_run = AllValues(query, "dryRun");
  call.dry_run = !dry_run.empty();
  if (call.verb == client::Verb::kPatch) {
    call.force = QueryFlag(query, "force");
    if (call.patch == client::PatchType::kApply && call.field_manager.empty()) {
      errors.push_back(validation::Required("fieldManager", "is required for apply patch"));
    }
    if (call.patch != client::PatchType::kApply && QueryValue(query, "force") != nullptr) {
      errors.push_back(validation::Forbidden("force", "may not be specified for non-apply patch"));
    }
  }
  CheckFieldManager(call.field_manager, errors);
  CheckDryRun(dry_run, errors);
  CheckFieldValidation(call.field_validation, errors);
  return Invalid(OptionsKind(call.verb), errors);
}

Status ReadDeleteOptions(const Query& query, ApiRequest& request) {
  // Options of the body stand for all; those of the query are not even looked at.
  if (request.raw_body && !request.raw_body->empty()) return {};
  json::Value options = json::Value::Object();
  if (const std::string* grace = QueryValue(query, "gracePeriodSeconds");
      grace != nullptr && !grace->empty()) {
    DRA_ASSIGN(const std::int64_t seconds, ReadNumber(*grace));
    options.Set("gracePeriodSeconds", seconds);
  }
  if (QueryValue(query, "orphanDependents") != nullptr) {
    options.Set("orphanDependents", QueryFlag(query, "orphanDependents"));
  }
  if (const std::string* policy = QueryValue(query, "propagationPolicy"); policy != nullptr) {
    options.Set("propagationPolicy", *policy);
  }
  json::Value dry_run = json::Value::Array();
  for (const std::string& value : AllValues(query, "dryRun")) dry_run.Append(value);
  if (!dry_run.empty()) options.Set("dryRun", std::move(dry_run));
  request.delete_options = std::move(options);
  return {};
}

}  // namespace

namespace {

// What Go's time.ParseDuration says of a text; empty when it is a duration.
std::string DurationFault(std::string_view text) {
  const std::string quoted = fmt::format("\"{}\"", text);
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") return {};
  if (rest.empty()) return "time: invalid duration " + quoted;
  const auto digits = [&rest] {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(end);
    return end;
  };
  static constexpr std::array<std::string_view, 8> kUnits = {"ns", "us", "\u00b5s", "\u03bcs",
                                                             "ms", "s",  "m",       "h"};
  while (!rest.empty()) {
    std::size_t read = digits();
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      read += digits();
    }
    if (read == 0) return "time: invalid duration " + quoted;
    const std::string_view unit = rest.substr(0, rest.find_first_of(".0123456789"));
    if (unit.empty()) return "time: missing unit in duration " + quoted;
    if (std::ranges::find(kUnits, unit) == kUnits.end()) {
      return fmt::format("time: unknown unit \"{}\" in duration {}", unit, quoted);
    }
    rest.remove_prefix(unit.size());
  }
  return {};
}

}  // namespace

Result<std::optional<Duration>> TimeoutOf(const Query& query) {
  const std::string* timeout = QueryValue(query, "timeout");
  if (timeout == nullptr || timeout->empty()) return std::nullopt;
  std::string fault = DurationFault(*timeout);
  const std::optional<std::int64_t> nanos = cel::ParseDuration(*timeout);
  if (fault.empty() && !nanos) fault = fmt::format("time: invalid duration \"{}\"", *timeout);
  if (!fault.empty()) return BadInput("invalid timeout specified in the request URL - " + fault);
  if (*nanos <= 0) return std::nullopt;
  return Duration(*nanos);
}

Status ReadOptions(const Query& query, ApiRequest& request) {
  switch (request.call.verb) {
    case client::Verb::kGet:
      request.call.resource_version = ValueOr(query, "resourceVersion");
      return {};
    case client::Verb::kList:
    case client::Verb::kWatch:
      return ReadListOptions(query, request);
    case client::Verb::kCreate:
    case client::Verb::kUpdate:
    case client::Verb::kPatch:
      return ReadWriteOptions(query, request);
    case client::Verb::kDelete:
      return ReadDeleteOptions(query, request);
    case client::Verb::kDeleteCollection:
      DRA_TRY(ReadListOptions(query, request));
      return ReadDeleteOptions(query, request);
  }
  return {};
}

namespace {

void CheckWatch(const client::Request& call, ErrorList& errors) {
  static constexpr std::array<std::string_view, 1> kAllowed = {"NotOlderThan"};
  const std::string& match = call.resource_version_match;
  if (call.send_initial_events && match != "NotOlderThan") {
    errors.push_back(validation::Forbidden(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (match.empty()) return;
  if (!call.send_initial_events) {
    errors.push_back(validation::Forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (match != "NotOlderThan") {
    errors.push_back(
        validation::NotSupported("resourceVersionMatch", validation::ShownText(match), kAllowed));
  }
  if (!call.continue_token.empty()) {
    errors.push_back(validation::Forbidden(
        "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  }
}

void CheckList(const client::Request& call, ErrorList& errors) {
  static constexpr std::array<std::string_view, 3> kAllowed = {"Exact", "NotOlderThan", ""};
  const std::string& match = call.resource_version_match;
  if (!match.empty()) {
    if (call.resource_version.empty()) {
      errors.push_back(validation::Forbidden(
          "resourceVersionMatch",
          "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (!call.continue_token.empty()) {
      errors.push_back(validation::Forbidden(
          "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match != "Exact" && match != "NotOlderThan") {
      errors.push_back(
          validation::NotSupported("resourceVersionMatch", validation::ShownText(match), kAllowed));
    }
    if (match == "Exact" && call.resource_version == "0") {
      errors.push_back(validation::Forbidden(
          "resourceVersionMatch",
          "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
  }
  if (call.send_initial_events) {
    errors.push_back(
        validation::Forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
}

}  // namespace

Status CheckListOptions(const client::Request& call) {
  ErrorList errors;
  if (call.verb == client::Verb::kWatch) {
    CheckWatch(call, errors);
  } else {
    CheckList(call, errors);
  }
  return Invalid("ListOptions", errors);
}

Status CheckDeleteOptions(const json::Value& options) {
  static constexpr std::array<std::string_view, 4> kAllowed = {"Foreground", "Background", "Orphan",
                                                               "nil"};
  ErrorList errors;
  const json::Value& policy = options["propagationPolicy"];
  if (options["orphanDependents"].IsBool() && policy.IsString()) {
    errors.push_back(
        validation::Invalid("propagationPolicy", validation::Shown(policy),
                            "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (policy.IsString() && policy.AsString() != "Foreground" && policy.AsString() != "Background" &&
      policy.AsString() != "Orphan") {
    errors.push_back(
        validation::NotSupported("propagationPolicy", validation::Shown(policy), kAllowed));
  }
  std::vector<std::string> dry_run;
  for (const json::Value& value : options["dryRun"].Items()) {
    dry_run.emplace_back(value.AsString());
  }
  CheckDryRun(dry_run, errors);
  return Invalid("DeleteOptions", errors);
}

std::string ManagerOf(const ApiRequest& request) {
  if (!request.call.field_manager.empty()) return request.call.field_manager;
  std::string prefix = request.user_agent.substr(0, request.user_agent.find('/'));
  // Upstream cuts at 128 bytes and drops what cannot be printed.
  if (prefix.size() > kFieldManagerBytesMax) prefix.resize(kFieldManagerBytesMax);
  std::erase_if(prefix, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  return prefix;
}

}  // namespace drachma::apiserver
