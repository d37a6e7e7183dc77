#include "lint/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lint/check.h"

namespace drachma::lint {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<ConvertedFile> ConvertAll(const std::vector<FileText>& files, bool extended) {
  return Convert(files, {.to = extended ? ConvertTo::kExtended : ConvertTo::kClaims,
                         .keep = {"kept.example.com/card"}});
}

// Every folder of tests/convert: input.yaml (or .json), perhaps with config.yaml, the findings and
// the converted text. Folders named extended-… are converted that way. With UPDATE_GOLDEN in the
// environment both are written instead, to be read before they are kept.
class ConvertTest : public testing::TestWithParam<fs::path> {};

TEST_P(ConvertTest, Converts) {
  const fs::path folder = GetParam();
  const bool extended = folder.filename().string().starts_with("extended-");
  const std::string end = fs::exists(folder / "input.json") ? ".json" : ".yaml";
  std::vector<FileText> files = {{"input" + end, ReadFile(folder / ("input" + end))}};
  if (fs::exists(folder / "config.yaml")) {
    files.push_back({"config.yaml", ReadFile(folder / "config.yaml")});
  }
  const std::vector<ConvertedFile> converted = ConvertAll(files, extended);
  std::string findings;
  for (const ConvertedFile& file : converted) {
    for (const Finding& finding : file.findings) findings += FormatFinding(finding);
  }
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(folder / "findings.txt") << findings;
    std::ofstream(folder / ("converted" + end)) << converted[0].text;
  }
  EXPECT_EQ(findings, ReadFile(folder / "findings.txt"));
  EXPECT_EQ(converted[0].text, ReadFile(folder / ("converted" + end)));
  // Once more changes nothing, and the result has no faults of its own.
  files[0].text = converted[0].text;
  EXPECT_EQ(ConvertAll(files, extended)[0].text, converted[0].text);
  if (!findings.empty()) return;
  for (const Finding& left : CheckText("converted" + end, converted[0].text, {}).findings) {
    ADD_FAILURE() << FormatFinding(left);
  }
}

std::vector<fs::path> Cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(DRACHMA_SOURCE_DIR "/tests/convert")) {
    cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Golden, ConvertTest, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.filename().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace drachma::lint
