#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "json/value.h"

namespace drachma::gpu {

// Effects of device taints, the worse one later.
enum class TaintEffect : std::uint8_t { kNone, kNoSchedule, kNoExecute };
[[nodiscard]] std::string_view NameOf(TaintEffect effect);

// Something that is wrong with a GPU.
struct Fault {
  enum class Kind : std::uint8_t {
    kXid,          // the GPU reported an error; taint gpu.nvidia.com/xid with its number
    kLost,         // it does not answer; gpu.nvidia.com/gpu-lost
    kUnmonitored,  // its errors cannot be heard; gpu.nvidia.com/unmonitored
  };
  // A whole GPU ("gpu-0": with all its parts), a part ("gpu-0-mig-1g10gb-19-0"), or "*": all.
  std::string device;
  Kind kind = Kind::kXid;
  int xid = 0;
  TaintEffect effect = TaintEffect::kNoSchedule;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// What an XID means for pods: kNone for those that a program causes by itself, after which the GPU
// serves the next one; else kNoSchedule.
[[nodiscard]] TaintEffect EffectOfXid(int xid);

// The taints of a device that `faults` ask for: one for each kind, of the worst effect; of equal
// ones the first.
[[nodiscard]] std::vector<json::Value> TaintsOf(const Board& board, const BoardDevice& device,
                                                std::span<const Fault> faults);

// Faults as people write them to simulate some: "gpu-0=xid:79", "gpu-1=lost:NoExecute",
// "*=unmonitored", with commas between. ERRORS: kInvalid.
[[nodiscard]] Result<std::vector<Fault>> ParseFaults(std::string_view text);

}  // namespace drachma::gpu
