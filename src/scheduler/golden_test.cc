// Each folder-less case of tests/scheduler: NAME.yaml holds the cluster, NAME.txt what becomes of
// it. Comment lines "# option: value" at the top of the YAML choose the scheduler's options.
// With DRACHMA_UPDATE_GOLDEN set the expectations are written anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "scheduler/test_cluster.h"

namespace drachma::scheduler {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const auto& entry :
       fs::directory_iterator(fs::path(DRACHMA_SOURCE_DIR) / "tests/scheduler")) {
    if (entry.path().extension() == ".yaml") cases.push_back(entry.path().stem().string());
  }
  std::ranges::sort(cases);
  return cases;
}

Options OptionsOf(const std::string& yaml) {
  Options options;
  if (yaml.find("# selector-errors: fail") != std::string::npos) {
    options.selector_errors = SelectorErrors::kFail;
  }
  if (yaml.find("# device-order: first-fit") != std::string::npos) {
    options.device_order = DeviceOrder::kFirstFit;
  }
  constexpr std::string_view kGates = "# feature-gates: ";
  if (const std::size_t at = yaml.find(kGates); at != std::string::npos) {
    const std::size_t begin = at + kGates.size();
    std::istringstream list(yaml.substr(begin, yaml.find('\n', begin) - begin));
    for (std::string gate; std::getline(list, gate, ',');) {
      const std::size_t equals = gate.find('=');
      options.feature_gates[gate.substr(0, equals)] = gate.substr(equals + 1) == "true";
    }
  }
  return options;
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EndsAsWritten) {
  const fs::path base = fs::path(DRACHMA_SOURCE_DIR) / "tests/scheduler" / GetParam();
  const std::string yaml = ReadAll(base.string() + ".yaml");
  TestCluster cluster(OptionsOf(yaml));
  cluster.Apply(yaml);
  cluster.Settle();
  const std::string got = cluster.Describe();
  const std::string expected = base.string() + ".txt";
  if (std::getenv("DRACHMA_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << got;
  EXPECT_EQ(got, ReadAll(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(Cases()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace drachma::scheduler
