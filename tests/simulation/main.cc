// Runs the whole cluster under virtual time with seeded faults and looks whether it stays right.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "liveness.h"
#include "script.h"

namespace drachma::simulation {
namespace {

// Within this time everything comes to rest once nothing fails any more. Below the five minutes
// after which the scheduler tries pods whatever it believes, so that a lost wake-up is found.
constexpr Duration kRestWithin = std::chrono::seconds(240);
constexpr Duration kLook = std::chrono::seconds(20);

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  int steps = 200;
  int rounds = 2;  // of faults and rest, within the steps
  bool verbose = false;
};

struct Totals {
  std::uint64_t steps = 0;
  std::uint64_t tasks = 0;
};

template <typename Look>
void AwaitNone(SimCluster& cluster, const char* what, Look look) {
  std::vector<std::string> problems;
  for (Duration waited{}; waited < kRestWithin; waited += kLook) {
    cluster.RunFor(kLook);
    if (!cluster.violations().empty()) return;
    problems = look();
    if (problems.empty()) return;
  }
  for (const std::string& problem : problems) {
    cluster.Violated(fmt::format("{}: {}", what, problem));
  }
}

// True: nothing was violated.
bool RunSeed(const Arguments& arguments, std::uint64_t seed, Totals& totals) {
  ClusterOptions options = OptionsOf(seed);
  options.echo = arguments.verbose ? Chaos::Echo::kYes : Chaos::Echo::kNo;
  SimCluster cluster(std::move(options));
  Script script(cluster);
  Status started = cluster.Start();
  if (started) started = script.Prepare();
  if (!started) {
    fmt::print("seed {}: {}\n", seed, started.error().message);
    return false;
  }
  cluster.RunFor(std::chrono::seconds(5));
  const int round = std::max(1, arguments.steps / arguments.rounds);
  for (int step = 0; step < arguments.steps && cluster.violations().empty(); ++step) {
    script.Step();
    ++totals.steps;
    if ((step + 1) % round != 0 || !cluster.violations().empty()) continue;
    script.EndFaults();
    AwaitNone(cluster, "does not come about", [&] { return Unfinished(cluster); });
  }
  if (cluster.violations().empty()) {
    script.EndFaults();
    script.DeleteAll();
    AwaitNone(cluster, "remains", [&] { return Leftovers(cluster); });
  }
  totals.tasks += cluster.tasks();
  if (cluster.violations().empty()) return true;
  if (!arguments.verbose) {
    for (const std::string& line : cluster.chaos().lines()) fmt::print("{}\n", line);
  }
  for (const std::string& violation : cluster.violations()) fmt::print("  {}\n", violation);
  fmt::print("FAILED: again by --seed {} --steps {} --verbose\n", seed, arguments.steps);
  return false;
}

int Run(const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  Totals totals;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    failed += RunSeed(arguments, arguments.seed + i, totals) ? 0 : 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{} steps and {} tasks in {:.1f} s: {:.0f} steps and {:.0f} tasks a second\n",
             totals.steps, totals.tasks, took.count(),
             static_cast<double>(totals.steps) / took.count(),
             static_cast<double>(totals.tasks) / took.count());
  fmt::print("{} passed, {} failed\n", arguments.seeds - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace drachma::simulation

int main(int argc, char** argv) {
  drachma::simulation::Arguments arguments;
  CLI::App app("The whole cluster in one thread under virtual time, with seeded faults.");
  app.add_option("--seed", arguments.seed, "the first seed");
  app.add_option("--seeds", arguments.seeds, "how many seeds, one after the other");
  app.add_option("--steps", arguments.steps, "things that happen in each run");
  app.add_option("--rounds", arguments.rounds, "how often everything comes to rest meanwhile");
  app.add_flag("--verbose", arguments.verbose, "print all that happens");
  CLI11_PARSE(app, argc, argv);
  drachma::SetLogLevel(drachma::LogLevel::kError);
  return drachma::simulation::Run(arguments);
}
