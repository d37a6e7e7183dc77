#include "apiserver/pod_security.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

std::string Reasons(SecurityLevel level, int minor, std::string_view spec) {
  const json::Value pod = json::Value::Object({{"spec", json::Read(spec).value()}});
  return ReasonsOf(SecurityViolations({.level = level, .minor = minor}, pod));
}

TEST(PodSecurity, RulesCountFromTheVersionThatBroughtThem) {
  constexpr std::string_view kRoot =
      R"({"hostUsers":false,"securityContext":{"runAsNonRoot":true,"runAsUser":0}})";
  EXPECT_EQ(Reasons(SecurityLevel::kRestricted, 22, kRoot), "");
  EXPECT_EQ(Reasons(SecurityLevel::kRestricted, 23, kRoot), "runAsUser=0");
  // Since then root in a user namespace is nobody outside of it.
  EXPECT_EQ(Reasons(SecurityLevel::kRestricted, 35, kRoot), "");
  EXPECT_EQ(Reasons(SecurityLevel::kRestricted, SecurityPolicy::kLatest, kRoot), "");
}

TEST(PodSecurity, RestrictedRulesTakeThePlaceOfBaselineOnes) {
  constexpr std::string_view kVolume = R"({"volumes":[{"name":"v","hostPath":{"path":"/"}}]})";
  EXPECT_EQ(Reasons(SecurityLevel::kBaseline, SecurityPolicy::kLatest, kVolume),
            "hostPath volumes");
  EXPECT_EQ(Reasons(SecurityLevel::kRestricted, SecurityPolicy::kLatest, kVolume),
            "restricted volume types");
}

TEST(PodSecurity, LabelsThatCannotBeReadEnforceTheStrictest) {
  const SecurityPolicies policies =
      SecurityPoliciesOf(json::Value::Object({{"pod-security.kubernetes.io/enforce", "strict"},
                                              {"pod-security.kubernetes.io/audit", "strict"}}));
  EXPECT_EQ(policies.enforce.ToString(), "restricted:latest");
  EXPECT_EQ(policies.audit.ToString(), "privileged:latest");
  EXPECT_EQ(policies.errors.size(), 2U);
}

}  // namespace
}  // namespace drachma::apiserver
