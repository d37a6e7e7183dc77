#include "apiserver/runtime_config.h"

#include <gtest/gtest.h>

namespace drachma::apiserver {
namespace {

class RuntimeConfig : public testing::Test {
 protected:
  // Whether resourceclaims are served in a version of resource.k8s.io.
  bool Claims(std::string_view version) {
    return kinds_.Find("resource.k8s.io", version, "resourceclaims") != nullptr;
  }

  KindTable kinds_{api::FeatureGates{}};
};

TEST_F(RuntimeConfig, NothingMeansEverything) {
  ASSERT_TRUE(ApplyRuntimeConfig("", kinds_));
  EXPECT_TRUE(Claims("v1") && Claims("v1beta2") && Claims("v1beta1"));
}

TEST_F(RuntimeConfig, AVersionIsSwitchedOffForAllItsResources) {
  ASSERT_TRUE(ApplyRuntimeConfig("resource.k8s.io/v1beta1=false", kinds_));
  EXPECT_TRUE(Claims("v1"));
  EXPECT_FALSE(Claims("v1beta1"));
  EXPECT_EQ(kinds_.Find("resource.k8s.io", "v1beta1", "resourceslices"), nullptr);
}

TEST_F(RuntimeConfig, AKindWithoutVersionsIsGone) {
  ASSERT_TRUE(ApplyRuntimeConfig("v1/secrets=false", kinds_));
  EXPECT_EQ(kinds_.Find("", "secrets"), nullptr);
  EXPECT_NE(kinds_.Find("", "configmaps"), nullptr);
}

TEST_F(RuntimeConfig, TheMoreParticularSettingDecides) {
  ASSERT_TRUE(ApplyRuntimeConfig("api/all=false,api/ga=true,resource.k8s.io/v1beta2=true", kinds_));
  EXPECT_TRUE(Claims("v1") && Claims("v1beta2"));
  EXPECT_FALSE(Claims("v1beta1"));
}

TEST_F(RuntimeConfig, UnknownNamesAndValuesAreErrors) {
  EXPECT_FALSE(ApplyRuntimeConfig("resource.k8s.io/v7=true", kinds_));
  EXPECT_FALSE(ApplyRuntimeConfig("resource.k8s.io/v1=perhaps", kinds_));
}

}  // namespace
}  // namespace drachma::apiserver
