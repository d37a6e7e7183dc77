#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "lint/convert_pod.h"

namespace drachma::lint {

// What the labels of GPU feature discovery that a pod asks of its node say of its devices.
struct LabelsTaken {
  bool mig = false;         // what asks for whole GPUs means parts of them
  std::string mig_profile;  // empty: any
  std::vector<std::string> selectors;
  std::vector<Change> changes;  // that take the labels from nodeSelector and required affinity
};

// `mig`: the pod asks for such parts by name. What only nodes can say stays, with a warning in
// `out`.
[[nodiscard]] LabelsTaken TakeLabels(const json::Value& object, const std::string& pod_path,
                                     bool mig, Conversion& out);

}  // namespace drachma::lint
