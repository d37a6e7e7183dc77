// A driver that is killed at every step of its work, on hardware that survives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ostream>
#include <utility>

#include "gpu/driver.h"
#include "gpu/sim_backend.h"
#include "gpu/testing.h"
#include "node/test_folder.h"

namespace drachma::gpu {
namespace {

using json::Value;
using node::Folder;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kKilled = 99;

// Ends the process before and after writes: every second step lies before one.
struct Fuse {
  int steps_left = 0;  // 0: never
  void Step() {
    if (steps_left > 0 && --steps_left == 0) _exit(kKilled);
  }
};

class FusedFolder final : public Folder {
 public:
  FusedFolder(std::shared_ptr<Folder> folder, Fuse& fuse)
      : folder_(std::move(folder)), fuse_(fuse) {}

  Result<std::optional<std::string>> Read(const std::string& name) override {
    return folder_->Read(name);
  }
  Status Write(const std::string& name, const std::string& text) override {
    return Guarded([&] { return folder_->Write(name, text); });
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return Guarded([&] { return folder_->Rename(from, to); });
  }
  Status Remove(const std::string& name) override {
    return Guarded([&] { return folder_->Remove(name); });
  }
  Result<std::vector<std::string>> List() override { return folder_->List(); }

 private:
  Status Guarded(const std::function<Status()>& action) {
    fuse_.Step();
    Status done = action();
    fuse_.Step();
    return done;
  }

  const std::shared_ptr<Folder> folder_;
  Fuse& fuse_;
};

// A driver with its hardware, as a process starts it.
struct Process {
  std::unique_ptr<GpuDriver> driver;
  SimBackend* hardware = nullptr;
};

class Machine {
 public:
  explicit Machine(std::string gpus) : gpus_(std::move(gpus)) {}

  Process Start(Fuse& fuse) {
    const auto state =
        std::make_shared<FusedFolder>(node::OpenFolder(folder_.path() + "/state").value(), fuse);
    const auto cdi =
        std::make_shared<FusedFolder>(node::OpenFolder(folder_.path() + "/cdi").value(), fuse);
    auto backend = SimBackend::Create("node-1", ParseSimSpec(gpus_).value(),
                                      {.folder = state, .boot_id = boot_})
                       .value();
    SimBackend* const hardware = backend.get();
    return {.driver =
                GpuDriver::Create({.pool = "node-1", .state = state, .cdi = cdi, .boot_id = boot_},
                                  std::move(backend))
                    .value(),
            .hardware = hardware};
  }
  Process Start() { return Start(fuse_); }
  void Reboot() { boot_ += '+'; }

  // Runs `work` in a process of its own that is killed at step `step`. False: it came to its end.
  bool KilledAt(int step, const std::function<void(GpuDriver&)>& work) {
    const pid_t child = fork();
    if (child == 0) {
      Fuse fuse{.steps_left = step};
      const Process process = Start(fuse);
      work(*process.driver);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == kKilled;
  }

  [[nodiscard]] std::vector<std::string> Specs() const {
    return node::OpenFolder(folder_.path() + "/cdi").value()->List().value();
  }
  void WriteState(const std::string& name, const std::string& text) const {
    folder_.WriteFile("state/" + name, text);
  }
  void RemoveSpecs() const { std::filesystem::remove_all(folder_.path() + "/cdi"); }

 private:
  const std::string gpus_;
  std::string boot_ = "boot";
  const node::TestFolder folder_;
  Fuse fuse_;
};

void ExpectUntouched(const SimBackend& hardware) {
  EXPECT_THAT(hardware.daemons(), IsEmpty());
  for (const int minor : {0, 1}) {
    const SimBackend::Settings& settings = hardware.settings(minor);
    EXPECT_EQ(settings.time_slice, TimeSlice::kDefault);
    EXPECT_EQ(settings.compute_mode, ComputeMode::kDefault);
    EXPECT_FALSE(settings.mig_enabled);
    EXPECT_THAT(settings.parts, IsEmpty());
  }
}

struct Work {
  std::string name;
  std::string gpus;
  Value claim;

  friend void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }
};

std::vector<Work> AllWork() {
  return {{"Parts", "H100-80GB x2 mig=dynamic",
           ConfiguredClaim(
               "a", {"gpu-0-mig-1g10gb-19-0", "gpu-0-mig-3g40gb-9-4", "gpu-1-mig-7g80gb-0-0"})},
          {"TimeSlices", "H100-80GB x2", ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kLongTurns)},
          {"Mps", "H100-80GB x2", ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kMps)},
          {"Plain", "H100-80GB x2", ConfiguredClaim("a", {"gpu-0"})}};
}

// What must hold after a restart, wherever the driver was killed: nothing is there that no claim
// accounts for, the devices have one holder at most, and the claim can be finished both ways.
void CheckAfterRestart(Machine& machine, const Value& claim) {
  const Process process = machine.Start();
  Value rival = claim;
  rival.Edit("metadata").Set("uid", "rival");
  const bool held = process.driver->prepared() > 0;
  if (held) {
    EXPECT_FALSE(PrepareClaim(*process.driver, rival)) << "a device in two hands";
    EXPECT_THAT(machine.Specs(), SizeIs(1));
  } else {
    ExpectUntouched(*process.hardware);
    EXPECT_THAT(machine.Specs(), IsEmpty());
    const node::PrepareResult taken = PrepareClaim(*process.driver, rival);
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_TRUE(UnprepareClaim(*process.driver, "rival"));
  }
  const node::PrepareResult prepared = PrepareClaim(*process.driver, claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(machine.Specs(), SizeIs(1));
  ASSERT_TRUE(UnprepareClaim(*process.driver, "a"));
  ExpectUntouched(*process.hardware);
  EXPECT_THAT(machine.Specs(), IsEmpty());
  EXPECT_EQ(process.driver->prepared(), 0U);
}

class CrashTest : public testing::TestWithParam<Work> {};

TEST_P(CrashTest, NoStepOfPrepareLeavesAnythingBehind) {
  constexpr int kStepsMax = 200;
  int step = 1;
  for (bool killed = true; killed; ++step) {
    ASSERT_LT(step, kStepsMax);
    SCOPED_TRACE(step);
    Machine machine(GetParam().gpus);
    killed = machine.KilledAt(
        step, [](GpuDriver& driver) { EXPECT_TRUE(PrepareClaim(driver, GetParam().claim)); });
    CheckAfterRestart(machine, GetParam().claim);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(step, 4);  // the journal and the spec at least
}

TEST_P(CrashTest, NoStepOfUnprepareLeavesAnythingBehind) {
  constexpr int kStepsMax = 200;
  for (int step = 1; step < kStepsMax; ++step) {
    SCOPED_TRACE(step);
    Machine machine(GetParam().gpus);
    ASSERT_TRUE(PrepareClaim(*machine.Start().driver, GetParam().claim));
    const bool killed =
        machine.KilledAt(step, [](GpuDriver& driver) { EXPECT_TRUE(UnprepareClaim(driver, "a")); });
    CheckAfterRestart(machine, GetParam().claim);
    if (HasFatalFailure()) return;
    if (!killed) break;
  }
}

// The driver that cleans up after one that was killed is killed as well.
TEST_P(CrashTest, NoStepOfTheNextStartLeavesAnythingBehind) {
  for (const int first : {3, 5, 8}) {
    for (int step = 1, killed = true; killed && step < 60; ++step) {
      SCOPED_TRACE(testing::Message() << first << " then " << step);
      Machine machine(GetParam().gpus);
      machine.KilledAt(
          first, [](GpuDriver& driver) { EXPECT_TRUE(PrepareClaim(driver, GetParam().claim)); });
      killed = machine.KilledAt(step, [](GpuDriver&) {});
      CheckAfterRestart(machine, GetParam().claim);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrashTest, testing::ValuesIn(AllWork()),
                         [](const auto& work) { return work.param.name; });

TEST(Restart, ACompletedClaimIsAnsweredFromTheJournal) {
  Machine machine("H100-80GB x2 mig=dynamic");
  const Value claim = ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"});
  const node::PrepareResult before = PrepareClaim(*machine.Start().driver, claim);
  const Process process = machine.Start();
  const node::PrepareResult after = PrepareClaim(*process.driver, claim);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->front().report, before->front().report);
  EXPECT_EQ(after->front().cdi_device_ids, before->front().cdi_device_ids);
  EXPECT_THAT(process.hardware->settings(0).parts, SizeIs(1));
  ASSERT_THAT(process.driver->Held(), SizeIs(1));
  EXPECT_EQ(process.driver->Held()[0].claim.ns, "default");
}

TEST(Restart, SpecsThatAreGoneAreWrittenAgain) {
  Machine machine("H100-80GB x2");
  ASSERT_TRUE(PrepareClaim(*machine.Start().driver, ConfiguredClaim("a", {"gpu-0"})));
  machine.RemoveSpecs();
  const Process process = machine.Start();
  EXPECT_THAT(machine.Specs(), SizeIs(1));
}

TEST(Restart, AfterARebootNothingIsHeldAndThePartIsMadeAgain) {
  Machine machine("H100-80GB x2 mig=dynamic");
  const Value claim = ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"});
  ASSERT_TRUE(PrepareClaim(*machine.Start().driver, claim));
  machine.Reboot();
  const Process process = machine.Start();
  EXPECT_EQ(process.driver->prepared(), 0U);
  EXPECT_THAT(machine.Specs(), IsEmpty());
  ASSERT_TRUE(PrepareClaim(*process.driver, claim));
  EXPECT_THAT(process.hardware->settings(0).parts, SizeIs(1));
}

TEST(Restart, APartThatSomebodyDestroyedIsMadeAgain) {
  Machine machine("H100-80GB x2 mig=dynamic");
  const Value claim = ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"});
  {
    const Process process = machine.Start();
    ASSERT_TRUE(PrepareClaim(*process.driver, claim));
    ASSERT_TRUE(process.hardware->DestroyPart(0, process.hardware->settings(0).parts.front().uuid));
  }
  const Process process = machine.Start();
  ASSERT_TRUE(PrepareClaim(*process.driver, claim));
  EXPECT_THAT(process.hardware->settings(0).parts, SizeIs(1));
}

TEST(Restart, WithADamagedJournalTheHardwareIsPutInOrder) {
  for (const Work& work : AllWork()) {
    SCOPED_TRACE(work.name);
    Machine machine(work.gpus);
    ASSERT_TRUE(PrepareClaim(*machine.Start().driver, work.claim));
    machine.WriteState("gpu.nvidia.com.journal", "drachma-jou");
    const Process process = machine.Start();
    EXPECT_EQ(process.driver->prepared(), 0U);
    ExpectUntouched(*process.hardware);
    // The containers of the claim may start again until the kubelet gives it back.
    EXPECT_THAT(machine.Specs(), SizeIs(1));
    ASSERT_TRUE(UnprepareClaim(*process.driver, "a"));
    EXPECT_THAT(machine.Specs(), IsEmpty());
  }
}

}  // namespace
}  // namespace drachma::gpu
