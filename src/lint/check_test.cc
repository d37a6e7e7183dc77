#include "lint/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace drachma::lint {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Every folder of tests/lint: input.yaml, the findings it must have and the text after --fix.
// With UPDATE_GOLDEN in the environment they are written instead, to be read before they are kept.
class CheckTest : public testing::TestWithParam<fs::path> {};

TEST_P(CheckTest, FindsAndCorrects) {
  const CheckedFile checked = CheckText("input.yaml", ReadFile(GetParam() / "input.yaml"), {});
  std::string findings;
  for (const Finding& finding : checked.findings) findings += FormatFinding(finding);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam() / "findings.txt") << findings;
    std::ofstream(GetParam() / "corrected.yaml") << checked.corrected;
  }
  EXPECT_EQ(findings, ReadFile(GetParam() / "findings.txt"));
  EXPECT_EQ(checked.corrected, ReadFile(GetParam() / "corrected.yaml"));
  // What has been corrected offers no correction any more.
  for (const Finding& left : CheckText("", checked.corrected, {}).findings) {
    EXPECT_TRUE(left.changes.empty()) << FormatFinding(left);
    // What is only outdated can be mended without the user.
    EXPECT_TRUE(!GetParam().filename().string().starts_with("outdated-") ||
                left.severity == Severity::kWarning)
        << FormatFinding(left);
  }
}

TEST(CheckAnchorsTest, ADocumentThatCannotBeCorrectedWholeIsLeftAsItIs) {
  const std::string text = R"(apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: &meta {name: c, labels: {a: "1"}}
spec:
  metadata: *meta
  spec:
    devices:
      requests:
      - &request
        name: gpu
        deviceClassName: &class gpu.nvidia.com
        count: &two "2"
      - <<: *request
        name: gpu2
      - {name: gpu3, deviceClassName: *class, count: *two}
)";
  const CheckedFile checked = CheckText("a.yaml", text, {});
  EXPECT_EQ(checked.corrected, text);
  ASSERT_FALSE(checked.left.empty());
  EXPECT_EQ(checked.left[0].reason,
            "anchors and aliases share its text with other places; write it out there first");
}

TEST(CheckFormTest, Utf16IsReadButNotWritten) {
  std::string text = "\xFF\xFE";
  for (const char c :
       std::string_view("apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\n")) {
    text += {c, '\0'};
  }
  const CheckedFile checked = CheckText("a.yaml", text, {});
  EXPECT_EQ(checked.corrected, text);
  ASSERT_FALSE(checked.left.empty());
  EXPECT_EQ(checked.left[0].reason, "the file is UTF-16; convert it to UTF-8 first");
}

std::vector<fs::path> Cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(DRACHMA_SOURCE_DIR "/tests/lint")) {
    cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Golden, CheckTest, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.filename().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace drachma::lint
