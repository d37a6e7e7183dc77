#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "allocator/inventory.h"
#include "allocator/options.h"
#include "allocator/outcome.h"
#include "api/dra_types.h"
#include "base/random.h"

// Structured allocation of devices: which devices go to the claims of one pod on one node.
//
//   Inventory inventory(options);            // follows the informers
//   Problem problem(inventory, claims);      // once per pod
//   Overlay overlay;                         // optional: what if these claims were gone
//   if (MightFit(problem, node, overlay)) outcome = Allocate(problem, node, overlay, random);
//
// Semantics are those of k8s.io/dynamic-resource-allocation/structured (the experimental variant,
// switched by Features); see docs/allocator.md for how the search differs inside.
//
// Pure: no I/O, no clock, no logging.
namespace drachma::allocator {

// The unallocated claims of a pod, prepared for any number of nodes: classes looked up, selectors
// compiled and registered, requirements decoded. Valid until the inventory's next change of
// classes; changes of slices, claims, nodes and rules do not matter to it.
class Problem {
 public:
  // Changes the inventory (registers selectors): see Inventory's threads. Faults of the claims are
  // kept and come out of Allocate, in upstream's order.
  Problem(Inventory& inventory, std::vector<api::ResourceClaim> claims);
  ~Problem();
  Problem(Problem&&) noexcept;
  Problem& operator=(Problem&&) noexcept;

  [[nodiscard]] const Inventory& inventory() const;
  [[nodiscard]] const std::vector<api::ResourceClaim>& claims() const;

  struct Impl;  // for this folder's own files
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A supposition about usage, laid over an inventory without changing it: claims whose devices
// count as free (victims of a preemption) and allocations that count as made. Empty is the plain
// inventory. A value type; belongs to one thread.
class Overlay {
 public:
  void Release(std::string_view uid) { released_.emplace_back(uid); }
  void Restore(std::string_view uid) { std::erase(released_, uid); }
  void Take(api::AllocationResult allocation) { taken_.push_back(std::move(allocation)); }
  void Clear() {
    released_.clear();
    taken_.clear();
  }
  [[nodiscard]] bool empty() const { return released_.empty() && taken_.empty(); }
  [[nodiscard]] const std::vector<std::string>& released() const { return released_; }
  [[nodiscard]] const std::vector<api::AllocationResult>& taken() const { return taken_; }

 private:
  std::vector<std::string> released_;
  std::vector<api::AllocationResult> taken_;
};

// Tries to allocate all claims of the problem on the node. `random` makes the share ids of shared
// devices; nothing else depends on it. The node must be known to the inventory.
[[nodiscard]] Outcome Allocate(const Problem& problem, NodeIndex node, const Overlay& overlay,
                               Random& random);

// The quick look, some ten nanoseconds per node: false when counting matching free devices shows
// that Allocate would not find a fit there. It may say true for a node where they do not fit, and
// says true where Allocate would fail.
[[nodiscard]] bool MightFit(const Problem& problem, NodeIndex node, const Overlay& overlay);
// MightFit for all of `nodes` at once, in one pass over the dense table; appends those that pass.
void FilterNodes(const Problem& problem, std::span<const NodeIndex> nodes,
                 std::vector<NodeIndex>& passed);

// The full account of why the claims do not fit on the node, with the smallest change that would
// help. Slower than Allocate (it looks at every device); for events and `explain`.
// REQUIRES: Allocate gave a Misfit for the same arguments.
[[nodiscard]] Misfit Explain(const Problem& problem, NodeIndex node, const Overlay& overlay);

}  // namespace drachma::allocator
