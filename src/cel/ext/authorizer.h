#pragma once

#include <string>
#include <string_view>

#include "cel/eval/value.h"

namespace drachma::cel {

// What an expression asks with `authorizer.group(…).resource(…)….check(verb)` or
// `authorizer.path(…).check(verb)`.
struct AccessQuestion {
  // Empty: the user of the request; otherwise a service account.
  std::string account_namespace;
  std::string account_name;
  std::string path;  // of a question about a path; empty for one about a resource
  std::string group;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string field_selector;
  std::string label_selector;
  std::string verb;
};
struct AccessDecision {
  bool allowed = false;
  std::string reason;
  std::string error;  // empty: there was none
};

// Answers such questions. Called while expressions are evaluated, on their thread.
class AccessChecker {
 public:
  virtual ~AccessChecker() = default;
  [[nodiscard]] virtual AccessDecision Check(const AccessQuestion& question) const = 0;
};

inline constexpr std::string_view kAuthorizerType = "kubernetes.authorization.Authorizer";
inline constexpr std::string_view kResourceCheckType = "kubernetes.authorization.ResourceCheck";

// The value of a variable of type kAuthorizerType; `checker` must outlive it.
[[nodiscard]] Value MakeAuthorizer(Arena& arena, const AccessChecker& checker);
// A value of type kResourceCheckType that asks about what `question` names already
// (`authorizer.requestResource`).
[[nodiscard]] Value MakeResourceCheck(Arena& arena, const AccessChecker& checker,
                                      AccessQuestion question);

}  // namespace drachma::cel
