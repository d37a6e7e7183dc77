#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::simulation {

// Objects that the script writes.

// What a pod asks for.
struct PodNeeds {
  std::string template_name;   // a claim of its own from this template; empty: none
  std::string claim_name;      // or this claim
  int extended_gpus = 0;       // or nvidia.com/gpu
  std::string group;           // a member of this PodGroup
  std::string priority_class;  // empty: none
  int run_seconds = 0;         // then it ends; 0: never
};

[[nodiscard]] json::Value PodSpec(const PodNeeds& needs);
[[nodiscard]] json::Value PodTemplate(const PodNeeds& needs, std::string_view app);
[[nodiscard]] json::Value Pod(std::string_view ns, std::string_view name, const PodNeeds& needs);
[[nodiscard]] json::Value Deployment(std::string_view ns, std::string_view name, int replicas,
                                     const PodNeeds& needs);
[[nodiscard]] json::Value Job(std::string_view ns, std::string_view name, int pods,
                              const PodNeeds& needs);
[[nodiscard]] json::Value PodGroup(std::string_view ns, std::string_view name, int min_count);
[[nodiscard]] json::Value Quota(std::string_view ns, int claims, int gpus, int pods);
// `spec` is that of the ResourceClaim.
[[nodiscard]] json::Value Claim(std::string_view ns, std::string_view name, json::Value spec);
[[nodiscard]] json::Value ClaimTemplate(std::string_view ns, std::string_view name,
                                        json::Value spec);
// Requests of one device class: `count` devices, with the parts that `yaml` adds to "exactly".
[[nodiscard]] json::Value ClaimSpec(std::string_view device_class, int count,
                                    std::string_view yaml = {});
// From YAML; of this program, so it is well-formed.
[[nodiscard]] json::Value FromYaml(std::string_view yaml);

}  // namespace drachma::simulation
