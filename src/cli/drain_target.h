#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/dra_types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::cli {

// What a drain is about, without an API server: devices and their names, the DeviceTaintRules that
// drain them, who holds them.

// A device, or with an empty `device` all devices of a pool.
struct DrainTarget {
  std::string driver;
  std::string pool;
  std::string device;

  // "DRIVER/POOL/DEVICE", "DRIVER/POOL".
  [[nodiscard]] std::string Text() const;
  friend bool operator==(const DrainTarget&, const DrainTarget&) = default;
};

// What drain puts on rules of its own, so that undrain knows them.
inline constexpr std::string_view kDrainTaintKey = "drachma.dev/drained";
inline constexpr std::string_view kDrainTarget = "drachma.dev/drain-target";  // annotation
inline constexpr std::string_view kDrainReason = "drachma.dev/drain-reason";  // annotation

// The devices that `text` (DRIVER/POOL/DEVICE or DRIVER/POOL) can mean. Names of pools may have
// slashes; a device goes before a pool. ERRORS: kBadRequest: not of that form; kNotFound with the
// nearest names.
[[nodiscard]] Result<DrainTarget> FindDrainTarget(std::string_view text,
                                                  std::span<const json::Value> slices);
// The pools of a node, or single devices of pools that several nodes have a part of.
// ERRORS: kNotFound with the nearest name.
[[nodiscard]] Result<std::vector<DrainTarget>> DrainTargetsOfNode(
    std::string_view node, std::span<const json::Value> slices);
// Every reading of `text`, whether such devices exist or not.
[[nodiscard]] std::vector<DrainTarget> ReadingsOf(std::string_view text);

// The name of the rule that drains `target`: always the same, never that of another target.
[[nodiscard]] std::string DrainRuleName(const DrainTarget& target);
// The rule in the API version `version`. `effect` is NoSchedule or NoExecute.
[[nodiscard]] json::Value MakeDrainRule(const DrainTarget& target, std::string_view version,
                                        std::string_view effect, std::string_view reason);
[[nodiscard]] bool IsDrainRule(const json::Value& rule);

// A claim that has devices of a target.
struct DrainHolder {
  std::string claim;  // "namespace/name"
  std::string ns;
  std::vector<std::string> devices;
  std::vector<std::string> pods;  // names of reservedFor; "podgroups/NAME" for other kinds
  // Its allocation tolerates the rule's taint for ever, so that nobody evicts its pods.
  bool tolerates = false;
};

// Sorted by claim. REQUIRES: `effect` as for the rules.
[[nodiscard]] std::vector<DrainHolder> DrainHoldersOf(std::span<const DrainTarget> targets,
                                                      std::span<const json::Value> claims,
                                                      std::string_view effect);

}  // namespace drachma::cli
