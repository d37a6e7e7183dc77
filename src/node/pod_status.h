#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

// What a kubelet writes into status of pods and nodes. Pure.
namespace drachma::node {

// How the containers of a pod ended.
struct PodEnd {
  bool failed = false;
  std::int64_t exit_code = 0;
  std::string reason;  // "Completed", "Error"
};

struct PodAddresses {
  std::string pod_ip;
  std::string host_ip;
};

// Strategic merge patches of pods/status for the stages of a pod's life.
[[nodiscard]] json::Value CreatingPatch(const json::Value& pod, const PodAddresses& addresses,
                                        Time now);
[[nodiscard]] json::Value RunningPatch(const json::Value& pod, const PodAddresses& addresses,
                                       Time now);
[[nodiscard]] json::Value EndedPatch(const json::Value& pod, const PodEnd& end, Time now);
// A pod that the kubelet refuses, or whose deadline has passed.
[[nodiscard]] json::Value FailedPatch(const json::Value& pod, std::string_view reason,
                                      std::string_view message);

}  // namespace drachma::node
