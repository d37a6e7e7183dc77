#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/core.h"
#include "apiserver/negotiate.h"
#include "json/value.h"
#include "net/http.h"

namespace drachma::apiserver {

// Discovery and OpenAPI: what the server serves, as documents that are made once per change of it.
// On the server's executor.
class Discovery {
 public:
  // `server_address` ("127.0.0.1:6443") is told to clients of the legacy form.
  Discovery(const Core& core, std::string server_address)
      : core_(core), server_address_(std::move(server_address)) {}

  struct Document {
    net::SharedBytes body;
    std::string content_type;
    std::string etag;  // with quotes
  };

  // The document at /api, /apis, /api/v1, /apis/G and /apis/G/V; nothing at other paths and for
  // groups that are not served.
  [[nodiscard]] std::optional<Document> At(std::string_view path, std::string_view accept);
  // /openapi/v3, /openapi/v3/PATH and /openapi/v2.
  [[nodiscard]] std::optional<Document> OpenApiAt(std::string_view path, std::string_view accept);
  // The hash that the URL of an OpenAPI document carries now; empty for paths without a document.
  [[nodiscard]] std::string OpenApiHash(std::string_view path);

  // {"major":"1","minor":"37",…}: what this server says it is.
  [[nodiscard]] static json::Value Version(int emulated_minor);

 private:
  struct Group {
    std::string name;
    std::vector<std::string> versions;  // preferred first
  };

  void Refresh();
  [[nodiscard]] std::vector<Group> Groups() const;
  [[nodiscard]] std::vector<KindPtr> KindsOf(std::string_view group,
                                             std::string_view version) const;
  [[nodiscard]] json::Value Aggregated(bool core_group, std::string_view api_version) const;
  [[nodiscard]] json::Value GroupList() const;
  [[nodiscard]] json::Value ResourceList(std::string_view group, std::string_view version) const;
  [[nodiscard]] std::optional<json::Value> Legacy(std::string_view path) const;
  const Document& Keep(const std::string& key, std::string body, std::string content_type);

  const Core& core_;
  const std::string server_address_;
  std::uint64_t generation_ = 0;
  std::map<std::string, Document> documents_;
  std::map<std::string, std::string> openapi_hashes_;
};

}  // namespace drachma::apiserver
