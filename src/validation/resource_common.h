#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "json/value.h"
#include "validation/field_error.h"
#include "validation/strategy.h"

// Parts of the hand-written rules of resource.k8s.io that several of its kinds share
// (k8s.io/kubernetes/pkg/apis/resource/validation/validation.go).
namespace drachma::validation {

// Limits of the API (k8s.io/api/resource/v1).
inline constexpr std::size_t kRequestsMax = 32;
inline constexpr std::size_t kConstraintsMax = 32;
inline constexpr std::size_t kConfigMax = 32;
inline constexpr std::size_t kSelectorsMax = 32;
inline constexpr std::size_t kFirstAvailableMax = 8;
inline constexpr std::size_t kResultsMax = 32;
inline constexpr std::size_t kReservedForMax = 256;
inline constexpr std::size_t kBindingConditionsMax = 4;
inline constexpr std::int64_t kOpaqueBytesMax = 10240;

// Whether what is checked stands in storage already, where it was checked when it came.
enum class Origin : std::uint8_t { kNew, kStored };

// Whether declarative rules report the same, so that these errors give way to them.
enum class CoveredBy : std::uint8_t { kNothing, kDeclarative };

using ItemRule = std::function<ErrorList(const json::Value& item, const std::string& path)>;
using KeyOf = std::function<std::string(const json::Value& item)>;

// A list of at most `max` items (npos: any number), each by `rule`. A list that is too long is one
// TooMany and nothing else.
[[nodiscard]] ErrorList ValidateList(const json::Value& list, std::size_t max, const ItemRule& rule,
                                     const std::string& path, CoveredBy size);
// The same with unique items: a later one with the key of an earlier is a Duplicate (shown: the
// key, `shown_key` says how).
[[nodiscard]] ErrorList ValidateSet(const json::Value& list, std::size_t max, const ItemRule& rule,
                                    const KeyOf& shown_key, const std::string& path, CoveredBy size,
                                    CoveredBy uniqueness);
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

// Keys of a map are reported at the map's path, values at path[key] (a long key is shortened in
// the middle to `key_max` bytes).
[[nodiscard]] ErrorList ValidateMap(const json::Value& map, std::size_t max, std::size_t key_max,
                                    const std::function<ErrorList(std::string_view)>& key_rule,
                                    const ItemRule& rule, const std::string& path, CoveredBy keys);

[[nodiscard]] ErrorList ValidateDriverName(std::string_view name, const std::string& path,
                                           CoveredBy by = CoveredBy::kNothing);
[[nodiscard]] ErrorList ValidatePoolName(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateDnsLabel(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateDnsSubdomain(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateShareId(std::string_view uid, const std::string& path);
[[nodiscard]] ErrorList ValidateLabelValueAt(std::string_view value, const std::string& path);
// "id" or "domain/id"; the names of attributes and capacities.
[[nodiscard]] ErrorList ValidateQualifiedName(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateFullyQualifiedName(std::string_view name, const std::string& path);

// A runtime.RawExtension: an object of at most `bytes_max` bytes of JSON, as it was sent.
[[nodiscard]] ErrorList ValidateRaw(const Context& context, const json::Value& raw,
                                    const std::string& path, Origin origin, std::int64_t bytes_max);
// `opaque` of a configuration entry.
[[nodiscard]] ErrorList ValidateConfiguration(const Context& context, const json::Value& config,
                                              const std::string& path, Origin origin);
[[nodiscard]] ErrorList ValidateDeviceTaint(const json::Value& taint, const json::Value* old,
                                            const std::string& path);
[[nodiscard]] ErrorList ValidateToleration(const json::Value& toleration, const std::string& path);
[[nodiscard]] ErrorList ValidateBindingConditions(const json::Value& holder,
                                                  const std::string& path);
[[nodiscard]] ErrorList ValidateSkipNodeOperations(const json::Value& operations,
                                                   const std::string& path);

// One CEL expression that is new. `cost` is raised by its worst case when it compiles.
enum class Expression : std::uint8_t { kSelector, kDerivedAttribute };
[[nodiscard]] ErrorList ValidateExpression(const Context& context, std::string_view text,
                                           Expression kind, const std::string& path,
                                           std::uint64_t* cost);
[[nodiscard]] ErrorList ValidateSelectors(const Context& context, const json::Value& selectors,
                                          const std::string& path, Origin origin);

// The names of requests of a claim and of their alternatives.
class RequestNames {
 public:
  explicit RequestNames(const json::Value& device_claim);
  // "request" or "request/subrequest".
  [[nodiscard]] bool Has(std::string_view ref) const;

 private:
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> names_;
};
[[nodiscard]] ErrorList ValidateRequestRef(std::string_view ref, const std::string& path,
                                           const RequestNames& names);
// A list of such references, at most kRequestsMax and unique.
[[nodiscard]] ErrorList ValidateRequestRefs(const json::Value& refs, const std::string& path,
                                            const RequestNames& names);

// The devices that requests may name, of the claim and its template: see resource_claim.cc.
[[nodiscard]] ErrorList ValidateDeviceClaim(const Context& context, const json::Value& devices,
                                            const std::string& path, Origin origin);
// Whether the namespace of the claim allows admin access: one error for the first request that
// asks for it (pkg/registry/resource/utils.go).
[[nodiscard]] ErrorList AuthorizeAdminAccess(const Context& context, const json::Value& requests,
                                             std::string_view ns);
// All of a status update but its metadata: authorisation and rules.
[[nodiscard]] ErrorList AuthorizeClaimStatus(const Context& context, const json::Value& claim,
                                             const json::Value& old);
[[nodiscard]] ErrorList ValidateClaimStatus(const Context& context, const json::Value& claim,
                                            const json::Value& old);
[[nodiscard]] ErrorList ValidateSliceSpec(const Context& context, const json::Value& spec,
                                          const json::Value* old, const std::string& path);
// The policy of a capacity that may be shared; pure arithmetic (resource_policy.cc).
[[nodiscard]] ErrorList ValidateRequestPolicy(const Context& context, const json::Value& capacity,
                                              const json::Value& policy, const std::string& path);

// driver, pool, device and share of an entry, as {"Driver":…}: upstream's SharedDeviceID.
[[nodiscard]] std::string ShownDeviceId(const json::Value& entry);

}  // namespace drachma::validation
