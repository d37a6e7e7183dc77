#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/user.h"
#include "base/result.h"
#include "client/client.h"
#include "json/value.h"

namespace drachma::apiserver {

// Whose changes metadata.managedFields follows. Upstream follows every creation; in-process
// clients do without, which costs neither time nor memory, until somebody applies (upstream's
// skipNonApplied manager with probability 0).
enum class TrackCreates : std::uint8_t { kNo, kYes };

// A request to the registry, whatever way it came. What `call` has no room for stands beside it.
struct ApiRequest {
  User user;
  std::string user_agent;
  client::Request call;
  TrackCreates track_creates = TrackCreates::kYes;

  // The body as it came, when it has not been read yet; `call.body` holds it otherwise.
  std::optional<std::string> raw_body;
  std::string content_type;  // without parameters, lower case

  // DeleteOptions that stood in the query, used when there is no body.
  json::Value delete_options;

  // Where warnings go that come with an error; null when nobody reads them.
  std::shared_ptr<std::vector<std::string>> error_warnings;
  // Where admission's annotations of the audit log go; null when the request is not recorded.
  std::shared_ptr<std::map<std::string, std::string>> annotations = {};

  [[nodiscard]] const client::Resource& resource() const { return call.resource; }
};

// A URL's path taken apart (apiserver's RequestInfo). `is_resource` is false for all that is not
// below /api/VERSION and /apis/GROUP/VERSION.
struct RequestPath {
  bool is_resource = false;
  client::Resource resource;
  std::string ns;
  std::string name;
  std::string subresource;  // further segments joined: "proxy/a/b"
};
// `path` is still percent-encoded.
[[nodiscard]] RequestPath ParsePath(std::string_view path);

// A decoded query: names with values, in order.
using Query = std::vector<std::pair<std::string, std::string>>;
// The first value of `name`; null when it is not there.
[[nodiscard]] const std::string* QueryValue(const Query& query, std::string_view name);
// "1", "true" and an empty value count as true.
[[nodiscard]] bool QueryFlag(const Query& query, std::string_view name);

// How long the client wants to wait (the query's `timeout`); nothing when it does not say or says
// no time at all. ERRORS: kBadRequest when it is no duration in Go's notation.
[[nodiscard]] Result<std::optional<Duration>> TimeoutOf(const Query& query);

// Reads the options of `call.verb` from a query into `request`.
// ERRORS: kBadRequest for values of the wrong form, kInvalid for values that are not allowed
// ("ListOptions.meta.k8s.io "" is invalid: …").
[[nodiscard]] Status ReadOptions(const Query& query, ApiRequest& request);
// What upstream's ValidateListOptions finds; for in-process requests, too.
[[nodiscard]] Status CheckListOptions(const client::Request& call);
// The rules of DeleteOptions (an object or null).
[[nodiscard]] Status CheckDeleteOptions(const json::Value& options);
// The manager whose name goes into managedFields: the given one, or the first part of the
// User-Agent ("kubectl/v1.37" is "kubectl").
[[nodiscard]] std::string ManagerOf(const ApiRequest& request);

}  // namespace drachma::apiserver
