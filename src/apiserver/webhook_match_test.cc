#include "apiserver/webhook_match.h"

#include <gtest/gtest.h>

#include "apiserver/fake_object_reader.h"

namespace drachma::apiserver {
namespace {

constexpr const char* kClaims =
    R"("rules":[{"operations":["CREATE"],"apiGroups":["resource.k8s.io"],)"
    R"("apiVersions":["v1"],"resources":["resourceclaims"]}])";

class WebhookMatchTest : public testing::Test {
 protected:
  WebhookMatchTest() {
    objects_.Add("namespaces", R"({"metadata":{"name":"a","labels":{"team":"ml"}}})");
    request_ = {.operation = Operation::kCreate,
                .group = "resource.k8s.io",
                .version = "v1",
                .resource = "resourceclaims",
                .kind = "ResourceClaim",
                .ns = "a",
                .object = json::Read(R"({"metadata":{"name":"c","labels":{"x":"1"}}})").value()};
  }
  // The version that the hook gets the object in; "" when it is not called.
  std::string Called(std::string_view hook) {
    const auto matched =
        MatchWebhook(json::Read(hook).value(), request_, objects_,
                     [](std::string_view group, std::string_view, std::string_view resource) {
                       return std::vector<ResourceKind>{
                           {std::string(group), "v1beta1", std::string(resource), "ResourceClaim"}};
                     });
    if (!matched) return matched.error().message;
    return *matched ? (*matched)->as.version : "";
  }
  std::string WithRule(std::string_view rule) {
    return Called(std::string(R"({"matchPolicy":"Exact","rules":[)") + std::string(rule) + "]}");
  }

  FakeObjectReader objects_;
  AdmissionRequest request_;
};

TEST_F(WebhookMatchTest, AllPartsOfARuleMustFit) {
  EXPECT_EQ(Called(std::string("{") + kClaims + "}"), "v1");
  EXPECT_EQ(WithRule(R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
                         "resources":["*"],"scope":"Namespaced"})"),
            "v1");
  EXPECT_EQ(WithRule(R"({"operations":["UPDATE"],"apiGroups":["*"],"apiVersions":["*"],
                         "resources":["*"]})"),
            "");
  EXPECT_EQ(WithRule(R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
                         "resources":["*"],"scope":"Cluster"})"),
            "");
  EXPECT_EQ(WithRule(R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
                         "resources":["resourceclaims/status"]})"),
            "");
}

TEST_F(WebhookMatchTest, SubresourcesAreResourcesOfTheirOwn) {
  request_.subresource = "status";
  const auto rule = [](std::string_view resource) {
    return R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":[")" +
           std::string(resource) + R"("]})";
  };
  EXPECT_EQ(WithRule(rule("resourceclaims")), "");
  EXPECT_EQ(WithRule(rule("*")), "");
  EXPECT_EQ(WithRule(rule("resourceclaims/status")), "v1");
  EXPECT_EQ(WithRule(rule("resourceclaims/*")), "v1");
  EXPECT_EQ(WithRule(rule("*/*")), "v1");
}

TEST_F(WebhookMatchTest, EquivalentRulesGetTheirOwnVersion) {
  constexpr const char* kBeta = R"({"operations":["CREATE"],"apiGroups":["resource.k8s.io"],
                                    "apiVersions":["v1beta1"],"resources":["resourceclaims"]})";
  EXPECT_EQ(WithRule(kBeta), "");
  EXPECT_EQ(Called(R"({"rules":[)" + std::string(kBeta) + "]}"), "v1beta1");
}

TEST_F(WebhookMatchTest, SelectorsOfNamespaceAndObjectNarrow) {
  const auto with = [&](std::string_view selector) {
    return Called("{" + std::string(selector) + "," + kClaims + "}");
  };
  EXPECT_EQ(with(R"("namespaceSelector":{"matchLabels":{"team":"ml"}})"), "v1");
  EXPECT_EQ(with(R"("namespaceSelector":{"matchLabels":{"team":"web"}})"), "");
  EXPECT_EQ(with(R"("objectSelector":{"matchLabels":{"x":"1"}})"), "v1");
  EXPECT_EQ(with(R"("objectSelector":{"matchLabels":{"x":"2"}})"), "");
  request_.old_object = json::Read(R"({"metadata":{"labels":{"x":"2"}}})").value();
  EXPECT_EQ(with(R"("objectSelector":{"matchLabels":{"x":"2"}})"), "v1");
  request_.ns = "gone";
  EXPECT_EQ(with(R"("namespaceSelector":{"matchLabels":{"team":"ml"}})"),
            R"(namespaces "gone" not found)");
}

TEST_F(WebhookMatchTest, ANamespaceIsInsideItself) {
  request_ = {.operation = Operation::kCreate,
              .version = "v1",
              .resource = "namespaces",
              .kind = "Namespace",
              .object = json::Read(R"({"metadata":{"name":"n","labels":{"team":"ml"}}})").value()};
  constexpr const char* kRules = R"("rules":[{"operations":["*"],"apiGroups":["*"],
                                     "apiVersions":["*"],"resources":["namespaces"],
                                     "scope":"Cluster"}])";
  const auto with = [&](std::string_view team) {
    return Called(R"({"namespaceSelector":{"matchLabels":{"team":")" + std::string(team) +
                  R"("}},)" + kRules + "}");
  };
  EXPECT_EQ(with("ml"), "v1");
  EXPECT_EQ(with("web"), "");
  EXPECT_EQ(SubjectOf(request_).ns, "n");
}

TEST_F(WebhookMatchTest, ConfigurationsOfWebhooksAreExempt) {
  EXPECT_FALSE(IsExemptFromWebhooks(request_));
  request_.group = "admissionregistration.k8s.io";
  request_.kind = "MutatingWebhookConfiguration";
  EXPECT_TRUE(IsExemptFromWebhooks(request_));
}

}  // namespace
}  // namespace drachma::apiserver
