#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "allocator/inventory.h"
#include "allocator/table.h"

// From the slices of pools to what one node can reach: upstream's GatherPools. Private to this
// folder.
namespace drachma::allocator {

// Which slices of a pool a node reaches, and the fault that stopped the check.
struct Relevance {
  std::vector<bool> relevant;  // by index into Pool::slices
  bool any = false;
  std::string fault;
};
[[nodiscard]] Relevance RelevantSlices(const Pool& pool, const Node& node,
                                       const Features& features);

// The view of `pool` through its relevant slices. REQUIRES: at least one is relevant.
[[nodiscard]] std::unique_ptr<PoolView> BuildPoolView(const Pool& pool,
                                                      const std::vector<bool>& relevant,
                                                      const Features& features);

// The view of a node from the views of its pools, which it puts into the order of the search.
[[nodiscard]] std::unique_ptr<NodeView> BuildNodeView(const Node& node,
                                                      std::vector<const PoolView*> pools);

// counters minus what the pool's allocated devices take.
[[nodiscard]] std::vector<Amount> AvailableCounters(
    const PoolView& view, const std::function<bool(const Slice&, std::size_t)>& allocated);

}  // namespace drachma::allocator
