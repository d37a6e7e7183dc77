#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/cluster_state.h"

namespace drachma::scheduler {

// How people call who holds devices: the pod that a claim was generated for, "pod ns/name", or the
// claim itself, "claim ns/name".
[[nodiscard]] std::string HolderName(const state::ClusterState& state,
                                     const std::string& claim_key);

// The same with who uses a claim of its own: "claim ns/name (pod one, two)". Says of pods whether
// they are being deleted.
[[nodiscard]] std::string HolderText(const state::ClusterState& state,
                                     const std::string& claim_key);

// "pod ns/name", with what is to be known of it.
[[nodiscard]] std::string PodText(const state::ClusterState& state, std::string_view ns,
                                  std::string_view name);

// The pods that the claim is reserved for and that are being deleted, as "ns/name".
[[nodiscard]] std::vector<std::string> LeavingUsers(const state::ClusterState& state,
                                                    const std::string& claim_key);

// The devices of an allocated claim: "DRIVER/POOL/DEVICE (request gpu)".
[[nodiscard]] std::vector<std::string> DevicesOf(const state::ClaimView& claim);

void AddOnce(std::vector<std::string>& texts, std::string text);
// "a, b, c and 5 more".
[[nodiscard]] std::string FewOf(const std::vector<std::string>& names);

}  // namespace drachma::scheduler
