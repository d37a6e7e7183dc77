#include "lint/known_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "gpu/catalogue.h"

namespace drachma::lint {
namespace {

using enum ValueType;

constexpr std::string_view kNvidia = "gpu.nvidia.com";
constexpr std::string_view kDomains = "compute-domain.nvidia.com";
constexpr std::string_view kExample = "gpu.example.com";
constexpr std::string_view kIntel = "gpu.intel.com";
constexpr std::string_view kKubernetes = "resource.kubernetes.io";

std::vector<std::string_view> Types() { return {"gpu", "mig", "vfio"}; }
std::vector<std::string_view> DomainTypes() { return {"channel", "daemon"}; }
std::vector<std::string_view> Architectures() {
  return {"Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"};
}
std::vector<std::string_view> Products() {
  std::vector<std::string_view> products;
  for (const gpu::Model& model : gpu::Models()) products.push_back(model.product);
  return products;
}
std::vector<std::string_view> Profiles() {
  std::vector<std::string_view> profiles;
  for (const gpu::Model& model : gpu::Models()) {
    for (const gpu::MigProfile& profile : model.profiles) profiles.push_back(profile.name);
  }
  return profiles;
}

constexpr auto kKnownNames = std::to_array<KnownName>({
    {kNvidia, "type", "type", kText, "", Types},
    {kNvidia, "uuid", "uuid"},
    {kNvidia, "productname", "productName", kText, "", Products},
    {kNvidia, "model", "productName", kText, "", Products},
    {kNvidia, "product", "productName", kText, "", Products},
    {kNvidia, "brand", "brand"},
    {kNvidia, "architecture", "architecture", kText, "", Architectures},
    {kNvidia, "arch", "architecture", kText, "", Architectures},
    {kNvidia, "cudacomputecapability", "cudaComputeCapability", kVersion},
    {kNvidia, "computecapability", "cudaComputeCapability", kVersion},
    {kNvidia, "driverversion", "driverVersion", kVersion},
    {kNvidia, "cudadriverversion", "cudaDriverVersion", kVersion},
    {kNvidia, "cudaversion", "cudaDriverVersion", kVersion},
    {kNvidia, "addressingmode", "addressingMode"},
    {kNvidia, "profile", "profile", kText, "", Profiles},
    {kNvidia, "migprofile", "profile", kText, "", Profiles},
    {kNvidia, "parentuuid", "parentUUID"},
    {kNvidia, "deviceid", "deviceID"},
    {kNvidia, "vendorid", "vendorID"},
    {kNvidia, "iommufdenabled", "iommuFDEnabled", kBool},
    {kNvidia, "gpumoduleid", "gpuModuleID", kInt},
    {kNvidia, "partition1", "partition1", kInt},
    {kNvidia, "partition2", "partition2", kInt},
    {kNvidia, "partition4", "partition4", kInt},
    {kNvidia, "partition8", "partition8", kInt},
    {kNvidia, "numa", "numaNode", kInt, kKubernetes},
    {kNvidia, "numanode", "numaNode", kInt, kKubernetes},
    {kNvidia, "pcieroot", "pcieRoot", kText, kKubernetes},
    {kNvidia, "pcibusid", "pciBusID", kText, kKubernetes},
    {kNvidia, "pciebusid", "pciBusID", kText, kKubernetes},
    {kNvidia, "memory", "memory", kQuantity},
    {kNvidia, "gpumemory", "memory", kQuantity},
    {kNvidia, "mem", "memory", kQuantity},
    {kNvidia, "vram", "memory", kQuantity},
    {kNvidia, "addressablememory", "addressableMemory", kQuantity},
    {kNvidia, "multiprocessors", "multiprocessors", kQuantity},
    {kNvidia, "copyengines", "copyEngines", kQuantity},
    {kNvidia, "decoders", "decoders", kQuantity},
    {kNvidia, "encoders", "encoders", kQuantity},
    {kNvidia, "jpegengines", "jpegEngines", kQuantity},
    {kNvidia, "ofaengines", "ofaEngines", kQuantity},
    {kDomains, "type", "type", kText, "", DomainTypes},
    {kDomains, "id", "id", kInt},
    {kExample, "index", "index", kInt},
    {kExample, "uuid", "uuid"},
    {kExample, "model", "model"},
    {kExample, "driverversion", "driverVersion", kVersion},
    {kExample, "memory", "memory", kQuantity},
    {kExample, "compute", "compute", kQuantity},
    {kIntel, "family", "family"},
    {kIntel, "model", "model"},
    {kIntel, "driver", "driver"},
    {kIntel, "sriov", "sriov", kBool},
    {kIntel, "memory", "memory", kQuantity},
    {kKubernetes, "numanode", "numaNode", kInt, kKubernetes},
    {kKubernetes, "pcieroot", "pcieRoot", kText, kKubernetes},
    {kKubernetes, "pcibusid", "pciBusID", kText, kKubernetes},
});

// Drivers all of whose attributes stand above.
constexpr std::array<std::string_view, 2> kComplete = {kNvidia, kDomains};

}  // namespace

std::string Folded(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ' || c == '.') continue;
    folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folded;
}

const KnownName* FindKnown(std::string_view driver, std::string_view name) {
  const std::string folded = Folded(name);
  const auto found = std::ranges::find_if(kKnownNames, [&](const KnownName& known) {
    return known.driver == driver && known.written == folded;
  });
  return found == kKnownNames.end() ? nullptr : &*found;
}

std::string AttributesOf(std::string_view driver) {
  if (std::ranges::find(kComplete, driver) == kComplete.end()) return {};
  std::vector<std::string_view> names;
  for (const KnownName& known : kKnownNames) {
    const bool own = known.driver == driver && known.domain.empty() && known.type != kQuantity;
    if (own && Folded(known.name) == known.written) names.push_back(known.name);
  }
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace drachma::lint
