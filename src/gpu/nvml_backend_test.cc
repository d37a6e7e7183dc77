#include "gpu/nvml_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "gpu/driver.h"
#include "gpu/nvml_testing.h"
#include "gpu/testing.h"
#include "json/json.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NvmlTest : public testing::Test {
 protected:
  std::unique_ptr<GpuDriver> Start(const FakeMachine& machine, bool dynamic_mig = false) {
    return GpuDriver::Create({.pool = "node-1"},
                             NvmlBackend::Open(machine.Options(dynamic_mig), executor_).value())
        .value();
  }
  static std::vector<Value> Published(const GpuDriver& driver) {
    std::vector<Value> devices;
    for (const node::Pool& pool : driver.Pools()) {
      for (const node::SliceContent& slice : pool.slices) {
        devices.insert(devices.end(), slice.devices.begin(), slice.devices.end());
      }
    }
    return devices;
  }
  VirtualExecutor executor_{Time()};
};

TEST_F(NvmlTest, WithoutTheLibraryTheErrorSaysWhatToDo) {
  const auto opened = NvmlBackend::Open({.library = "libno-nvml.so.1"}, executor_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("libno-nvml.so.1"));
  EXPECT_THAT(opened.error().message, HasSubstr("install the NVIDIA driver"));
}

TEST_F(NvmlTest, ALibraryThatIsNotNvmlIsNamed) {
  const auto opened = NvmlBackend::Open({.library = "libm.so.6"}, executor_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("libm.so.6 has no nvml"));
}

TEST_F(NvmlTest, StartingChangesNothing) {
  const FakeMachine machine("H100-80GB", 2);
  const auto driver = Start(machine);
  EXPECT_EQ(machine.Changes(), 0);
  EXPECT_EQ(machine.Calls(), "");
  const auto devices = Published(*driver);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].At({"attributes", "driverVersion", "version"}).AsString(), "535.54.3");
  EXPECT_EQ(devices[0].At({"attributes", "cudaDriverVersion", "version"}).AsString(), "12.2.0");
  EXPECT_EQ(devices[0].At({"capacity", "memory", "value"}).AsString(), "81559Mi");
  EXPECT_FALSE(devices[0].Has("consumesCounters"));
}

TEST_F(NvmlTest, PartsOfAnAdministratorArePublishedAndHeld) {
  const FakeMachine machine("A100-40GB", 2);
  auto backend = NvmlBackend::Open(machine.Options(), executor_).value();
  const auto boards = backend->Enumerate().value();
  ASSERT_TRUE(backend->SetMigMode(0, true));
  const MigProfile& profile = *FindProfile(*boards[0].model, 9);
  const std::string uuid = backend->CreatePart(0, profile, 4).value();
  const auto driver = GpuDriver::Create({.pool = "node-1"}, std::move(backend)).value();
  const auto devices = Published(*driver);
  ASSERT_THAT(devices, SizeIs(2)) << "the part, and the other GPU";
  EXPECT_EQ(devices[0]["name"].AsString(), "gpu-0-mig-3g20gb-9-4");
  EXPECT_EQ(devices[0].At({"attributes", "uuid", "string"}).AsString(), uuid);
  EXPECT_EQ(devices[0].At({"capacity", "memorySlice4", "value"}).AsString(), "1");
  EXPECT_EQ(devices[1]["name"].AsString(), "gpu-1");
  const int changes = machine.Changes();
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0-mig-3g20gb-9-4"})));
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_EQ(machine.Changes(), changes);
}

TEST_F(NvmlTest, ModesThatNeedAResetStayAsTheyAre) {
  const FakeMachine machine("H100-80GB", 1);
  machine.Set(0, kFakeNeedsReset, 1);
  const auto driver = Start(machine, true);
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("must be reset"));
  EXPECT_EQ(machine.Get(0, kFakePendingMig), 0);
}

TEST_F(NvmlTest, AmpereWithoutMigStaysWhole) {
  const FakeMachine machine("A100-40GB", 1);
  const auto driver = Start(machine, true);
  ASSERT_THAT(Published(*driver), SizeIs(1));
  EXPECT_EQ(Published(*driver)[0]["name"].AsString(), "gpu-0");
}

TEST_F(NvmlTest, APartWithoutAComputeInstanceIsNotLeftBehind) {
  const FakeMachine machine("H100-80GB", 1);
  const auto driver = Start(machine, true);
  machine.Set(0, kFakeNoCompute, 1);
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("insufficient resources"));
  const Board board = driver->backend().Enumerate().value()[0];
  EXPECT_THAT(board.parts, IsEmpty());
  EXPECT_FALSE(board.mig_enabled);
  EXPECT_EQ(driver->prepared(), 0U);
}

TEST_F(NvmlTest, APartInUseIsGivenBackLater) {
  const FakeMachine machine("H100-80GB", 1);
  const auto driver = Start(machine, true);
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"})));
  machine.Set(0, kFakeInUse, 1);
  const Status busy = UnprepareClaim(*driver, "a");
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("in use"));
  EXPECT_FALSE(PrepareClaim(*driver, ConfiguredClaim("b", {"gpu-0-mig-1g10gb-19-0"})));
  machine.Set(0, kFakeInUse, 0);
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_TRUE(PrepareClaim(*driver, ConfiguredClaim("b", {"gpu-0-mig-1g10gb-19-0"})));
}

TEST_F(NvmlTest, PartsThatNobodyOwnsGoAtTheStart) {
  const FakeMachine machine("H100-80GB", 1);
  auto backend = NvmlBackend::Open(machine.Options(true), executor_).value();
  const auto boards = backend->Enumerate().value();
  ASSERT_TRUE(backend->SetMigMode(0, true));
  ASSERT_TRUE(backend->CreatePart(0, boards[0].model->profiles[0], 0));
  machine.Set(0, kFakeNoCompute, 1);
  const auto driver = GpuDriver::Create({.pool = "node-1"}, std::move(backend)).value();
  const Board board = driver->backend().Enumerate().value()[0];
  EXPECT_THAT(board.parts, IsEmpty());
  EXPECT_FALSE(board.mig_enabled);
}

TEST_F(NvmlTest, TimeSlicesAreSetByNvidiaSmi) {
  const FakeMachine machine("L4-24GB", 2);
  const auto driver = Start(machine);
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kLongTurns)));
  EXPECT_THAT(machine.Calls(), HasSubstr("compute-policy -i GPU-fake-0 --set-timeslice 3"));
  EXPECT_THAT(machine.Calls(), HasSubstr("compute-policy -i GPU-fake-1 --set-timeslice 1"));
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_THAT(machine.Calls(), HasSubstr("compute-policy -i GPU-fake-0 --set-timeslice 0"));
}

TEST_F(NvmlTest, BoardsWithoutTimeSlicesFailClearlyAndAreGivenBack) {
  const FakeMachine machine("L4-24GB", 2);
  machine.WriteTool("nvidia-smi", "echo 'Operation not supported'; exit 3");
  const auto driver = Start(machine);
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0"}, kLongTurns));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("setting the time slice of GPU 0"));
  EXPECT_EQ(driver->prepared(), 0U);
}

TEST_F(NvmlTest, AnMpsDaemonIsStartedToldItsLimitsAndStopped) {
  const FakeMachine machine("L4-24GB", 2);
  const auto driver = Start(machine);
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kMps)));
  EXPECT_EQ(machine.Get(0, kFakeComputeMode), 3);
  const std::string calls = machine.Calls();
  EXPECT_THAT(calls, HasSubstr("nvidia-cuda-mps-control -d\n"));
  EXPECT_THAT(calls, HasSubstr("set_default_active_thread_percentage 50\n"
                               "set_default_device_pinned_mem_limit 0 10240M\n"
                               "set_default_device_pinned_mem_limit 1 5120M\n"));
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_THAT(machine.Calls(), HasSubstr("quit\n"));
  EXPECT_EQ(machine.Get(0, kFakeComputeMode), 0);
}

TEST_F(NvmlTest, ContainersGetTheDriversLibrariesUnderEveryName) {
  const FakeMachine machine("L4-24GB", 1);
  machine.Write("usr/lib64/libcuda.so.535.54.03", "");
  machine.Write("usr/lib64/libother.so.1", "");
  std::filesystem::create_symlink("libcuda.so.535.54.03",
                                  machine.root() + "/usr/lib64/libcuda.so.1");
  const auto driver = Start(machine);
  const auto edits = driver->backend().CommonEdits().value();
  std::vector<std::string> paths;
  for (const auto& mount : edits.mounts) {
    if (mount.container_path.contains("lib")) paths.push_back(mount.container_path);
  }
  EXPECT_THAT(paths,
              testing::ElementsAre("/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.535.54.03"));
  EXPECT_EQ(edits.mounts[0].host_path, machine.root() + "/usr/lib64/libcuda.so.535.54.03");
}

TEST_F(NvmlTest, NoPodStartsBeforeTheDeviceFilesAreThere) {
  const FakeMachine machine("L4-24GB", 1);
  const auto driver = GpuDriver::Create({.pool = "node-1",
                                         .cdi = node::OpenFolder(machine.root() + "/cdi").value()},
                                        NvmlBackend::Open(machine.Options(), executor_).value())
                          .value();
  std::filesystem::remove(machine.root() + "/dev/nvidia-uvm");
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/dev/nvidia-uvm is not there yet"));
  machine.Write("dev/nvidia-uvm", "");
  EXPECT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0"})));
}

TEST_F(NvmlTest, ALostGpuStaysPublishedWithATaintUntilItIsBack) {
  const FakeMachine machine("L4-24GB", 2);
  const auto driver = Start(machine);
  machine.Set(1, kFakeLost, 1);
  driver->Refresh();
  ASSERT_THAT(Published(*driver), SizeIs(2));
  EXPECT_FALSE(Published(*driver)[0].Has("taints"));
  const Value taint = Published(*driver)[1]["taints"].Items()[0];
  EXPECT_EQ(taint["key"].AsString(), "gpu.nvidia.com/gpu-lost");
  EXPECT_EQ(taint["effect"].AsString(), "NoSchedule");
  machine.Set(1, kFakeLost, 0);
  driver->Refresh();
  EXPECT_FALSE(Published(*driver)[1].Has("taints"));
}

TEST_F(NvmlTest, AGpuWhoseErrorsCannotBeHeardSaysSo) {
  const FakeMachine machine("L4-24GB", 2);
  machine.Set(0, kFakeNoEvents, 1);
  const auto driver = Start(machine);
  const Value taint = Published(*driver)[0]["taints"].Items()[0];
  EXPECT_EQ(taint["key"].AsString(), "gpu.nvidia.com/unmonitored");
  EXPECT_EQ(taint["effect"].AsString(), "None");
  EXPECT_FALSE(Published(*driver)[1].Has("taints"));
}

// With the listener's thread: the driver lives on an executor of its own.
class NvmlEventTest : public testing::Test {
 protected:
  template <typename F>
  auto OnDriver(F work) {
    std::promise<decltype(work())> done;
    executor_.Post([&] { done.set_value(work()); });
    return done.get_future().get();
  }
  // The taints of the first device once its pools have changed.
  Value TaintsAfter(const std::function<void()>& cause) {
    std::promise<Value> seen;
    OnDriver([&] {
      driver_->OnPoolsChanged([&] {
        seen.set_value(driver_->Pools()[0].slices[0].devices[0]["taints"]);
        driver_->OnPoolsChanged(nullptr);
      });
      return true;
    });
    cause();
    return seen.get_future().get();
  }
  void SetUp() override {
    OnDriver([&] {
      driver_ = GpuDriver::Create({.pool = "node-1"},
                                  NvmlBackend::Open(machine_.Options(), executor_).value())
                    .value();
      return true;
    });
  }
  void TearDown() override {
    OnDriver([&] {
      driver_.reset();
      return true;
    });
  }

  const FakeMachine machine_{"L4-24GB", 1};
  ThreadExecutor executor_{"gpu-test"};
  std::unique_ptr<GpuDriver> driver_;
};

TEST_F(NvmlEventTest, AnXidTaintsItsGpuByWhatItMeans) {
  EXPECT_EQ(TaintsAfter([&] { machine_.RaiseXid(0, 31); }),
            json::Read(R"([{"key":"gpu.nvidia.com/xid","value":"31","effect":"None"}])").value());
  // The worse one counts, also when a harmless one follows.
  machine_.Set(0, kFakeRecoveryAction, 1);
  const Value fatal =
      json::Read(R"([{"key":"gpu.nvidia.com/xid","value":"79","effect":"NoSchedule"}])").value();
  EXPECT_EQ(TaintsAfter([&] { machine_.RaiseXid(0, 79); }), fatal);
}

TEST_F(NvmlEventTest, AnXidAfterWhichTheGpuNeedsARecoveryIsSerious) {
  machine_.Set(0, kFakeRecoveryAction, 1);
  const Value taints = TaintsAfter([&] { machine_.RaiseXid(0, 31); });
  EXPECT_EQ(taints.Items()[0]["effect"].AsString(), "NoSchedule");
}

TEST_F(NvmlTest, ATaintGoesWhenTheGpuIsWellAgain) {
  const FakeMachine machine("L4-24GB", 1);
  machine.Set(0, kFakeRecoveryAction, 1);
  const auto driver = Start(machine);
  static_cast<NvmlBackend&>(driver->backend()).OnXid(0, 79);
  ASSERT_TRUE(Published(*driver)[0].Has("taints"));
  const auto look = [&] {
    EXPECT_TRUE(executor_.RunOne(executor_.clock().Now() + NvmlBackend::kLookInterval));
  };
  look();
  EXPECT_TRUE(Published(*driver)[0].Has("taints")) << "it still needs a reset";
  machine.Set(0, kFakeRecoveryAction, 0);
  look();
  EXPECT_FALSE(Published(*driver)[0].Has("taints"));
}

}  // namespace
}  // namespace drachma::gpu
