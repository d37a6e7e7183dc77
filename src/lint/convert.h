#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/finding.h"

namespace drachma::lint {

// What users of device plugins are brought to. kClaims: claims of templates. kExtended: the
// DeviceClass that offers the resource, while pods stay as they are; and back from claims.
enum class ConvertTo : std::uint8_t { kClaims, kExtended };

struct ConvertOptions {
  ConvertTo to = ConvertTo::kClaims;
  std::string driver = "gpu.nvidia.com";  // the domain of names that have none
  std::vector<std::string> keep;          // resources that stay with their device plugins
};

struct FileText {
  std::string name;
  std::string text;
};

struct ConvertedFile {
  std::string name;
  // Errors are what could not be converted: the document is as it was. Places are those of the
  // text that was given.
  std::vector<Finding> findings;
  std::string text;
  bool manifest = true;  // false of a device plugin's config, which is nothing to apply
};

// Brings manifests to today's DRA: old versions and forms by the corrections of check.h, device
// plugins' resources by `options.to`. All files are seen together: configs of the device plugin,
// DeviceClasses and templates of one count for the others. Comments and order stay; what is new
// stands before what needs it. What is converted already stays as it is.
[[nodiscard]] std::vector<ConvertedFile> Convert(std::span<const FileText> files,
                                                 const ConvertOptions& options);

}  // namespace drachma::lint
