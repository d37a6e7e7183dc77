#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
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
  // How long they wait until they run again; for BackingOffPatch.
  std::chrono::seconds backoff{};
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
// The containers ended with `end` and wait until they run again (CrashLoopBackOff).
[[nodiscard]] json::Value BackingOffPatch(const json::Value& pod, const PodEnd& end, Time now);
// The containers run again: those that still ran, according to `pod`, ended with `end` just now.
[[nodiscard]] json::Value RestartedPatch(const json::Value& pod, const PodEnd& end, Time now);
// When the containers of a pod in CrashLoopBackOff ended; nothing for other pods.
[[nodiscard]] std::optional<Time> BackingOffSince(const json::Value& pod);
// A pod that the kubelet refuses.
[[nodiscard]] json::Value FailedPatch(const json::Value& pod, std::string_view reason,
                                      std::string_view message);

}  // namespace drachma::node
