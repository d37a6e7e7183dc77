#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "validation/field_error.h"

namespace drachma::validation {

// What is wrong with a text that should be of some form; empty when nothing is. The texts are
// apimachinery's (util/validation and api/validate/content, which differ in "characters" and
// "bytes").
using Faults = std::vector<std::string>;

[[nodiscard]] Faults IsDns1123Label(std::string_view text);
[[nodiscard]] Faults IsDns1123Subdomain(std::string_view text);
[[nodiscard]] Faults IsDns1035Label(std::string_view text);
// A label key: optional DNS subdomain and "/", then a name of at most 63 bytes.
[[nodiscard]] Faults IsLabelKey(std::string_view text);
[[nodiscard]] Faults IsLabelValue(std::string_view text);
[[nodiscard]] Faults IsCIdentifier(std::string_view text);
[[nodiscard]] Faults IsPathSegmentName(std::string_view text);
[[nodiscard]] Faults IsPathSegmentPrefix(std::string_view text);
[[nodiscard]] Faults IsPortNumber(std::int64_t port);
[[nodiscard]] Faults IsPortName(std::string_view text);
[[nodiscard]] Faults IsEnvVarName(std::string_view text);
[[nodiscard]] Faults IsRelaxedEnvVarName(std::string_view text);
[[nodiscard]] Faults IsConfigMapKey(std::string_view text);
[[nodiscard]] Faults IsHttpHeaderName(std::string_view text);
[[nodiscard]] Faults IsPercent(std::string_view text);
// The "bytes" variants of api/validate/content.
[[nodiscard]] Faults IsShortName(std::string_view text);
[[nodiscard]] Faults IsLongName(std::string_view text);
[[nodiscard]] Faults IsLongNameCaseless(std::string_view text);

// Names of objects (apimachinery's ValidateNameFunc). A prefix (generateName) may end in what a
// whole name may not.
enum class NamePart : std::uint8_t { kWhole, kPrefix };
using NameRule = Faults (*)(std::string_view name, NamePart part);
[[nodiscard]] Faults NameIsDnsSubdomain(std::string_view name, NamePart part);
[[nodiscard]] Faults NameIsDnsLabel(std::string_view name, NamePart part);
[[nodiscard]] Faults NameIsDns1035Label(std::string_view name, NamePart part);
[[nodiscard]] Faults NameIsPathSegment(std::string_view name, NamePart part);

// One Invalid per fault, with the text as bad value.
[[nodiscard]] ErrorList InvalidEach(std::string_view path, std::string_view text,
                                    const Faults& faults, std::string_view origin = {});

// "example.com/gpu": what pods may ask nodes for beside the native resources
// (core/v1/helper.IsExtendedResourceName).
[[nodiscard]] bool IsExtendedResourceName(std::string_view name);
// No domain, or kubernetes.io's.
[[nodiscard]] bool IsNativeResource(std::string_view name);
[[nodiscard]] bool IsHugePageResourceName(std::string_view name);
// What a quota may count without naming a group: "requests.cpu", "pods", huge pages.
[[nodiscard]] bool IsStandardQuotaName(std::string_view name);

// A canonical address with prefix length ("192.0.2.5/24"): what is wrong with it, or empty.
[[nodiscard]] std::string InterfaceAddressFault(std::string_view text);
// A canonical IP address: what is wrong with it, or empty.
[[nodiscard]] std::string IpFault(std::string_view text);

[[nodiscard]] std::string AsciiLower(std::string_view text);
[[nodiscard]] std::vector<std::string_view> Split(std::string_view text, char separator);
// Number of code points, as Go's utf8.RuneCountInString counts.
[[nodiscard]] std::size_t RuneCount(std::string_view text);

}  // namespace drachma::validation
