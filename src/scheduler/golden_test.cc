// Each case of tests/scheduler: NAME.yaml holds the cluster, NAME.txt what becomes of it. Comment
// lines "# option: value" at the top of the YAML choose the scheduler's options.
//
// A case of tests/explain is a story. What stands before a line "# step: …" is applied and the
// scheduler let run; then the step is done, and what it shows is in NAME.txt:
//   explain pod NAME, explain claim NAME    what `drachma explain` says
//   remove KIND NAME …                      somebody deletes these
//   pods                                    where the pods are
//
// With DRACHMA_UPDATE_GOLDEN set the expectations are written anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "scheduler/explain.h"
#include "scheduler/test_cluster.h"
#include "state/loader.h"

namespace drachma::scheduler {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Cases(std::string_view folder) {
  std::vector<std::string> cases;
  for (const auto& entry : fs::directory_iterator(fs::path(DRACHMA_SOURCE_DIR) / folder)) {
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

void ExpectGolden(const fs::path& expected, const std::string& got) {
  if (std::getenv("DRACHMA_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << got;
  EXPECT_EQ(got, ReadAll(expected));
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EndsAsWritten) {
  const fs::path base = fs::path(DRACHMA_SOURCE_DIR) / "tests/scheduler" / GetParam();
  const std::string yaml = ReadAll(base.string() + ".yaml");
  TestCluster cluster(OptionsOf(yaml));
  cluster.Apply(yaml);
  cluster.Settle();
  ExpectGolden(base.string() + ".txt", cluster.Describe());
}

// Tells one story.
class Story {
 public:
  explicit Story(Options options) : options_(std::move(options)), cluster_(options_) {}

  std::string Tell(const std::string& yaml) {
    constexpr std::string_view kStep = "# step: ";
    std::istringstream lines(yaml);
    std::string objects;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kStep)) {
        objects += line + "\n";
        continue;
      }
      cluster_.Apply(std::exchange(objects, {}));
      cluster_.Settle();
      text_ += fmt::format("{}=== {}\n", text_.empty() ? "" : "\n", line.substr(kStep.size()));
      std::istringstream words(line.substr(kStep.size()));
      Do({std::istream_iterator<std::string>(words), {}});
    }
    return text_;
  }

 private:
  void Do(const std::vector<std::string>& words) {
    if (words[0] == "explain") {
      Explain(words.at(1), words.at(2));
    } else if (words[0] == "remove") {
      const auto resource =
          client::ResourceOfKind(words.at(1) == "Pod" ? "v1" : "resource.k8s.io/v1", words.at(1));
      for (std::size_t i = 2; i < words.size(); ++i) {
        cluster_.api_.Remove(resource.value(), "default", words[i]);
      }
      cluster_.RunFor(std::chrono::seconds(30));
    } else {
      for (const json::Value& pod : cluster_.api_.List(client::resources::kPods)) {
        const std::string_view node = pod["spec"]["nodeName"].AsString();
        text_ += fmt::format("{}: {}\n", client::NameOf(pod), node.empty() ? "waits" : node);
      }
    }
  }

  void Explain(const std::string& kind, const std::string& name) {
    state::ClusterState state(AllocatorOptions(options_));
    const auto client = cluster_.api_.factory().NewClient(cluster_.executor_, "test");
    state::LoadOnce(*client, state, [](const Result<std::string>& loaded) { EXPECT_TRUE(loaded); });
    cluster_.executor_.RunReady();
    const auto budgets = cluster_.api_.List({"policy", "v1", "poddisruptionbudgets"});
    const Clock& clock = cluster_.executor_.clock();
    const auto why = kind == "pod" ? ExplainPod(state, options_, clock, budgets, "default", name)
                                   : ExplainClaim(state, options_, clock, budgets, "default", name);
    text_ += why ? why->ToText() : why.error().message + "\n";
  }

  const Options options_;
  TestCluster cluster_;
  std::string text_;
};

class ExplainGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ExplainGoldenTest, SaysWhatThenHappens) {
  const fs::path base = fs::path(DRACHMA_SOURCE_DIR) / "tests/explain" / GetParam();
  const std::string yaml = ReadAll(base.string() + ".yaml");
  ExpectGolden(base.string() + ".txt", Story(OptionsOf(yaml)).Tell(yaml));
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(Cases("tests/scheduler")),
                         TestName);
INSTANTIATE_TEST_SUITE_P(Cases, ExplainGoldenTest, ::testing::ValuesIn(Cases("tests/explain")),
                         TestName);

}  // namespace
}  // namespace drachma::scheduler
