#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace drachma::cli {

// `drachma node --kubelet-dir`: the GPU driver of a real kubelet's node.
struct DriverArguments {
  std::string kubeconfig;
  std::string kubelet_dir;
  std::string node_name;
  std::string backend = "nvml";
  std::string cdi_dir = "/var/run/cdi";
  std::string state_dir;  // empty: KUBELET_DIR/plugins/DRIVER
  std::string pod_uid;
  std::string healthz;
  std::string metrics_listen;
  std::string simulated_gpus;
  std::string stand_in;
  std::string driver_root;
  bool dynamic_mig = false;
};

// Whether the flags of `drachma node` that were given ("--cdi-dir") go together.
// ERRORS: kBadRequest, naming the two that do not.
[[nodiscard]] Status CheckNodeFlags(const std::set<std::string>& given, const std::string& backend);

int RunDriver(const DriverArguments& arguments);

}  // namespace drachma::cli
