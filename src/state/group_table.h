#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/client.h"
#include "json/value.h"

namespace drachma::state {

inline const client::Resource kPodGroups = {"scheduling.k8s.io", "v1beta1", "podgroups"};

// An entry of a pod group's spec.resourceClaims. Its claim has the name, or was made from the
// template for the group as a whole.
struct GroupClaim {
  std::string name;           // of the entry
  std::string claim_name;     // spec: of a claim that somebody else made
  std::string template_name;  // spec: of the template that the claim is made from
};

// A PodGroup as the scheduler reasons about it, read once per revision.
struct GroupView {
  json::Value object;
  std::string uid;
  std::string ns;
  std::string name;
  // Pods that must have a place before any of them starts; 1 under the basic policy.
  std::size_t min_count = 1;
  bool is_gang = false;
  // Who evicts one of its pods evicts all of them (spec.disruptionMode.all).
  bool is_disrupted_as_one = false;
  std::int64_t priority = 0;
  std::vector<GroupClaim> claims;

  [[nodiscard]] std::string key() const { return ns + "/" + name; }
};

using GroupPtr = std::shared_ptr<const GroupView>;

[[nodiscard]] GroupPtr ReadGroup(json::Value group);

// All pod groups by "namespace/name". Single-threaded.
class GroupTable {
 public:
  void Put(const json::Value& group);
  void Remove(std::string_view key) { groups_.erase(std::string(key)); }
  // Null when it is not there.
  [[nodiscard]] GroupPtr Find(std::string_view key) const;

 private:
  std::unordered_map<std::string, GroupPtr> groups_;
};

}  // namespace drachma::state
