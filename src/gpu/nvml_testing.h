#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "gpu/fake_nvml/fake_nvml.h"
#include "gpu/nvml_backend.h"
#include "node/test_folder.h"

namespace drachma::gpu {

// The fake NVML, and a folder that looks like the root of a machine with its driver: device files,
// what /proc and /sys tell, and programs that write down how they were called.
class FakeMachine {
 public:
  static constexpr int kInstancesMax = 20;

  FakeMachine(const char* model, int count) : library_(dlopen(DRACHMA_FAKE_NVML, RTLD_NOW)) {
    Function<FakeNvmlSetUp>("fakeNvmlSetUp")(model, count);
    for (const char* file : {"nvidiactl", "nvidia-uvm"}) Write(fmt::format("dev/{}", file), "");
    for (int gpu = 0; gpu < count; ++gpu) {
      Write(fmt::format("dev/nvidia{}", gpu), "");
      const std::string address = fmt::format("0000:{:02x}:00.0", 0x10 + gpu);
      const std::string place = fmt::format("sys/devices/pci0000:10/{}", address);
      Write(place + "/numa_node", fmt::format("{}\n", gpu));
      std::filesystem::create_directories(root() + "/sys/bus/pci/devices");
      std::filesystem::create_symlink(root() + "/" + place,
                                      root() + "/sys/bus/pci/devices/" + address);
      for (int id = 1; id < kInstancesMax; ++id) {
        const std::string instance =
            fmt::format("proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", gpu, id);
        const int minor = 2 * (gpu * kInstancesMax + id) + 1;
        Write(instance + "/access",
              fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\n", minor));
        Write(instance + "/ci0/access", fmt::format("DeviceFileMinor: {}\n", minor + 1));
      }
    }
    for (const char* tool : {"nvidia-smi", "nvidia-cuda-mps-control"}) {
      WriteTool(tool, fmt::format("echo {} $* >> {}/calls; cat >> {}/calls", tool, root(), root()));
    }
  }
  ~FakeMachine() { dlclose(library_); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  [[nodiscard]] NvmlBackend::Options Options(bool dynamic_mig = false) const {
    return {.library = DRACHMA_FAKE_NVML,
            .driver_root = root(),
            .system_root = root(),
            .mps_folder = root() + "/mps",
            .dynamic_mig = dynamic_mig};
  }
  [[nodiscard]] const std::string& root() const { return folder_.path(); }
  // How the driver's programs were called, and what was written to them.
  [[nodiscard]] std::string Calls() const { return folder_.ReadFile("calls"); }
  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root() + "/" + file).parent_path());
    folder_.WriteFile(file, text);
  }
  void WriteTool(std::string_view name, const std::string& script) const {
    const std::string file = fmt::format("usr/bin/{}", name);
    Write(file, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(root() + "/" + file, std::filesystem::perms::owner_all);
  }
  void Set(int gpu, FakeNvmlFact fact, int value) const {
    Function<FakeNvmlSetFact>("fakeNvmlSetFact")(gpu, fact, value);
  }
  [[nodiscard]] int Get(int gpu, FakeNvmlFact fact) const {
    return Function<FakeNvmlGetFact>("fakeNvmlGetFact")(gpu, fact);
  }
  void RaiseXid(int gpu, int xid, unsigned int instance = 0xFFFFFFFF) const {
    Function<FakeNvmlRaiseXid>("fakeNvmlRaiseXid")(gpu, xid, instance);
  }
  [[nodiscard]] int Changes() const { return Function<FakeNvmlChanges>("fakeNvmlChanges")(); }

 private:
  template <typename F>
  [[nodiscard]] F Function(const char* name) const {
    return reinterpret_cast<F>(dlsym(library_, name));
  }

  void* const library_;
  const node::TestFolder folder_;
};

}  // namespace drachma::gpu
