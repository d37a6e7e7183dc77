#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/user.h"
#include "base/result.h"

namespace drachma::apiserver {

// What a request wants to do, as authorisers see it (authorizer.Attributes).
struct Attributes {
  User user;
  std::string verb;  // "get", "list", "create", …; for paths the lower-case HTTP method
  bool is_resource = true;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string path;  // of requests that are no resource requests
  std::string field_selector;
  std::string label_selector;
  bool explain = false;  // whether the reason of a yes is wanted, too
};

// The credentials a request came with.
struct Credentials {
  // Subject of a client certificate that the TLS layer has verified; empty without one.
  std::string certificate_common_name;
  std::vector<std::string> certificate_organizations;
  std::string bearer_token;  // without "Bearer "
};

// Finds out who asks. Asked one after the other; the first that knows the credentials decides.
// Called on the server's executor.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // The user; nothing when these credentials are not of this authenticator's kind.
  // ERRORS: kUnauthorized when they are, but wrong or expired.
  [[nodiscard]] virtual Result<std::optional<User>> Authenticate(
      const Credentials& credentials) = 0;
};

// One rule of a SelfSubjectRulesReview; without resources it is about paths.
struct Rule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups;
  std::vector<std::string> resources;
  std::vector<std::string> resource_names;
  std::vector<std::string> non_resource_urls;
};

enum class Decision : std::uint8_t { kAllow, kDeny, kNoOpinion };

// Decides whether a request may be made. Asked one after the other until one has an opinion;
// nobody's opinion is a refusal. Called on the server's executor; must not block.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // `reason` may be set to a text that the refusal's message ends with.
  [[nodiscard]] virtual Decision Authorize(const Attributes& attributes, std::string& reason) = 0;
  // The rules of `user` in `ns` for SelfSubjectRulesReview, appended to `rules`.
  virtual void Rules(const User& /*user*/, const std::string& /*ns*/,
                     std::vector<Rule>& /*rules*/) {}
  // Why Rules does not tell all; empty when it does.
  [[nodiscard]] virtual std::string RulesFault(const User& /*user*/) const { return {}; }
};

}  // namespace drachma::apiserver
