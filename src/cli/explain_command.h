#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/output.h"

namespace drachma::cli {

struct ExplainArguments {
  PlaneArguments plane;  // how the scheduler was started, where not as `up` starts it
  std::string target;    // "pod/x", "device/DRIVER/POOL/DEVICE", or a kind
  std::string name;      // when `target` is a kind alone
  std::string ns;        // default: the context's
  std::string kubeconfig;
  OutputFormat output = OutputFormat::kTable;
};

// Why a pod, a claim or a device waits or is held, from what the API server shows. The answer is
// the same whoever schedules the pod.
int RunExplain(const ExplainArguments& arguments);

}  // namespace drachma::cli
