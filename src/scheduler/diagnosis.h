#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "explain/device_account.h"
#include "scheduler/queue.h"
#include "state/node_table.h"

namespace drachma::scheduler {

// Why no node took a pod: reasons with the number of nodes that each one holds for.
struct Diagnosis {
  std::size_t nodes = 0;
  // A reason that concerns the pod, not the nodes ("request r: device class c does not exist").
  std::string pod_reason;
  std::map<std::string, std::size_t, std::less<>> node_reasons;
  Rejectors rejectors;
  // Nodes that could take the pod if pods on them went.
  std::vector<state::NodeIndex> preemptable;
  // Our account of devices, shown after upstream's reasons.
  explain::DeviceAccount devices;
  // What preemption said, without the prefix.
  std::string preemption;

  void AddNode(std::string_view reason, Rejector rejector);

  // As upstream's FitError, with the account of devices before preemption's word:
  // "0/3 nodes are available: 3 cannot allocate all claims. <devices>. preemption: …".
  [[nodiscard]] std::string Message() const;
};

}  // namespace drachma::scheduler
