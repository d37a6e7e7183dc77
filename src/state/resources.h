#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json/value.h"

namespace drachma::state {

// A resource other than cpu, memory and ephemeral-storage, as a small number.
using ResourceId = std::uint32_t;

// Numbers for the names of resources. Grows only; one owner (the view of a cluster).
class ResourceNames {
 public:
  [[nodiscard]] ResourceId IdOf(std::string_view name);
  [[nodiscard]] const std::string& NameOf(ResourceId id) const { return names_[id]; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, ResourceId> ids_;
};

// Amounts of resources: cpu in thousandths, the rest in whole units, each rounded up (upstream's
// framework.Resource).
struct Amounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  std::vector<std::pair<ResourceId, std::int64_t>> others;  // by id; no zeros by construction

  [[nodiscard]] std::int64_t Other(ResourceId id) const;
  void SetOther(ResourceId id, std::int64_t amount);
  void Add(const Amounts& amounts);
  void Subtract(const Amounts& amounts);
  // The greater one of each resource.
  void RaiseTo(const Amounts& amounts);
  [[nodiscard]] bool IsZero() const;

  friend bool operator==(const Amounts&, const Amounts&) = default;
};

// The amounts of a map of quantities ({"cpu": "500m"}); "pods" and what is no quantity are left
// out.
[[nodiscard]] Amounts ReadAmounts(const json::Value& quantities, ResourceNames& names);

// What a pod asks of its node: the sum of containers and sidecars, or the greatest init container
// on top of the sidecars before it, raised to what is allocated already during a resize; or what
// the pod itself asks (pod-level resources); plus its overhead (component-helpers' PodRequests).
[[nodiscard]] Amounts PodRequests(const json::Value& pod, ResourceNames& names);

// What a container without a request counts as when nodes are scored (upstream's
// DefaultMilliCPURequest and DefaultMemoryRequest), so that such pods spread, too.
inline constexpr std::int64_t kUnstatedCpuMilli = 100;
inline constexpr std::int64_t kUnstatedMemory = 200 * 1024 * 1024;
struct ScoredAmounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
};
[[nodiscard]] ScoredAmounts PodScoredRequests(const json::Value& pod);

}  // namespace drachma::state
