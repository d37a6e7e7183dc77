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

// `drachma plan` of a file with `text`, on one node with 8 GPUs.
Said PlanOf(std::string_view text, PlanArguments arguments = {}) {
  const fs::path file = fs::path(testing::TempDir()) / "plan_command_test.yaml";
  std::ofstream(file) << text;
  arguments.files = {file};
  arguments.fleet = "dgx-h100";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.code = RunPlan(arguments);
  said.out = testing::internal::GetCapturedStdout();
  said.error = testing::internal::GetCapturedStderr();
  fs::remove(file);
  return said;
}

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr std::string_view kPods = R"(
apiVersion: v1
kind: Pod
metadata: {name: fits}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10k}}}]}
)";

TEST(PlanCommand, AQuotaThatKeepsPodsAwayIsANegativeAnswer) {
  const std::string quota =
      "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: '1'}}\n---";
  const Said workload = PlanOf(quota + R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
)");
  EXPECT_EQ(workload.code, kNegative);
  EXPECT_EQ(Count(workload.out, "exceeded quota: q"), 1);
  const std::string pod = std::string(kPods.substr(0, kPods.find("---")));
  const Said pods =
      PlanOf(quota + pod + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: more}\n" +
             "spec: {containers: [{name: c, image: i}]}\n");
  EXPECT_EQ(pods.code, kNegative);
  EXPECT_EQ(Count(pods.error, "exceeded quota: q"), 1);
}

TEST(PlanCommand, PodsThatWaitAreANegativeAnswer) {
  EXPECT_EQ(PlanOf(kPods.substr(0, kPods.find("---"))).code, kFine);
  EXPECT_EQ(PlanOf(kPods).code, kNegative);
  EXPECT_EQ(PlanOf(kPods, {.output = OutputFormat::kJson}).code, kNegative);
  // The answer is about what the changes lead to.
  EXPECT_EQ(PlanOf(kPods, {.remove = {"pod/waits"}}).code, kFine);
}

TEST(PlanCommand, WarningsThatDifferInRandomNamesAreOneLine) {
  const Said said = PlanOf(R"(
apiVersion: v1
kind: ResourceQuota
metadata: {name: one}
spec: {hard: {pods: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
)");
  EXPECT_EQ(Count(said.out, "FailedCreate"), 1U) << said.out;
  EXPECT_NE(said.out.find("-…\" is forbidden: exceeded quota: one"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(" times)\n"), std::string::npos) << said.out;
  EXPECT_EQ(said.error, "");  // no lines of the log
}

TEST(PlanCommand, OutdatedManifestsAreSentToCheck) {
  const Said said = PlanOf(
      "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: c}\n"
      "driverName: a.example.com\n");
  EXPECT_EQ(said.code, kWrongUse);
  EXPECT_NE(said.error.find("no matches for kind \"ResourceClass\""), std::string::npos);
  EXPECT_NE(said.error.find("\ndrachma check -f "), std::string::npos) << said.error;
  // What is refused for other reasons check does not mend.
  EXPECT_EQ(Count(PlanOf(kPods, {.remove = {"no/such"}}).error, "drachma check"), 0U);
}

TEST(PlanCommand, AKeyThatStandsTwiceIsWarnedOf) {
  const Said twice = PlanOf(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  priority: 0
  priority: 0
)");
  EXPECT_EQ(twice.code, kFine);
  EXPECT_NE(twice.out.find("yaml:8: key \"priority\" is already set in its map"), twice.out.npos)
      << twice.out;
}

TEST(PlanCommand, OfAFolderTheFilesWithoutFaultsArePlanned) {
  const fs::path folder = fs::path(testing::TempDir()) / "plan_command_test";
  fs::create_directories(folder);
  std::ofstream(folder / "a.yaml") << "apiVersion: v1\nkind: Pod\nmetadata: {name: no-spec}\n";
  std::ofstream(folder / "b.yaml") << kPods;
  std::ofstream(folder / "c.yaml") << "kind: [";
  PlanArguments arguments;
  arguments.files = {folder};
  arguments.fleet = "dgx-h100";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunPlan(arguments);
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string error = testing::internal::GetCapturedStderr();
  fs::remove_all(folder);
  EXPECT_EQ(code, kWrongUse);
  EXPECT_EQ(Count(out, " Scheduled "), 1U) << out;
  EXPECT_NE(out.find("left out for its faults: " + (folder / "a.yaml").string()), out.npos) << out;
  EXPECT_NE(error.find("a.yaml:1: Pod/no-spec"), error.npos) << error;
  EXPECT_NE(error.find("c.yaml"), error.npos) << error;
}

}  // namespace
}  // namespace drachma::cli
