#include "cli/check_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/cel_command.h"
#include "cli/check_hint.h"
#include "json/json.h"

namespace drachma::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOld =
    "# old\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    "spec: {devices: {requests: [{name: gpu, deviceClassName: gpu.nvidia.com}]}}\n";
constexpr std::string_view kToday =
    "# old\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n";

class CheckCommandTest : public testing::Test {
 protected:
  CheckCommandTest() { fs::create_directories(folder_); }
  ~CheckCommandTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view text) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  int Run(std::vector<std::string> files, bool fix = false, const std::string& output = "table") {
    out_.str("");
    error_.str("");
    return RunCheck({.files = std::move(files), .fix = fix, .output = output}, out_, error_);
  }
  // The same with `text` as standard input.
  int RunOn(const std::string& text, bool fix, const std::string& output = "table") {
    std::istringstream input(text);
    std::streambuf* const before = std::cin.rdbuf(input.rdbuf());
    const int code = Run({"-"}, fix, output);
    std::cin.rdbuf(before);
    return code;
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ostringstream out_;
  std::ostringstream error_;
};

TEST_F(CheckCommandTest, AFolderStandsForItsManifests) {
  const std::string good = Write("a.yaml", kToday);
  Write("notes.txt", "no manifest");
  EXPECT_EQ(Run({folder_}), 0);
  EXPECT_EQ(out_.str(), "no findings\n");
  const std::string old = Write("b.yml", kOld);
  EXPECT_EQ(Run({folder_}), 1);
  EXPECT_NE(out_.str().find(old + ":5:41: error: deviceClassName"), std::string::npos)
      << out_.str();
  EXPECT_EQ(Run({folder_}, true), 0);
  EXPECT_EQ(Read(old), kToday);
  EXPECT_EQ(Read(good), kToday);
}

TEST_F(CheckCommandTest, AFolderWithoutManifestsIsWrongUse) {
  EXPECT_EQ(Run({folder_}), 2);
  EXPECT_EQ(error_.str(), "error: " + folder_.string() + ": holds no .yaml, .yml or .json file\n");
}

TEST_F(CheckCommandTest, StandardInputIsCorrectedToStandardOutput) {
  EXPECT_EQ(RunOn(std::string(kOld), true), 0);
  EXPECT_EQ(out_.str(), kToday);
  EXPECT_NE(error_.str().find("[request-without-exactly]"), std::string::npos);
  EXPECT_NE(error_.str().find("<stdin>: corrected\n"), std::string::npos);
  EXPECT_EQ(RunOn(std::string(kToday), true, "json"), 0);
  EXPECT_EQ(out_.str(), kToday);
  EXPECT_EQ(error_.str(), "{\n  \"findings\": []\n}\n");
  EXPECT_EQ(RunOn(std::string(kOld), false), 1);
  EXPECT_EQ(error_.str(), "");
}

TEST_F(CheckCommandTest, ParametersOfAnotherFileAreTakenOver) {
  const std::string claim = Write(
      "a.yaml",
      "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata:\n  name: c\nspec:\n"
      "  resourceClassName: a\n  parametersRef:\n    apiGroup: x.example.com\n    kind: P\n"
      "    name: p\n");
  const std::string parameters = Write(
      "b.yaml", "apiVersion: x.example.com/v1\nkind: P\nmetadata:\n  name: p\nspec:\n  count: 3\n");
  EXPECT_EQ(Run({claim, parameters}, true), 0);
  EXPECT_NE(Read(claim).find("count: 3"), std::string::npos) << Read(claim);
  EXPECT_EQ(Read(parameters), "");
  EXPECT_NE(out_.str().find("P belongs to the driver of classic DRA"), std::string::npos);
}

TEST_F(CheckCommandTest, ErrorsPointToTheFirstFileThatCheckMends) {
  const std::string good = Write("a.yaml", kToday);
  const Error refused{.code = Code::kInvalid, .message = "no"};
  EXPECT_EQ(CheckHint(refused, {good}), "");
  const std::string old = Write("b.yaml", kOld);
  EXPECT_EQ(CheckHint(refused, {good, old}),
            "drachma check -f " + old + " tells what to write instead (--fix writes it)");
  EXPECT_EQ(CheckHint({.code = Code::kNotFound, .message = "no"}, {old}), "");
  EXPECT_NE(CheckHint(refused, {"-"}).find("check -f FILE"), std::string::npos);
}

TEST(CelCommand, NoMatchIsANegativeAnswer) {
  const json::Value slice =
      json::Read(R"({"spec": {"driver": "a.example.com", "pool": {"name": "p"},
                     "devices": [{"name": "d"}]}})")
          .value();
  std::ostringstream out;
  std::ostringstream err;
  const auto run = [&](const char* expression) {
    return RunCel({.expression = expression}, {&slice, 1}, out, err);
  };
  EXPECT_EQ(run("device.driver == 'a.example.com'"), 0);
  EXPECT_EQ(run("device.driver == 'b.example.com'"), 1);
  EXPECT_EQ(RunCel({.expression = "true"}, {}, out, err), 1);
}

}  // namespace
}  // namespace drachma::cli
