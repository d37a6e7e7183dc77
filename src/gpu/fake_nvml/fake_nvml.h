#pragma once

// What tests do to the GPUs of the fake NVML, which is opened as NVML is: these are further
// functions of the same library. GPUs are told by their index, which is their minor number.
extern "C" {

// Starts anew with `count` GPUs of a model of the catalogue.
using FakeNvmlSetUp = void (*)(const char* model, int count);
// A program reports an error of GPU instance `instance` (0xFFFFFFFF: of the whole GPU).
using FakeNvmlRaiseXid = void (*)(int gpu, int xid, unsigned int instance);
enum FakeNvmlFact {
  kFakeLost,            // the GPU does not answer
  kFakeInUse,           // a program runs on it: its instances cannot be destroyed
  kFakeNeedsReset,      // its MIG mode changes at a reset only
  kFakeRecoveryAction,  // an NVML_GPU_RECOVERY_ACTION_*; negative: it cannot tell
  kFakeNoEvents,        // its errors cannot be heard
  kFakeNoCompute,       // compute instances cannot be made: insufficient resources
  kFakeComputeMode,     // as it was set
  kFakePendingMig,      // the mode after the next reset
  kFakeFactCount,
};
using FakeNvmlSetFact = void (*)(int gpu, int fact, int value);
using FakeNvmlGetFact = int (*)(int gpu, int fact);
// How many calls changed something since it was set up.
using FakeNvmlChanges = int (*)();

}  // extern "C"
