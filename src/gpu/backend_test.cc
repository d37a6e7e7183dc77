// What the driver relies on, over simulated GPUs and over NVML.
#include "gpu/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "gpu/driver.h"
#include "gpu/nvml_testing.h"
#include "gpu/sim_backend.h"
#include "gpu/testing.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::IsEmpty;
using testing::SizeIs;

enum class Kind { kSim, kNvml };

class BackendTest : public testing::TestWithParam<Kind> {
 protected:
  // Parts are made for claims.
  std::unique_ptr<Backend> Open(const char* model, int count = 2) {
    if (GetParam() == Kind::kSim) {
      return std::make_unique<SimBackend>("node-1", *FindModel(model), count, MigMode::kDynamic);
    }
    machine_.emplace(model, count);
    auto backend = NvmlBackend::Open(machine_->Options(true), executor_).value();
    EXPECT_TRUE(backend->Enumerate());
    return backend;
  }
  static const MigProfile& Profile(const Board& board, std::string_view name) {
    return *std::ranges::find(board.model->profiles, name, &MigProfile::name);
  }

  VirtualExecutor executor_{Time()};
  std::optional<FakeMachine> machine_;
};

TEST_P(BackendTest, GpusAreListedWithWhatTheyAre) {
  const auto backend = Open("H100-80GB");
  const auto boards = backend->Enumerate().value();
  ASSERT_THAT(boards, SizeIs(2));
  EXPECT_EQ(boards[1].minor, 1);
  EXPECT_NE(boards[0].uuid, boards[1].uuid);
  EXPECT_TRUE(boards[1].uuid.starts_with("GPU-"));
  EXPECT_EQ(boards[1].numa_node, 1);
  EXPECT_EQ(boards[0].pcie_root, "pci0000:10");
  EXPECT_EQ(boards[0].brand, "Nvidia");
  const Model& model = *boards[0].model;
  EXPECT_EQ(model.product, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(model.architecture, "Hopper");
  EXPECT_EQ(model.compute_capability, "9.0.0");
  EXPECT_EQ(model.memory_mib, 81559);
  EXPECT_EQ(model.memory_slices, 8);
  EXPECT_EQ(Profile(boards[0], "1g.20gb").placements, 4);
  EXPECT_EQ(Profile(boards[0], "3g.40gb").engines, (Engines{60, 3, 3, 0, 3, 0}));
}

TEST_P(BackendTest, APartIsMadeAtItsPlaceAndGoes) {
  const auto backend = Open("H100-80GB");
  const auto boards = backend->Enumerate().value();
  ASSERT_TRUE(backend->SetMigMode(0, true));
  const auto uuid = backend->CreatePart(0, Profile(boards[0], "2g.20gb"), 4);
  ASSERT_TRUE(uuid) << uuid.error().message;
  EXPECT_TRUE(uuid->starts_with("MIG-"));
  const auto now = backend->Enumerate().value();
  EXPECT_TRUE(now[0].mig_enabled);
  EXPECT_FALSE(now[1].mig_enabled);
  ASSERT_THAT(now[0].parts, SizeIs(1));
  EXPECT_EQ(now[0].parts[0], (Part{.uuid = *uuid, .profile = 14, .start = 4}));
  ASSERT_TRUE(backend->DestroyPart(0, *uuid));
  EXPECT_THAT(backend->Enumerate().value()[0].parts, IsEmpty());
  ASSERT_TRUE(backend->SetMigMode(0, false));
  EXPECT_FALSE(backend->Enumerate().value()[0].mig_enabled);
}

TEST_P(BackendTest, PartsDoNotOverlap) {
  const auto backend = Open("H100-80GB");
  const auto boards = backend->Enumerate().value();
  ASSERT_TRUE(backend->SetMigMode(0, true));
  ASSERT_TRUE(backend->CreatePart(0, Profile(boards[0], "3g.40gb"), 0));
  EXPECT_EQ(backend->CreatePart(0, Profile(boards[0], "1g.10gb"), 3).error().code, Code::kConflict);
  EXPECT_TRUE(backend->CreatePart(0, Profile(boards[0], "1g.10gb"), 4));
}

TEST_P(BackendTest, PartsNeedMigAndKeepIt) {
  const auto backend = Open("H100-80GB");
  const auto boards = backend->Enumerate().value();
  const MigProfile& profile = Profile(boards[0], "1g.10gb");
  EXPECT_EQ(backend->CreatePart(0, profile, 0).error().code, Code::kConflict);
  ASSERT_TRUE(backend->SetMigMode(0, true));
  ASSERT_TRUE(backend->CreatePart(0, profile, 0));
  EXPECT_EQ(backend->SetMigMode(0, false).error().code, Code::kConflict);
}

TEST_P(BackendTest, WhatIsNotThereIsNotFound) {
  const auto backend = Open("H100-80GB");
  EXPECT_EQ(backend->SetComputeMode(7, ComputeMode::kDefault).error().code, Code::kNotFound);
  EXPECT_EQ(backend->SetTimeSlice(7, TimeSlice::kLong).error().code, Code::kNotFound);
  EXPECT_EQ(backend->StopMps("no").error().code, Code::kNotFound);
  ASSERT_TRUE(backend->SetMigMode(0, true));
  EXPECT_EQ(backend->DestroyPart(0, "MIG-no").error().code, Code::kNotFound);
}

TEST_P(BackendTest, ABoardWithoutMigSaysSo) {
  const auto backend = Open("L4-24GB");
  EXPECT_EQ(backend->SetMigMode(0, true).error().code, kNotSupported);
  EXPECT_FALSE(CanBeCut(backend->Enumerate().value()[0]));
}

TEST_P(BackendTest, DaemonsAreKnownUntilTheyAreStopped) {
  const auto backend = Open("L4-24GB");
  const auto boards = backend->Enumerate().value();
  ASSERT_TRUE(backend->SetComputeMode(0, ComputeMode::kExclusiveProcess));
  const MpsDaemon daemon{.id = "claim-1",
                         .uuids = {boards[0].uuid},
                         .active_thread_percentage = 50,
                         .pinned_memory_limits = {{boards[0].uuid, "1024M"}}};
  ASSERT_TRUE(backend->StartMps(daemon));
  EXPECT_THAT(backend->MpsDaemons(), testing::ElementsAre("claim-1"));
  ASSERT_TRUE(backend->StopMps("claim-1"));
  EXPECT_THAT(backend->MpsDaemons(), IsEmpty());
}

TEST_P(BackendTest, ContainersGetTheDeviceFilesOfTheirGpuOrPart) {
  const auto backend = Open("H100-80GB");
  const Board board = backend->Enumerate().value()[1];
  const auto whole = backend->EditsOf(board, nullptr).value();
  ASSERT_THAT(whole.device_nodes, SizeIs(1));
  EXPECT_EQ(whole.device_nodes[0].path, "/dev/nvidia1");
  ASSERT_TRUE(backend->SetMigMode(1, true));
  const std::string uuid = backend->CreatePart(1, Profile(board, "1g.10gb"), 0).value();
  const Part part = backend->Enumerate().value()[1].parts[0];
  const auto edits = backend->EditsOf(board, &part).value();
  ASSERT_THAT(edits.device_nodes, SizeIs(3));
  EXPECT_TRUE(edits.device_nodes[1].path.starts_with("/dev/nvidia-caps/nvidia-cap"));
  EXPECT_NE(edits.device_nodes[1].path, edits.device_nodes[2].path);
  const auto common = backend->CommonEdits().value();
  EXPECT_EQ(common.env.at("NVIDIA_VISIBLE_DEVICES"), "void");
  EXPECT_EQ(common.device_nodes[0].path, "/dev/nvidiactl");
  EXPECT_EQ(backend->MpsEdits("d").env.at("CUDA_MPS_PIPE_DIRECTORY"), "/tmp/nvidia-mps");
}

TEST_P(BackendTest, EveryProfileOfEveryModelCanBeMade) {
  for (const Model& model : Models()) {
    if (model.profiles.empty() || model.mig_needs_reset) continue;
    const auto backend = Open(model.key.data(), 1);
    const auto boards = backend->Enumerate().value();
    ASSERT_TRUE(backend->SetMigMode(0, true));
    for (const MigProfile& profile : boards[0].model->profiles) {
      const auto uuid = backend->CreatePart(0, profile, 0);
      ASSERT_TRUE(uuid) << model.key << " " << profile.name << ": " << uuid.error().message;
      ASSERT_TRUE(backend->DestroyPart(0, *uuid));
    }
  }
}

TEST_P(BackendTest, AClaimForPartsGoesThereAndBack) {
  const auto driver = GpuDriver::Create({.pool = "node-1"}, Open("H100-80GB")).value();
  const auto devices = PrepareClaim(
      *driver, ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0", "gpu-0-mig-3g40gb-9-4"}));
  ASSERT_TRUE(devices) << devices.error().message;
  const Board board = driver->backend().Enumerate().value()[0];
  ASSERT_THAT(board.parts, SizeIs(2));
  EXPECT_TRUE(board.mig_enabled);
  EXPECT_THAT((*devices)[0].report["uuid"].AsString(), testing::StartsWith("MIG-"));
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("b", {"gpu-0-mig-1g10gb-19-1"})));
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_TRUE(driver->backend().Enumerate().value()[0].mig_enabled) << "b has a part";
  ASSERT_TRUE(UnprepareClaim(*driver, "b"));
  EXPECT_FALSE(driver->backend().Enumerate().value()[0].mig_enabled);
}

INSTANTIATE_TEST_SUITE_P(All, BackendTest, testing::Values(Kind::kSim, Kind::kNvml),
                         [](const auto& kind) {
                           return kind.param == Kind::kSim ? "Sim" : "Nvml";
                         });

}  // namespace
}  // namespace drachma::gpu
