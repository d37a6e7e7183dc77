#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allocator/inventory.h"
#include "api/dra_types.h"
#include "json/value.h"
#include "state/pod_view.h"

namespace drachma::state {

// A ResourceClaim as the scheduler knows it, read once per revision.
struct ClaimView {
  json::Value object;
  std::string uid;
  std::string ns;
  std::string name;
  std::string fault;         // why `claim` could not be read; empty when it could
  api::ResourceClaim claim;  // with `allocation` when the API has one
  // Equal for claims with the same spec.
  std::uint64_t spec_id = 0;
  bool deleting = false;

  [[nodiscard]] std::string key() const { return ns + "/" + name; }
  [[nodiscard]] bool allocated() const { return claim.allocation.has_value(); }
  // status.reservedFor.
  [[nodiscard]] std::size_t consumers() const;
  [[nodiscard]] bool IsReservedFor(std::string_view uid) const;
  // Whether it is reserved for the PodGroup of this name: pods know no more of their group.
  [[nodiscard]] bool IsReservedForGroup(std::string_view group) const;
};

using ClaimPtr = std::shared_ptr<const ClaimView>;

[[nodiscard]] ClaimPtr ReadClaim(json::Value claim, Names& names);

// All claims: the informer's copy overlaid with what this process knows better: answers of its own
// writes, and allocations that are decided but not written yet ("in flight"). Keeps an allocator's
// inventory up to date on who holds what, so that a device in flight counts as taken and no event
// that is on its way can free it (upstream's assume cache and claim tracker). Single-threaded.
class ClaimTable {
 public:
  // `inventory` must outlive the table.
  ClaimTable(Names& names, allocator::Inventory& inventory)
      : names_(names), inventory_(inventory) {}

  // The informer's revision. An older one than what is known by a write of our own is left out.
  // Returns the claim as it counts now.
  ClaimPtr Put(const json::Value& claim);
  // The informer saw it go.
  void Remove(std::string_view key);
  // The answer of a write of our own to a claim: counts unless the informer has seen it go or
  // change since.
  ClaimPtr Assume(const json::Value& claim);
  // The answer of a creation of our own, which the informer may not have seen yet.
  ClaimPtr AssumeCreated(const json::Value& claim) { return Put(claim); }

  // The claim "namespace/name", or null.
  [[nodiscard]] ClaimPtr Find(std::string_view key) const;

  // From now until EndFlight the devices of `allocation` belong to the claim. Members of a pod
  // group may share one: `holder` is the uid of the pod that it is decided for.
  void BeginFlight(const ClaimView& claim, const api::AllocationResult& allocation,
                   std::string_view holder);
  // The allocation was written, or given up, for this holder. With the last holder what the API
  // says counts again.
  void EndFlight(std::string_view uid, std::string_view holder);
  [[nodiscard]] bool InFlight(std::string_view uid) const {
    return in_flight_.contains(std::string(uid));
  }
  [[nodiscard]] const std::unordered_map<std::string, ClaimPtr>& all() const { return claims_; }

 private:
  void Count(const ClaimView& claim);

  Names& names_;
  allocator::Inventory& inventory_;
  std::unordered_map<std::string, ClaimPtr> claims_;  // by key
  struct Flight {
    std::string key;
    std::unordered_set<std::string> holders;
  };
  std::unordered_map<std::string, Flight> in_flight_;  // by uid
};

// resourceVersions as numbers; objects of one kind on one server compare by them
// (apimachinery's resourceversion.CompareResourceVersion).
[[nodiscard]] bool IsOlder(const json::Value& a, const json::Value& b);

}  // namespace drachma::state
