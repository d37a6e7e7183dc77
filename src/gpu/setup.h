#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "gpu/claim_config.h"
#include "json/value.h"

namespace drachma::gpu {

// A device of a claim on its way to the containers.
struct SetUpDevice {
  const Board* board = nullptr;
  const BoardDevice* device = nullptr;
  bool admin = false;  // adminAccess: it is looked at, and stays as others set it up
  std::string uuid;    // of the GPU, or of the part once it has been made
  json::Value report;  // what was done to it, for status.devices[].data; null: nothing
};

// One thing that was done to the hardware for a claim: all it takes to undo it.
struct Change {
  enum class Kind : std::uint8_t { kPart, kTimeSlice, kComputeMode, kMpsDaemon };
  Kind kind = Kind::kPart;
  int minor = 0;
  std::string id;  // the part's UUID, the daemon's id
};

// Makes the parts among `devices` and fills in their uuids. Appends what was done to `changes`,
// also when it fails on the way. ERRORS: the backend's.
[[nodiscard]] Status MakeParts(Backend& backend, std::span<SetUpDevice> devices,
                               std::vector<Change>& changes);

// Sets the devices of `group` up as its config says: time slices and MPS of whole GPUs (time slices
// of parts mean nothing to the hardware). ERRORS: kInvalid for memory limits, and for MPS where
// parts are made (the NVIDIA driver's gates for the two exclude each other); the backend's.
[[nodiscard]] Status Share(Backend& backend, std::string_view claim_uid, const ConfigGroup& group,
                           std::span<SetUpDevice> devices, std::vector<Change>& changes);

// Undoes `changes`, the last first. What cannot be undone is logged and left.
void Undo(Backend& backend, std::vector<Change> changes);

}  // namespace drachma::gpu
