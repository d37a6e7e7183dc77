#include "lint/selector_form.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace drachma::lint {
namespace {

std::vector<std::string> Rules(std::string_view expression) {
  std::vector<std::string> rules;
  for (const SelectorFault& fault : CorrectSelector(expression, "gpu.nvidia.com").faults) {
    rules.push_back(fault.rule);
  }
  return rules;
}

std::string Corrected(std::string_view expression) {
  return CorrectSelector(expression, "gpu.nvidia.com").corrected;
}

TEST(CorrectSelector, TheFormFromABlogHasThreeFaults) {
  const char* blog = "device.attributes['memory'] >= 16Gi";
  EXPECT_EQ(Rules(blog), (std::vector<std::string>{"selector-capacity-as-attribute",
                                                   "selector-name-without-domain",
                                                   "selector-quantity-literal"}));
  EXPECT_EQ(Corrected(blog),
            "device.driver == 'gpu.nvidia.com' && "
            "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('16Gi')) >= 0");
}

TEST(CorrectSelector, AnotherDriverIsTheDomain) {
  EXPECT_EQ(CorrectSelector("device.attributes['family'] == 'Arc'", "gpu.intel.com").corrected,
            "device.driver == 'gpu.intel.com' && "
            "device.attributes['gpu.intel.com'].family == 'Arc'");
}

TEST(CorrectSelector, TheDriverOfTheExpressionIsTheDomain) {
  EXPECT_EQ(Corrected("device.driver == 'gpu.amd.com' && device.attributes['type'] == 'amdgpu'"),
            "device.driver == 'gpu.amd.com' && device.attributes['gpu.amd.com'].type == 'amdgpu'");
}

TEST(CorrectSelector, VersionsCompareAsVersions) {
  EXPECT_EQ(Corrected("device.attributes['gpu.nvidia.com'].computeCapability >= '8.0'"),
            "device.attributes['gpu.nvidia.com'].cudaComputeCapability"
            ".compareTo(semver('8.0.0')) >= 0");
}

TEST(CorrectSelector, TypeSuffixesGo) {
  EXPECT_EQ(Corrected(R"(device.attributes["dra.net/rdma"].bool == true)"),
            "device.attributes['dra.net'].rdma == true");
  EXPECT_EQ(Corrected("device.attributes['model'].string == 'a100'"),
            "device.driver == 'gpu.nvidia.com' && "
            "device.attributes['gpu.nvidia.com'].productName.contains('A100')");
}

TEST(CorrectSelector, AlternativesStayTogetherBehindTheGuard) {
  EXPECT_EQ(Corrected("device.attributes['x'] == 1 || device.attributes['x'] == 2"),
            "device.driver == 'gpu.nvidia.com' && (device.attributes['gpu.nvidia.com'].x == 1 || "
            "device.attributes['gpu.nvidia.com'].x == 2)");
}

TEST(CorrectSelector, TodaysFormsAreLeftAlone) {
  for (const char* fine :
       {"device.driver == 'gpu.nvidia.com'",
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('16Gi')) >= 0",
        "device.attributes[\"dra.net\"].ifName.startsWith(\"gpu\")",
        "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('^.*a100.*$')",
        "has(device.attributes['dra.net'].rdma) && device.attributes['dra.net'].rdma",
        "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))",
        "'x' in device.attributes['gpu.nvidia.com']",
        "device.attributes['resource.kubernetes.io']"
        "['pcieRoot'] == 'pci0000:64'"}) {
    EXPECT_TRUE(Rules(fine).empty()) << fine;
    EXPECT_EQ(Corrected(fine), fine);
  }
}

TEST(CorrectSelector, FaultsKnowTheirPlace) {
  const auto faults = CorrectSelector("true && device.attributes['memory'] >= 16Gi", "d").faults;
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].offset, 8U);
}

}  // namespace
}  // namespace drachma::lint
