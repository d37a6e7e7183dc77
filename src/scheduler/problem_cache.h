#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/allocator.h"
#include "state/node_table.h"

namespace drachma::scheduler {

// What the allocator said about a problem on a node.
struct NodeMemo {
  enum class Answer : std::uint8_t { kUnknown, kFits, kMisfit, kNodeFailure };
  std::uint64_t revision = 0;  // of the node's devices when it was asked
  Answer answer = Answer::kUnknown;
  float cost = 0;        // of the devices chosen; less is better
  float preference = 0;  // by the alternatives chosen; more is better (8 - index each)
};

// A problem of the allocator shared by all pods whose unallocated claims have equal specs, with the
// answers so far.
struct ProblemEntry {
  explicit ProblemEntry(allocator::Problem p) : problem(std::move(p)) {}

  allocator::Problem problem;
  bool has_alternatives = false;                 // a request has firstAvailable
  std::vector<NodeMemo> nodes;                   // by state::NodeIndex
  std::vector<allocator::SelectorFault> faults;  // each once
  std::string node_failure;                      // the latest failure that concerned one node only

  [[nodiscard]] NodeMemo& MemoOf(state::NodeIndex node) {
    if (nodes.size() <= node) nodes.resize(node + 1);
    return nodes[node];
  }
  void Remember(const std::vector<allocator::SelectorFault>& new_faults);
};

// Prepared problems by the text of what they ask. Bounded: at the limit all are forgotten.
class ProblemCache {
 public:
  static constexpr std::size_t kProblemsMax = 256;
  static constexpr std::size_t kFaultsMax = 64;

  explicit ProblemCache(allocator::Inventory& inventory) : inventory_(inventory) {}

  // The entry for `key`; `claims` are what it asks, used when it is new.
  [[nodiscard]] std::shared_ptr<ProblemEntry> Get(const std::string& key,
                                                  const std::vector<api::ResourceClaim>& claims);
  void Clear() { entries_.clear(); }

 private:
  allocator::Inventory& inventory_;
  std::unordered_map<std::string, std::shared_ptr<ProblemEntry>> entries_;
};

}  // namespace drachma::scheduler
