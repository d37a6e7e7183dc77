#include "cli/driver_command.h"

#include <gtest/gtest.h>

namespace drachma::cli {
namespace {

std::string Fault(const std::set<std::string>& given, const std::string& backend = "nvml") {
  const Status status = CheckNodeFlags(given, backend);
  return status ? "" : status.error().message;
}

TEST(NodeFlagsTest, WhatGoesTogetherIsTaken) {
  EXPECT_EQ(Fault({}), "");
  EXPECT_EQ(Fault({"--fleet"}), "");
  EXPECT_EQ(Fault({"--kubelet-dir", "--node-name", "--dynamic-mig"}), "");
  EXPECT_EQ(Fault({"--kubelet-dir", "--node-name", "--backend", "--stand-in"}, "sim"), "");
}

TEST(NodeFlagsTest, WhatDoesNotIsNamed) {
  EXPECT_EQ(Fault({"--cdi-dir"}),
            "--cdi-dir is for the driver of a real node and needs --kubelet-dir");
  EXPECT_EQ(Fault({"--kubelet-dir", "--node-name", "--fleet"}),
            "--fleet is for simulated nodes and does not go with --kubelet-dir");
  EXPECT_EQ(Fault({"--kubelet-dir", "--node-name", "--simulated-gpus"}),
            "--simulated-gpus needs --backend sim");
  EXPECT_EQ(Fault({"--kubelet-dir", "--node-name", "--dynamic-mig"}, "sim"),
            "--dynamic-mig needs --backend nvml");
  EXPECT_EQ(Fault({"--kubelet-dir"}),
            "--kubelet-dir needs --node-name: the name of the Node that the kubelet has");
}

}  // namespace
}  // namespace drachma::cli
