#include "cluster/driver_rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_client.h"
#include "client/objects.h"
#include "gpu/driver.h"

namespace drachma::cluster {
namespace {

namespace resources = client::resources;
using testing::IsEmpty;
using testing::SizeIs;

class InstallationTest : public testing::Test {
 protected:
  InstallationTest()
      : executor_(Time(std::chrono::hours(500'000))),
        client_(api_.factory().NewClient(executor_, "test")) {}
  void Run(Duration time) {
    Installation installation(ShippedWithNodes(), *client_, executor_);
    installation.Start();
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});
    while (executor_.RunOne(end)) {
    }
  }
  static bool IsCreation(const client::Request& request) {
    return request.verb == client::Verb::kCreate && request.resource == resources::kDeviceClasses;
  }

  client::FakeApi api_;
  VirtualExecutor executor_;
  std::unique_ptr<client::Client> client_;
};

TEST_F(InstallationTest, WhatTheDriversNeedIsMade) {
  Run(std::chrono::milliseconds(100));
  EXPECT_THAT(api_.List({"apiextensions.k8s.io", "v1", "customresourcedefinitions"}), SizeIs(2));
  EXPECT_THAT(api_.List({"rbac.authorization.k8s.io", "v1", "clusterrolebindings"}), SizeIs(1));
  EXPECT_THAT(api_.List(resources::kDeviceClasses), SizeIs(gpu::DeviceClasses().size()));
}

TEST_F(InstallationTest, AClassThatIsThereStaysAsItIs) {
  api_.Apply(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com, labels: {own: "yes"}}
)");
  Run(std::chrono::milliseconds(100));
  EXPECT_EQ(api_.Get(resources::kDeviceClasses, "", "gpu.nvidia.com")
                .At({"metadata", "labels", "own"})
                .AsString(),
            "yes");
}

TEST_F(InstallationTest, AServerThatDoesNotAnswerIsAskedAgain) {
  constexpr int kMany = 8;
  api_.FailNext(IsCreation, {.code = Code::kUnavailable, .message = "connection refused"}, kMany);
  Run(std::chrono::seconds(10));
  EXPECT_THAT(api_.List(resources::kDeviceClasses), SizeIs(gpu::DeviceClasses().size()));
}

TEST_F(InstallationTest, WhatMayNotBeMadeIsAskedForOnce) {
  constexpr int kMany = 100;
  api_.FailNext(IsCreation, {.code = Code::kForbidden, .message = "no"}, kMany);
  Run(std::chrono::seconds(10));
  EXPECT_THAT(api_.List(resources::kDeviceClasses), IsEmpty());
  EXPECT_EQ(std::ranges::count_if(api_.requests(), IsCreation),
            static_cast<std::ptrdiff_t>(gpu::DeviceClasses().size()));
}

}  // namespace
}  // namespace drachma::cluster
