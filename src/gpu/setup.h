#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/backend.h"
#include "gpu/board.h"
#include "gpu/claim_config.h"
#include "json/value.h"

namespace drachma::gpu {

// A device of a claim on its way to the containers.
struct SetUpDevice {
  const Board* board = nullptr;
  const BoardDevice* device = nullptr;
  bool admin = false;  // adminAccess: it is looked at, and stays as others set it up
  std::string uuid;    // of the GPU or the part; empty until the part has been made
  std::string daemon;  // the MPS daemon that serves it; empty: none
  json::Value report;  // what was done to it, for status.devices[].data; null: nothing
};

// One thing that is done to the hardware for a claim. The plan of all of them is written down
// before the first one is done, so that a driver that was killed on the way can undo what it did
// without knowing how far it came.
struct Change {
  enum class Kind : std::uint8_t { kMigMode, kPart, kComputeMode, kTimeSlice, kMpsDaemon };
  Kind kind = Kind::kPart;
  int minor = 0;
  Part part;                            // kPart; its uuid is filled in when it has been made
  const MigProfile* profile = nullptr;  // kPart, until it has been made
  ComputeMode mode = ComputeMode::kDefault;
  TimeSlice slice = TimeSlice::kDefault;
  MpsDaemon daemon;
};

// What is to be done so that `devices` serve the claim as the configs of its groups say: parts are
// made, whole GPUs get time slices or MPS (time slices of parts mean nothing to the hardware).
// Fills in the devices' reports and daemons. Pure.
// ERRORS: kInvalid for memory limits, and for MPS where parts are made for claims (the NVIDIA
// driver's gates for the two exclude each other).
[[nodiscard]] Result<std::vector<Change>> PlanChanges(std::string_view claim_uid,
                                                      std::span<const ConfigGroup> groups,
                                                      std::span<SetUpDevice> devices);

// ERRORS: the backend's.
[[nodiscard]] Status Apply(Backend& backend, Change& change);

// Undoes `changes`, the last first, whether or not they were made. What others (another claim's
// part on the same GPU) still need stays.
// ERRORS: the backend's, the first of them; the rest has been tried all the same.
[[nodiscard]] Status Undo(Backend& backend, std::span<const Change> changes);

// For the journal: all that Undo needs.
[[nodiscard]] json::Value WriteChanges(std::span<const Change> changes);
[[nodiscard]] std::vector<Change> ReadChanges(const json::Value& value);

}  // namespace drachma::gpu
