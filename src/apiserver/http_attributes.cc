#include "apiserver/http_attributes.h"

#include <algorithm>
#include <cctype>

#include "apiserver/core.h"
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
