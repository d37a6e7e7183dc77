#include "scheduler/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::scheduler {

void Diagnosis::AddNode(std::string_view reason, Rejector rejector) {
  const auto found = node_reasons.find(reason);
  if (found == node_reasons.end()) {
    node_reasons.emplace(reason, 1);
  } else {
    ++found->second;
  }
  rejectors.Add(rejector);
}

std::string Diagnosis::Message() const {
  if (nodes == 0) return "no nodes available to schedule pods";
  std::string message = fmt::format("0/{} nodes are available:", nodes);
  if (!pod_reason.empty()) {
    message += fmt::format(" {}.", pod_reason);
  } else if (!node_reasons.empty()) {
    // Upstream sorts the counted reasons as texts.
    std::vector<std::string> counted;
    for (const auto& [reason, count] : node_reasons) {
      counted.push_back(fmt::format("{} {}", count, reason));
    }
    std::ranges::sort(counted);
    message += fmt::format(" {}.", fmt::join(counted, ", "));
  }
  if (!devices.empty()) message += fmt::format(" {}.", devices.Sentence());
  if (!preemption.empty()) message += fmt::format(" preemption: {}", preemption);
  return message;
}

}  // namespace drachma::scheduler
