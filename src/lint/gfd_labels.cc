#include "lint/gfd_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "gpu/catalogue.h"

namespace drachma::lint {
namespace {

enum class About : std::uint8_t { kProduct, kFamily, kMemory, kNumber, kText, kImplied };

struct KnownLabel {
  std::string_view key;  // behind "nvidia.com/"
  About about;
  std::string_view attribute = {};  // and the part of the version
};
constexpr auto kLabels = std::to_array<KnownLabel>({
    {"gpu.product", About::kProduct},
    {"gpu.family", About::kFamily},
    {"gpu.memory", About::kMemory},
    {"gpu.compute.major", About::kNumber, "cudaComputeCapability.major()"},
    {"gpu.compute.minor", About::kNumber, "cudaComputeCapability.minor()"},
    {"cuda.driver.major", About::kNumber, "driverVersion.major()"},
    {"cuda.driver.minor", About::kNumber, "driverVersion.minor()"},
    {"cuda.driver.rev", About::kNumber, "driverVersion.patch()"},
    {"cuda.driver-version.major", About::kNumber, "driverVersion.major()"},
    {"cuda.driver-version.minor", About::kNumber, "driverVersion.minor()"},
    {"cuda.driver-version.revision", About::kNumber, "driverVersion.patch()"},
    {"cuda.driver-version.full", About::kText, "driverVersion"},
    {"cuda.runtime.major", About::kNumber, "cudaDriverVersion.major()"},
    {"cuda.runtime.minor", About::kNumber, "cudaDriverVersion.minor()"},
    {"cuda.runtime-version.major", About::kNumber, "cudaDriverVersion.major()"},
    {"cuda.runtime-version.minor", About::kNumber, "cudaDriverVersion.minor()"},
    {"gpu.present", About::kImplied},
    {"gpu.deploy.device-plugin", About::kImplied},
    {"gpu.deploy.driver", About::kImplied},
    {"gpu.deploy.container-toolkit", About::kImplied},
    {"mig.strategy", About::kImplied},
    {"gpu.sharing-strategy", About::kImplied},
    {"gpu.replicas", About::kImplied},
});
constexpr std::string_view kPrefix = "nvidia.com/";
constexpr std::string_view kAttribute = "device.attributes['gpu.nvidia.com']";

std::string Dashed(std::string_view product) {
  std::string dashed(product);
  std::ranges::replace(dashed, ' ', '-');
  return dashed;
}

// "Ada Lovelace" of "ada-lovelace".
std::string Architecture(std::string_view family) {
  std::string name;
  bool begins = true;
  for (const char c : family) {
    name += c == '-' ? ' ' : begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '-';
  }
  return name;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A label's value cannot have the spaces of a product's name, and says more behind it.
std::string ProductIs(std::string_view value, std::string& profile) {
  if (const std::size_t part = value.find("-MIG-"); part != std::string_view::npos) {
    profile = value.substr(part + 5);
    value = value.substr(0, part);
    if (profile.ends_with(".me")) profile.replace(profile.size() - 3, 3, "+me");
  }
  if (value.ends_with("-SHARED")) value.remove_suffix(7);
  for (const gpu::Model& model : gpu::Models()) {
    if (Dashed(model.product) == value) {
      return fmt::format("{}.productName == '{}'", kAttribute, model.product);
    }
  }
  return fmt::format("{}.productName.replace(' ', '-') == '{}'", kAttribute, value);
}

// `label op value` of one value as CEL; empty when it cannot be said.
std::string Compare(const KnownLabel& label, std::string_view op, std::string_view value,
                    LabelMeaning& meaning) {
  const bool equal = op == "In" || op == "NotIn";
  const std::string_view sign = equal ? "==" : op == "Gt" ? ">" : "<";
  switch (label.about) {
    case About::kProduct:
      return equal ? ProductIs(value, meaning.mig_profile) : "";
    case About::kFamily:
      return equal ? fmt::format("{}.architecture == '{}'", kAttribute, Architecture(value)) : "";
    case About::kMemory:
      return IsNumber(value) ? fmt::format(
                                   "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity("
                                   "'{}Mi')) {} 0",
                                   value, sign)
                             : "";
    case About::kNumber:
      return IsNumber(value) ? fmt::format("{}.{} {} {}", kAttribute, label.attribute, sign, value)
                             : "";
    case About::kText:
      return equal ? fmt::format("{}.{}.compareTo(semver('{}')) == 0", kAttribute, label.attribute,
                                 value)
                   : "";
    case About::kImplied:
      break;
  }
  return "";
}

}  // namespace

bool IsGfdLabel(std::string_view key) { return key.starts_with(kPrefix); }

LabelMeaning MeaningOf(std::string_view key, std::string_view op,
                       std::span<const std::string> values, bool mig) {
  LabelMeaning meaning;
  if (!IsGfdLabel(key)) return meaning;
  const auto* label = std::ranges::find(kLabels, key.substr(kPrefix.size()), &KnownLabel::key);
  if (label == kLabels.end()) return meaning;
  // A part of a GPU has memory of its own; the label has the GPU's.
  if (label->about == About::kMemory && mig) return meaning;
  if (label->about == About::kImplied) {
    const bool positive = op == "Exists" || (op == "In" && values.size() == 1 &&
                                             values[0] != "false" && values[0] != "none");
    if (positive) meaning.type = LabelMeaning::Type::kImplied;
    return meaning;
  }
  if (op == "Exists") {
    meaning.type = LabelMeaning::Type::kImplied;
    return meaning;
  }
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    parts.push_back(Compare(*label, op, value, meaning));
    if (parts.back().empty()) return {};
  }
  if (parts.empty() || (op != "In" && op != "NotIn" && op != "Gt" && op != "Lt")) return {};
  // Several profiles are no single one.
  if (!meaning.mig_profile.empty() && (parts.size() > 1 || op != "In")) return {};
  meaning.type = LabelMeaning::Type::kSelector;
  meaning.selector = fmt::format("{}", fmt::join(parts, " || "));
  if (op == "NotIn") meaning.selector = fmt::format("!({})", meaning.selector);
  return meaning;
}

}  // namespace drachma::lint
