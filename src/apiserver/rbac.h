#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/auth.h"
#include "json/value.h"

namespace drachma::apiserver {

// One rule of a Role or ClusterRole, decoded.
[[nodiscard]] Rule RuleFromJson(const json::Value& rule);
// Whether `rule` lets `attributes` through: "*", subresources ("pods/status", "*/scale"), names,
// and paths that end in "*" (upstream's RuleAllows).
[[nodiscard]] bool RuleAllows(const Rule& rule, const Attributes& attributes);
// Whether `owner`'s rules allow all that `wanted` allows (upstream's validation.Covers for one
// rule).
[[nodiscard]] bool RulesCover(const std::vector<Rule>& owner, const Rule& wanted);

// Authorises by Roles and bindings, as upstream's RBAC authoriser does. The rules of a user are
// gathered once per change of RBAC objects, so that a request costs one look-up and a walk over the
// user's own rules.
//
// Called on the server's executor; Invalidate may be called from any thread.
class RbacAuthorizer final : public Authorizer {
 public:
  // Users whose rules are remembered; the least recently made entries go first.
  static constexpr std::size_t kUsersMax = 4096;

  explicit RbacAuthorizer(const ObjectReader& objects) : objects_(objects) {}

  [[nodiscard]] Decision Authorize(const Attributes& attributes, std::string& reason) override;
  void Rules(const User& user, const std::string& ns, std::vector<Rule>& rules) override;
  // The rules are read again at the next request. To be called for each write to an RBAC object.
  void Invalidate() { generation_.fetch_add(1); }

 private:
  struct BoundRule {
    Rule rule;
    std::shared_ptr<const std::string> source;  // which binding of which role to whom
  };
  // A user's rules; "" holds those of ClusterRoleBindings, which count in every namespace.
  struct UserRules {
    std::map<std::string, std::vector<BoundRule>, std::less<>> by_namespace;
    std::vector<std::string> problems;  // bindings of roles that do not exist
  };

  const UserRules& RulesOf(const User& user);
  UserRules Gather(const User& user) const;
  void Bind(const json::Value& binding, const json::Value& subject, const std::string& ns,
            UserRules& rules) const;

  const ObjectReader& objects_;
  std::atomic<std::uint64_t> generation_{1};
  std::uint64_t gathered_ = 0;
  std::map<std::string, UserRules> users_;
};

// Refuses writes of roles and bindings that give away more than the writer has, unless the writer
// may "escalate" or "bind" (upstream's rbac policybased storages).
class RbacEscalation final : public AdmissionPlugin {
 public:
  // `authorizer` must outlive the plugin; it answers for "escalate" and "bind" and lists rules.
  explicit RbacEscalation(Authorizer& authorizer) : authorizer_(authorizer) {}
  [[nodiscard]] std::string_view name() const override { return "RBACEscalation"; }
  [[nodiscard]] Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  [[nodiscard]] bool May(const AdmissionRequest& request, std::string_view verb,
                         std::string_view resource, std::string_view name);

  Authorizer& authorizer_;
};

}  // namespace drachma::apiserver
