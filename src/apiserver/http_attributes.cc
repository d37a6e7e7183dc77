#include "apiserver/http_attributes.h"

#include <algorithm>
#include <cctype>

#include "apiserver/core.h"
#include "apiserver/negotiate.h"
#include "apiserver/status.h"

namespace drachma::apiserver {

Result<client::Verb> VerbOf(const net::HttpRequest& request, const RequestPath& path,
                            const Query& query) {
  using client::Verb;
  const bool named = !path.name.empty();
  const std::string& method = request.method;
  if (method == "GET" || method == "HEAD") {
    if (QueryFlag(query, "watch") && path.subresource.empty()) return Verb::kWatch;
    return named ? Verb::kGet : Verb::kList;
  }
  if (method == "POST" && (!named || !path.subresource.empty())) return Verb::kCreate;
  if (method == "PUT" && named) return Verb::kUpdate;
  if (method == "PATCH" && named) return Verb::kPatch;
  if (method == "DELETE") return named ? Verb::kDelete : Verb::kDeleteCollection;
  return std::unexpected(MethodNotAllowedError());
}

void AddSelectors(const Query& query, client::Request& call) {
  using client::Verb;
  if (call.verb != Verb::kList && call.verb != Verb::kWatch &&
      call.verb != Verb::kDeleteCollection) {
    return;
  }
  if (const std::string* fields = QueryValue(query, "fieldSelector")) call.field_selector = *fields;
  if (const std::string* labels = QueryValue(query, "labelSelector")) call.label_selector = *labels;
}

namespace {

// Upstream's cleanVerb.
std::string VerbLabel(const net::HttpRequest& request, const Query& query, bool named) {
  if (request.method == "GET" && QueryFlag(query, "watch")) return "WATCH";
  if (request.method == "GET" && !named) return "LIST";
  if (request.method == "DELETE" && !named) return "DELETECOLLECTION";
  if (request.method == "PATCH") {
    const std::string type = MediaTypeOf(request.headers.Get("Content-Type"));
    return type == "application/apply-patch+yaml" ? "APPLY" : "PATCH";
  }
  for (const std::string_view known : {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"}) {
    if (request.method == known) return request.method;
  }
  return "OTHER";
}

}  // namespace

RequestLabels LabelsOf(const net::HttpRequest& request, const RequestPath& path, const Core& core) {
  const KindPtr kind =
      path.is_resource
          ? core.kinds().Find(path.resource.group, path.resource.version, path.resource.plural)
          : nullptr;
  if (kind == nullptr) return {.verb = VerbLabel(request, {}, true)};
  const Query query = net::ParseQuery(request.query());
  const bool known =
      !path.subresource.empty() && kind->info().FindSubresource(path.subresource) != nullptr;
  // Upstream's CleanScope.
  const bool one = !path.name.empty() || request.method == "POST";
  return {.verb = VerbLabel(request, query, !path.name.empty()),
          .group = path.resource.group,
          .version = path.resource.version,
          .resource = path.resource.plural,
          .subresource = known ? path.subresource : "",
          .scope = one               ? "resource"
                   : path.ns.empty() ? "cluster"
                                     : "namespace",
          .component = "apiserver",
          .dry_run = QueryValue(query, "dryRun") != nullptr ? "All" : ""};
}

std::string LowerCaseMethod(const net::HttpRequest& request) {
  std::string method = request.method;
  std::ranges::transform(method, method.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return method;
}

Attributes AttributesOf(const net::HttpRequest& request) {
  const RequestPath path = ParsePath(request.path());
  if (!path.is_resource) {
    return {.verb = LowerCaseMethod(request),
            .is_resource = false,
            .path = std::string(request.path())};
  }
  ApiRequest call;
  call.call.resource = path.resource;
  call.call.ns = path.ns;
  call.call.name = path.name;
  call.call.subresource = path.subresource;
  const Query query = net::ParseQuery(request.query());
  if (const auto verb = VerbOf(request, path, query)) call.call.verb = *verb;
  AddSelectors(query, call.call);
  return Core::AttributesOf(call);
}

}  // namespace drachma::apiserver
