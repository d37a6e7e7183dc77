#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "allocator/options.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"
#include "client/client.h"

namespace drachma::scheduler {

using allocator::DeviceOrder;
using allocator::SelectorErrors;

struct Options {
  // Pods with this spec.schedulerName are ours.
  std::string scheduler_name = "default-scheduler";
  // Whether a selector that fails at run time on a device (a missing attribute) makes the device
  // one that does not match, with one warning event, or stops the pod's attempt (upstream).
  SelectorErrors selector_errors = SelectorErrors::kSkip;
  // Which of the devices that fit is taken: the one whose loss costs least, or upstream's first.
  DeviceOrder device_order = DeviceOrder::kBestFit;
  // Overrides of upstream's gates and their 1.37 defaults; unknown names are ignored.
  std::map<std::string, bool> feature_gates;
  // Whether to schedule only while holding the lease kube-system/<scheduler_name> (several replicas
  // of this role against one API server).
  bool leader_election = false;

  // Upstream's podInitialBackoffSeconds and podMaxBackoffSeconds.
  Duration backoff_initial = std::chrono::seconds(1);
  Duration backoff_max = std::chrono::seconds(10);
  // A pod that no event woke is tried again after this time (upstream's
  // podMaxInUnschedulablePodsDuration).
  Duration unschedulable_max = std::chrono::minutes(5);
  // DynamicResourcesArgs.bindingTimeout, and how often a waiting claim is looked at.
  Duration binding_timeout = std::chrono::seconds(600);
  // Which part of the nodes is looked at before the best of the found ones is taken, 1 to 100; 0
  // adapts to the size of the cluster as upstream does.
  int percentage_of_nodes_to_score = 0;
  // Pods whose writes are on their way at once. At the limit the queue waits.
  std::size_t bindings_max = 4096;
  // Seeds device shares' ids, names of generated claims and jitter.
  std::uint64_t seed = 0;
};

// What the scheduler's allocator takes of them.
[[nodiscard]] allocator::Options AllocatorOptions(const Options& options);

// Counts since the start, for metrics and tests.
struct Statistics {
  std::uint64_t attempts = 0;       // scheduling cycles
  std::uint64_t bound = 0;          // pods bound
  std::uint64_t unschedulable = 0;  // cycles that found no node
  std::uint64_t errors = 0;         // cycles or bindings that failed
  std::uint64_t preemptions = 0;    // pods deleted to make room
  std::uint64_t conflicts = 0;      // writes that had to be repeated
  std::size_t active = 0;           // pods waiting for their turn
  std::size_t backoff = 0;          // pods waiting for their back-off
  std::size_t waiting = 0;          // pods waiting for an event that can help them
  std::size_t gated = 0;            // pods held by scheduling gates or claims that do not exist yet
  std::size_t binding = 0;          // pods whose writes are on their way
};

// The scheduler: watches pods, nodes and DRA objects through clients of `factory`, finds a node and
// devices for every pod that asks for it, and writes the allocation and the binding.
//
// One actor on `executor`: every member function is called from a task of it (or before the
// executor runs), and the destructor runs there too. It behaves the same on a ThreadExecutor over
// HTTPS or in process, and on a VirtualExecutor with the whole cluster in one thread.
//
// Source: k8s.io/kubernetes/pkg/scheduler; differences are in docs/scheduling.md.
class Scheduler {
 public:
  // `factory` and `executor` must outlive the scheduler.
  Scheduler(Options options, client::ClientFactory& factory, Executor& executor);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Begins to follow the API server; schedules once all informers have their first copy.
  void Start();
  [[nodiscard]] bool synced() const;
  // Whether nothing is left to do until something changes: no pod is active, in back-off or being
  // bound, and no event or status write is on its way. Pods that cannot be scheduled are at rest.
  [[nodiscard]] bool AtRest() const;
  [[nodiscard]] Statistics statistics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::scheduler
