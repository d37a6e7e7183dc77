#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/backend.h"
#include "gpu/sim_spec.h"
#include "json/value.h"
#include "node/folder.h"

namespace drachma::gpu {

// Boards that stand in for hardware: the same node name always gives the same uuids and the same
// wiring (two NUMA nodes, two GPUs to a PCIe root). What is set is remembered and can be asked for;
// with a folder it survives the process, until the machine boots again, as settings of hardware do.
class SimBackend final : public Backend {
 public:
  struct Settings {
    TimeSlice time_slice = TimeSlice::kDefault;
    ComputeMode compute_mode = ComputeMode::kDefault;
    bool mig_enabled = false;
    std::vector<Part> parts;
  };
  struct Memory {
    std::shared_ptr<node::Folder> folder;  // null: none
    std::string boot_id;
  };

  // Without memory.
  SimBackend(std::string node_name, const Model& model, int count, MigMode mig);
  // ERRORS: those of the folder.
  [[nodiscard]] static Result<std::unique_ptr<SimBackend>> Create(std::string node_name,
                                                                  SimSpec spec, Memory memory = {},
                                                                  std::string stand_in = {});

  [[nodiscard]] Result<std::vector<Board>> Enumerate() override;
  [[nodiscard]] Status SetTimeSlice(int minor, TimeSlice slice) override;
  [[nodiscard]] Status SetComputeMode(int minor, ComputeMode mode) override;
  [[nodiscard]] Status SetMigMode(int minor, bool enabled) override;
  [[nodiscard]] Result<std::string> CreatePart(int minor, const MigProfile& profile,
                                               int start) override;
  [[nodiscard]] Status DestroyPart(int minor, const std::string& uuid) override;
  [[nodiscard]] Status StartMps(const MpsDaemon& daemon) override;
  [[nodiscard]] Status StopMps(const std::string& id) override;
  [[nodiscard]] std::vector<std::string> MpsDaemons() override;
  [[nodiscard]] Result<node::CdiEdits> CommonEdits() override;
  [[nodiscard]] Result<node::CdiEdits> EditsOf(const Board& board, const Part* part) override;
  [[nodiscard]] node::CdiEdits MpsEdits(const std::string& daemon) override;
  [[nodiscard]] std::vector<Fault> Faults() override { return faults_; }
  void Watch(std::function<void()> changed) override { changed_ = std::move(changed); }

  [[nodiscard]] const SimSpec& spec() const { return spec_; }
  // Somebody changes the hardware: other GPUs, another MIG mode, other parts. GPUs whose model and
  // MIG mode stay keep their settings, and those of MigMode::kDynamic their parts.
  [[nodiscard]] Status Reconfigure(SimSpec spec);
  void SetFaults(std::vector<Fault> faults);

  // `minor` is one of Enumerate()'s.
  [[nodiscard]] const Settings& settings(int minor) const {
    return settings_.at(static_cast<std::size_t>(minor));
  }
  [[nodiscard]] const std::map<std::string, MpsDaemon>& daemons() const { return daemons_; }

 private:
  SimBackend(std::string node_name, SimSpec spec, Memory memory, std::string stand_in)
      : node_name_(std::move(node_name)),
        memory_(std::move(memory)),
        stand_in_(std::move(stand_in)),
        spec_(std::move(spec)) {}

  // The boards of spec_, and the settings of those that are new.
  [[nodiscard]] Status Build();
  [[nodiscard]] Status Load();
  [[nodiscard]] Status Save() const;
  [[nodiscard]] Result<Settings*> Find(int minor);
  // Tries `change` on the settings of a GPU; undone when they cannot be written.
  [[nodiscard]] Status Change(int minor, const std::function<void(Settings&)>& change);
  [[nodiscard]] Part PartOf(int minor, int profile, int start) const;
  [[nodiscard]] node::CdiEdits::DeviceNode Node(std::string path) const;

  const std::string node_name_;
  const Memory memory_;
  const std::string stand_in_;  // the host's file for all device nodes; empty: those of real GPUs
  SimSpec spec_;
  std::vector<Board> boards_;       // by minor number
  std::vector<Settings> settings_;  // likewise
  std::map<std::string, MpsDaemon> daemons_;
  std::vector<Fault> faults_;
  std::function<void()> changed_;
};

}  // namespace drachma::gpu
