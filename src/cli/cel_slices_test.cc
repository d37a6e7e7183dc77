#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/arguments.h"

namespace drachma::cli {
namespace {

namespace fs = std::filesystem;

struct Said {
  int code = 0;
  std::string out;
  std::string error;
};

// `drachma cel` on a file with `text`.
Said CelOn(std::string_view text) {
  const fs::path file = fs::path(testing::TempDir()) / "cel_slices_test.yaml";
  std::ofstream(file) << text;
  CelArguments arguments;
  arguments.expression = "device.driver == 'd.example.com'";
  arguments.files = {file};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.code = RunCelOnSlices(arguments);
  said.out = testing::internal::GetCapturedStdout();
  said.error = testing::internal::GetCapturedStderr();
  fs::remove(file);
  return said;
}

TEST(CelSlices, AListNeedNotSayItsKind) {
  const Said listed = CelOn(R"(
apiVersion: v1
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: s}
  spec:
    driver: d.example.com
    nodeName: node
    pool: {name: p, generation: 1, resourceSliceCount: 1}
    devices: [{name: a}]
)");
  EXPECT_EQ(listed.code, kFine) << listed.error;
  EXPECT_NE(listed.out.find("d.example.com/p/a   match"), std::string::npos) << listed.out;
}

TEST(CelSlices, APoolWhoseNameYamlTakesForABooleanIsNamed) {
  const Said truth = CelOn(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: node
  pool: {name: n, generation: 1, resourceSliceCount: 1}
  devices: [{name: a}]
)");
  EXPECT_EQ(truth.code, kWrongUse);
  EXPECT_NE(truth.error.find("ResourceSlice/s: spec.pool.name is a string, not false (so YAML "
                             "reads y, n, yes, no, on and off without quotes)"),
            std::string::npos)
      << truth.error;
}

}  // namespace
}  // namespace drachma::cli
