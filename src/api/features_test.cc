#include "api/features.h"

#include <gtest/gtest.h>

#include "api/emulated_gates.h"

namespace drachma::api {
namespace {

std::string ErrorOf(std::string_view text) {
  FeatureGates gates;
  const Status status = gates.Set(text);
  return status ? "" : status.error().message;
}

TEST(FeatureGates, HaveTheDefaultsOf137) {
  const FeatureGates gates;
  EXPECT_TRUE(gates.On(Gate::kDynamicResourceAllocation));
  EXPECT_TRUE(gates.On(Gate::kDRAPartitionableDevices));
  EXPECT_FALSE(gates.On(Gate::kGenericWorkload));
  EXPECT_FALSE(gates.On(Gate::kDRAListTypeAttributes));
  EXPECT_TRUE(gates.On(Gate::kNone));
}

TEST(FeatureGates, DefaultsDoNotBreakDependencies) {
  FeatureGates gates;
  EXPECT_TRUE(gates.Set("DRAPartitionableDevices=true"));
}

TEST(FeatureGates, AreSetByName) {
  FeatureGates gates;
  ASSERT_TRUE(gates.Set("GenericWorkload=true, DRAWorkloadResourceClaims=1,DRADeviceTaints=T"));
  EXPECT_TRUE(gates.On(Gate::kGenericWorkload));
  EXPECT_TRUE(gates.On(Gate::kDRAWorkloadResourceClaims));
}

TEST(FeatureGates, GroupsAreSetTogetherExceptWhatIsNamed) {
  FeatureGates gates;
  ASSERT_TRUE(gates.Set("AllAlpha=true,GenericWorkload=true,DRAListTypeAttributes=false"));
  EXPECT_TRUE(gates.On(Gate::kDRADerivedAttributes));
  EXPECT_FALSE(gates.On(Gate::kDRAListTypeAttributes));
}

TEST(FeatureGates, ErrorsAreUpstreams) {
  EXPECT_EQ(ErrorOf("Foo=true"), "unrecognized feature gate: Foo");
  EXPECT_EQ(ErrorOf("Foo"), "missing bool value for Foo");
  EXPECT_EQ(ErrorOf("DRADeviceTaints=maybe"),
            "invalid value of DRADeviceTaints=maybe, err: strconv.ParseBool: parsing \"maybe\": "
            "invalid syntax");
  EXPECT_EQ(ErrorOf("DRAAdminAccess=false"),
            "cannot set feature gate DRAAdminAccess to false, feature is locked to true");
  EXPECT_EQ(ErrorOf("DRADeviceTaints=false"),
            "DRADeviceTaintRules is enabled, but depends on features that are disabled: "
            "[DRADeviceTaints]");
}

TEST(EmulatedGates, AreThoseOfTheVersion) {
  const FeatureGates gates = EmulatedGates(35, "").value();
  EXPECT_TRUE(gates.On(Gate::kDRAPrioritizedList));
  EXPECT_FALSE(gates.On(Gate::kDRADeviceTaints));
  EXPECT_FALSE(gates.On(Gate::kResourceHealthStatusMessage));
}

TEST(EmulatedGates, LocksAreThoseOfTheVersion) {
  EXPECT_FALSE(EmulatedGates(36, "DRAPrioritizedList=false")->On(Gate::kDRAPrioritizedList));
  EXPECT_EQ(EmulatedGates(36, "DRAAdminAccess=false").error().message,
            "cannot set feature gate DRAAdminAccess to false, feature is locked to true");
}

TEST(EmulatedGates, DoNotHaveWhatCameLater) {
  EXPECT_EQ(EmulatedGates(36, "DRADerivedAttributes=true").error().message,
            "cannot set feature gate DRADerivedAttributes to true, feature is PreAlpha at emulated "
            "version 1.36");
}

TEST(EmulatedGates, DefaultsOfEveryVersionKeepTheDependencies) {
  for (int minor = kMinorMin; minor <= kMinorMax; ++minor) {
    EXPECT_TRUE(EmulatedGates(minor, "")) << minor;
  }
}

TEST(FeatureGates, AnErrorChangesNothing) {
  FeatureGates gates;
  EXPECT_FALSE(gates.Set("GenericWorkload=true,Foo=true"));
  EXPECT_FALSE(gates.On(Gate::kGenericWorkload));
}

}  // namespace
}  // namespace drachma::api
