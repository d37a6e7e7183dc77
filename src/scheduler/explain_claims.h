#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/cluster_state.h"

namespace drachma::scheduler {

// How people call who holds devices: the pod that a claim was generated for, "pod ns/name", or the
// claim itself with who uses it, "claim ns/name (pod one, two)". Says of pods whether they are
// being deleted.
[[nodiscard]] std::string HolderText(const state::ClusterState& state,
                                     const std::string& claim_key);

// "pod ns/name", with what is to be known of it.
[[nodiscard]] std::string PodText(const state::ClusterState& state, std::string_view ns,
                                  std::string_view name);

// The devices of an allocated claim: "DRIVER/POOL/DEVICE (request gpu)"; of extended resources
// "(nvidia.com/gpu of container main)".
[[nodiscard]] std::vector<std::string> DevicesOf(const state::ClusterState& state,
                                                 const state::ClaimView& claim);

// "key=value:effect", or "key:effect".
[[nodiscard]] std::string TaintText(std::string_view key, std::string_view value,
                                    std::string_view effect);

void AddOnce(std::vector<std::string>& texts, std::string text);
// "a, b, c and 5 more".
[[nodiscard]] std::string FewOf(const std::vector<std::string>& names);

// "; did you mean x?" for a name that nothing has; empty when no name is near.
[[nodiscard]] std::string DidYouMean(std::string_view name, const std::vector<std::string>& names);

}  // namespace drachma::scheduler
