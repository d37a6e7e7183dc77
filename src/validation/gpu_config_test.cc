#include "validation/gpu_config.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::validation {
namespace {

json::Value Read(std::string_view text) { return *json::Read(text); }

json::Value Parameters(std::string_view kind, std::string_view rest) {
  return Read(std::string(R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":")") +
              std::string(kind) + R"(")" + std::string(rest) + "}");
}

bool AllOn(std::string_view) { return true; }

std::string Fault(std::string_view kind, std::string_view rest, const DriverGates& gates = AllOn) {
  const auto config = ReadGpuConfig(Parameters(kind, rest), Decoding::kStrict, gates);
  return config ? "" : config.error().message;
}

TEST(GpuConfig, LeftOutSettingsGetTheirDefaults) {
  auto config = ReadGpuConfig(
      Parameters("GpuConfig", R"(,"sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{}})"),
      Decoding::kStrict, AllOn);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(KindOf(*config), "GpuConfig");
  EXPECT_EQ(std::get<GpuConfig>(*config).sharing->time_slicing->interval, "Default");

  config = ReadGpuConfig(Parameters("GpuConfig", R"(,"sharing":{"strategy":"MPS"})"),
                         Decoding::kStrict, AllOn);
  ASSERT_TRUE(config);
  EXPECT_TRUE(std::get<GpuConfig>(*config).sharing->mps);

  config = ReadGpuConfig(Parameters("VfioDeviceConfig", ""), Decoding::kStrict, AllOn);
  ASSERT_TRUE(config);
  EXPECT_EQ(std::get<VfioDeviceConfig>(*config).backend_policy, "LegacyOnly");

  config = ReadGpuConfig(Parameters("ComputeDomainChannelConfig", R"(,"domainID":"d")"),
                         Decoding::kStrict, nullptr);
  ASSERT_TRUE(config);
  EXPECT_EQ(std::get<ComputeDomainChannelConfig>(*config).allocation_mode, "Single");
}

TEST(GpuConfig, UnknownFieldsAreRefusedStrictlyOnly) {
  const json::Value parameters =
      Parameters("GpuConfig", R"(,"x":1,"sharing":{"strategy":"MPS","mpsConfig":{"y":2}})");
  const auto strict = DecodeGpuConfig(parameters, Decoding::kStrict);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message,
            R"(strict decoding error: unknown field "x", unknown field "sharing.mpsConfig.y")");
  EXPECT_TRUE(DecodeGpuConfig(parameters, Decoding::kLenient));
  EXPECT_EQ(Fault("MigDeviceConfig", R"(,"sharing":{"strategy":"MPS","timeSlicingConfig":{}})"),
            R"(strict decoding error: unknown field "sharing.timeSlicingConfig")");
}

TEST(GpuConfig, FaultsAreNamed) {
  EXPECT_EQ(Fault("Gpu", ""),
            R"(no kind "Gpu" is registered for version "resource.nvidia.com/v1beta1")");
  EXPECT_EQ(Fault("GpuConfig", R"(,"sharing":{"strategy":"Fast"})"),
            "unknown GPU sharing strategy: Fast");
  EXPECT_EQ(Fault("GpuConfig", R"(,"sharing":{"strategy":"MPS"})", nullptr),
            "GPU sharing strategy MPS needs feature gate MPSSupport");
  EXPECT_EQ(Fault("MigDeviceConfig", R"(,"sharing":{"strategy":"TimeSlicing"})"), "");
  EXPECT_EQ(
      Fault("GpuConfig",
            R"(,"sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Tiny"}})"),
      "unknown time-slice interval: Tiny");
  EXPECT_EQ(Fault("GpuConfig", R"(,"sharing":{"strategy":"TimeSlicing","mpsConfig":{}})"),
            "cannot use MpsConfig with the 'TimeSlicing' strategy");
  EXPECT_EQ(
      Fault("GpuConfig",
            R"(,"sharing":{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":101}})"),
      "active thread percentage must not be greater than 100");
  EXPECT_EQ(Fault("VfioDeviceConfig", "", nullptr),
            "VfioDeviceConfig needs feature gate PassthroughSupport");
  EXPECT_EQ(Fault("ComputeDomainDaemonConfig", ""), "domainID cannot be empty");
  EXPECT_EQ(Fault("ComputeDomainChannelConfig", R"(,"domainID":"d","allocationMode":"Some")"),
            "unknown allocation mode: Some");
  EXPECT_EQ(Fault("ComputeDomainDaemonConfig", R"(,"domainID":1)"), "domainID: must be a string");
}

TEST(GpuConfig, LimitsOfSingleDevicesGoBeforeTheDefault) {
  Mps mps;
  mps.default_pinned_device_memory_limit = *Quantity::Parse("1Gi");
  mps.default_per_device_pinned_memory_limit["1"] = *Quantity::Parse("512Mi");
  const std::vector<std::string> uuids = {"GPU-a", "GPU-b"};
  const auto limits = PinnedMemoryLimits(mps, uuids);
  ASSERT_TRUE(limits);
  EXPECT_EQ(*limits, (std::map<std::string, std::string>{{"GPU-a", "1024M"}, {"GPU-b", "512M"}}));

  mps.default_per_device_pinned_memory_limit = {{"2", *Quantity::Parse("1Gi")}};
  EXPECT_EQ(PinnedMemoryLimits(mps, uuids).error().message,
            "invalid device: invalid device index: 2");
  mps.default_per_device_pinned_memory_limit = {{"GPU-b", *Quantity::Parse("1Ki")}};
  EXPECT_EQ(PinnedMemoryLimits(mps, uuids).error().message,
            "invalid limit: value set too low: GPU-b: 1Ki");
}

TEST(GpuConfig, AdmissionGathersTheFaultsOfAllConfigs) {
  const json::Value claim = Read(R"({"spec":{"devices":{"config":[
    {"opaque":{"driver":"other.example.com","parameters":{"kind":"X"}}},
    {"opaque":{"driver":"gpu.nvidia.com","parameters":
      {"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","a":1}}},
    {"opaque":{"driver":"compute-domain.nvidia.com","parameters":
      {"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainDaemonConfig"}}}]}}})");
  const Status checked = CheckGpuConfigs("ResourceClaim", claim, nullptr);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kInvalid);
  EXPECT_EQ(checked.error().message,
            "2 configs failed to validate: error decoding object at "
            "spec.devices.config[1].opaque.parameters: strict decoding error: unknown field \"a\"; "
            "object at spec.devices.config[2].opaque.parameters is invalid: "
            "domainID cannot be empty");
  EXPECT_TRUE(CheckGpuConfigs("Pod", claim, nullptr));
}

}  // namespace
}  // namespace drachma::validation
