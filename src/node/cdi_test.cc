#include "node/cdi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json.h"
#include "node/test_folder.h"

namespace drachma::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kVendor = "k8s.gpu.nvidia.com";

json::Value ExampleSpec() {
  CdiSpec spec;
  spec.common.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  spec.common.device_nodes = {{.path = "/dev/nvidiactl", .host_path = "/dev/null"}};
  spec.common.mounts = {
      {.host_path = "/usr/lib/a.so", .container_path = "/lib/a.so", .options = {"ro", "bind"}}};
  spec.common.hooks = {{.path = "/usr/bin/hook", .args = {"hook", "update"}}};
  spec.devices = {{.name = "gpu-0", .edits = {.device_nodes = {{.path = "/dev/nvidia0"}}}}};
  return WriteCdiSpec(kVendor, "uid-1", spec);
}

TEST(Cdi, ASpecSaysWhatAContainerGets) {
  EXPECT_EQ(ExampleSpec(), json::Read(R"({
    "cdiVersion": "0.5.0",
    "kind": "k8s.gpu.nvidia.com/claim",
    "devices": [{"name": "uid-1-gpu-0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}],
    "containerEdits": {
      "env": ["NVIDIA_VISIBLE_DEVICES=void"],
      "deviceNodes": [{"path": "/dev/nvidiactl", "hostPath": "/dev/null"}],
      "mounts": [{"hostPath": "/usr/lib/a.so", "containerPath": "/lib/a.so", "options": ["ro", "bind"]}],
      "hooks": [{"hookName": "createContainer", "path": "/usr/bin/hook", "args": ["hook", "update"]}]
    }})")
                               .value());
  EXPECT_EQ(CdiDeviceId(kVendor, "uid-1", "gpu-0"), "k8s.gpu.nvidia.com/claim=uid-1-gpu-0");
}

TEST(Cdi, EachClaimHasAFileOfItsOwn) {
  const TestFolder folder;
  folder.WriteFile("other-vendor_x.json", "{}");
  CdiFolder cdi(OpenFolder(folder.path()).value(), std::string(kVendor));
  ASSERT_TRUE(cdi.Write("uid-1", ExampleSpec()));
  ASSERT_TRUE(cdi.Write("uid-2", ExampleSpec()));
  EXPECT_THAT(cdi.Claims().value(), ElementsAre("uid-1", "uid-2"));
  EXPECT_EQ(json::Read(folder.ReadFile("k8s.gpu.nvidia.com-claim_uid-1.json")), ExampleSpec());
  ASSERT_TRUE(cdi.Remove("uid-1"));
  ASSERT_TRUE(cdi.Remove("uid-1"));  // again: no error
  EXPECT_THAT(cdi.Claims().value(), ElementsAre("uid-2"));
  EXPECT_EQ(folder.ReadFile("other-vendor_x.json"), "{}");
}

TEST(Cdi, AWriteThatWasCutShortIsNoSpec) {
  const TestFolder folder;
  folder.WriteFile(".k8s.gpu.nvidia.com-claim_uid-1.json.unfinished", "{");
  CdiFolder cdi(OpenFolder(folder.path()).value(), std::string(kVendor));
  EXPECT_THAT(cdi.Claims().value(), IsEmpty());
  ASSERT_TRUE(cdi.Remove("uid-1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Cdi, AFolderThatCannotBeMadeIsNamed) {
  EXPECT_THAT(OpenFolder("/proc/no/such").error().message, testing::HasSubstr("/proc/no/such"));
}

}  // namespace
}  // namespace drachma::node
