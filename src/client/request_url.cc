#include "client/request_url.h"

#include <array>

#include "net/http.h"

namespace drachma::client {
namespace {

constexpr std::array<std::string_view, 8> kMethods = {
    "GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "DELETE",
};
constexpr std::array<std::string_view, 5> kContentTypes = {
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
};

void AddSegment(std::string& path, std::string_view segment) {
  if (segment.empty()) return;
  path += '/';
  path += net::PercentEncode(segment);
}

void AddParameter(std::string& query, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!query.empty()) query += '&';
  query += name;
  query += '=';
  query += net::PercentEncode(value);
}

}  // namespace

std::string UrlPath(const Request& request) {
  std::string path = request.resource.group.empty() ? "/api" : "/apis";
  AddSegment(path, request.resource.group);
  AddSegment(path, request.resource.version);
  if (!request.ns.empty()) {
    path += "/namespaces";
    AddSegment(path, request.ns);
  }
  AddSegment(path, request.resource.plural);
  AddSegment(path, request.name);
  AddSegment(path, request.subresource);
  return path;
}

std::string UrlQuery(const Request& request) {
  std::string query;
  if (request.verb == Verb::kWatch) AddParameter(query, "watch", "true");
  AddParameter(query, "labelSelector", request.label_selector);
  AddParameter(query, "fieldSelector", request.field_selector);
  AddParameter(query, "resourceVersion", request.resource_version);
  AddParameter(query, "resourceVersionMatch", request.resource_version_match);
  AddParameter(query, "continue", request.continue_token);
  if (request.limit > 0) AddParameter(query, "limit", std::to_string(request.limit));
  AddParameter(query, "fieldManager", request.field_manager);
  AddParameter(query, "fieldValidation", request.field_validation);
  if (request.force) AddParameter(query, "force", "true");
  if (request.dry_run) AddParameter(query, "dryRun", "All");
  if (request.send_initial_events) {
    AddParameter(query, "sendInitialEvents", *request.send_initial_events ? "true" : "false");
  }
  if (request.allow_watch_bookmarks) AddParameter(query, "allowWatchBookmarks", "true");
  if (request.timeout_seconds > 0) {
    AddParameter(query, "timeoutSeconds", std::to_string(request.timeout_seconds));
  }
  return query;
}

std::string_view HttpMethod(Verb verb) { return kMethods[static_cast<std::size_t>(verb)]; }

std::string_view ContentType(const Request& request) {
  return kContentTypes[static_cast<std::size_t>(request.patch)];
}

}  // namespace drachma::client
