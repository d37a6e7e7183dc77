#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "base/random_names.h"
#include "cli/arguments.h"
#include "cli/check_hint.h"
#include "cluster/plan.h"

namespace drachma::cli {
namespace {

using cluster::Plan;
using cluster::PlannedClaim;
using cluster::PlannedDevice;
using cluster::PlannedPod;
using json::Value;

// "gpu=gpu-0,gpu-1 nic=nic-0".
std::string DevicesOf(const PlannedPod& pod) {
  std::vector<std::pair<std::string, std::string>> requests;
  for (const PlannedClaim& claim : pod.claims) {
    for (const PlannedDevice& device : claim.devices) {
      const auto known =
          std::ranges::find(requests, device.request, &std::pair<std::string, std::string>::first);
      if (known == requests.end()) {
        requests.emplace_back(device.request, device.device);
      } else {
        known->second += "," + device.device;
      }
    }
  }
  std::string text;
  for (const auto& [request, devices] : requests) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", request, devices);
  }
  return text;
}

std::vector<std::string> RowOf(const PlannedPod& pod) {
  return {pod.ns,         pod.name,  pod.phase, pod.node.empty() ? "-" : pod.node,
          DevicesOf(pod), pod.reason};
}

// Warnings that differ in random names alone are one line: a controller whose writes are refused
// tries again and again.
void PrintWarnings(const Plan& plan) {
  struct Group {
    std::string key;
    std::string text;
    std::size_t count = 0;
  };
  std::vector<Group> groups;
  for (const cluster::PlannedEvent& event : plan.events) {
    // Reasons of pods that wait stand in the table already.
    if (event.type != "Warning" || event.reason == "FailedScheduling") continue;
    std::string_view message = event.message;
    // The recorder's word for the same.
    constexpr std::string_view kCombined = "(combined from similar events): ";
    if (message.starts_with(kCombined)) message.remove_prefix(kCombined.size());
    std::string text = fmt::format("{} {}: {}", event.object, event.reason, message);
    std::string key = WithoutRandomEndings(text);
    const auto known = std::ranges::find(groups, key, &Group::key);
    if (known != groups.end()) {
      ++known->count;
    } else {
      groups.push_back({.key = std::move(key), .text = std::move(text), .count = 1});
    }
  }
  for (const Group& group : groups) {
    const bool first = &group == &groups.front();
    Print(fmt::format(
        "{}{}\n", first ? "\nWarnings:\n  " : "  ",
        group.count == 1 ? group.text : fmt::format("{} ({} times)", group.key, group.count)));
  }
  for (const std::string& warning : plan.warnings) Print(fmt::format("warning: {}\n", warning));
}

void PrintPlan(const Plan& plan) {
  Table table({"NAMESPACE", "POD", "PHASE", "NODE", "DEVICES", "REASON"});
  for (const PlannedPod& pod : plan.pods) table.Add(RowOf(pod));
  Print(table.empty() ? "No pods.\n" : table.ToText());
  PrintWarnings(plan);
}

// Workloads whose last word is that they could not make a pod (a quota, an admission that refuses).
std::vector<std::string> WithoutTheirPods(const Plan& plan) {
  std::vector<std::string> objects;
  for (const cluster::PlannedEvent& event : plan.events) {
    if (event.reason == "SuccessfulCreate") std::erase(objects, event.object);
    if (event.reason != "FailedCreate" || event.type != "Warning") continue;
    std::erase(objects, event.object);
    objects.push_back(event.object);
  }
  return objects;
}

// Whether every pod is there, got its place and starts there.
bool AllPlaced(const Plan& plan) {
  return WithoutTheirPods(plan).empty() &&
         std::ranges::none_of(plan.pods,
                              [](const PlannedPod& pod) {
                                return pod.phase == "Pending" ||
                                       (pod.phase == "Scheduled" && !pod.reason.empty());
                              });
}

using RowsByPod = std::map<std::string, const PlannedPod*>;

RowsByPod ByName(const Plan& plan) {
  RowsByPod rows;
  for (const PlannedPod& pod : plan.pods) rows.insert_or_assign(pod.ns + "/" + pod.name, &pod);
  return rows;
}

struct Difference {
  const PlannedPod* before;
  const PlannedPod* after;
};

std::vector<Difference> DifferencesOf(const Plan& before, const Plan& after) {
  const RowsByPod old_rows = ByName(before);
  const RowsByPod new_rows = ByName(after);
  std::vector<Difference> differences;
  for (const auto& [name, row] : old_rows) {
    const auto now = new_rows.find(name);
    if (now == new_rows.end()) {
      differences.push_back({row, nullptr});
      continue;
    }
    const PlannedPod& next = *now->second;
    const bool same = row->phase == next.phase && row->node == next.node &&
                      row->claims == next.claims && row->reason == next.reason;
    if (!same) differences.push_back({row, &next});
  }
  for (const auto& [name, row] : new_rows) {
    if (!old_rows.contains(name)) differences.push_back({nullptr, row});
  }
  return differences;
}

void PrintDifference(const Plan& before, const Plan& after) {
  const std::vector<Difference> differences = DifferencesOf(before, after);
  if (differences.empty()) {
    Print("\nThe changes make no difference to any pod.\n");
    return;
  }
  Table table({" ", "POD", "PHASE", "NODE", "DEVICES", "REASON"});
  const auto add = [&](const char* sign, const PlannedPod& pod) {
    std::vector<std::string> row = RowOf(pod);
    row[1] = row[0] + "/" + row[1];
    row[0] = sign;
    table.Add(std::move(row));
  };
  for (const Difference& difference : differences) {
    if (difference.before != nullptr) add("-", *difference.before);
    if (difference.after != nullptr) add("+", *difference.after);
  }
  Print("\nWith the changes:\n" + table.ToText());
}

Value DifferenceToJson(const Plan& before, const Plan& after) {
  const auto row = [](const Plan& plan, const PlannedPod* pod) -> Value {
    if (pod == nullptr) return {};
    const Value all = cluster::ToJson(plan)["pods"];
    return all.Items()[static_cast<std::size_t>(pod - plan.pods.data())];
  };
  Value list = Value::Array();
  for (const Difference& difference : DifferencesOf(before, after)) {
    list.Append(Value::Object(
        {{"before", row(before, difference.before)}, {"after", row(after, difference.after)}}));
  }
  return list;
}

// A file that the plan goes on without, and why.
struct LeftOut {
  std::string file;
  Error error;
};

// The objects of all files that can be read; the others are `left_out`. ERRORS: of LoadManifests:
// kInvalid when no file is good.
Result<std::vector<cluster::Manifest>> LoadGood(const std::vector<std::string>& arguments,
                                                std::vector<LeftOut>& left_out) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::ranges::move(cluster::FilesOf(argument), std::back_inserter(files));
  }
  if (files.size() < 2) return cluster::LoadManifests(arguments);
  std::vector<cluster::Manifest> manifests;
  for (const std::string& file : files) {
    Result<std::vector<cluster::Manifest>> some = cluster::LoadManifests({file});
    if (some) {
      std::ranges::move(*some, std::back_inserter(manifests));
    } else if (some.error().code == Code::kInvalid) {
      left_out.push_back({file, std::move(some.error())});
    } else {
      return some;
    }
  }
  if (manifests.empty() && !left_out.empty()) return std::unexpected(left_out.front().error);
  return manifests;
}

// Takes the file that `refusal` is about out of the plan; false when nothing would be left, or no
// node of those that the files have.
bool LeaveOut(const Error& refusal, cluster::PlanOptions& options, std::vector<LeftOut>& left_out) {
  if (refusal.code != Code::kInvalid) return false;
  std::vector<cluster::Manifest>& manifests = options.manifests;
  const auto faulty = std::ranges::find_if(manifests, [&](const cluster::Manifest& manifest) {
    return refusal.message.starts_with(manifest.Place() + ":");
  });
  if (faulty == manifests.end()) return false;
  const std::string file = faulty->file;
  const auto of_file = [&](const cluster::Manifest& manifest) { return manifest.file == file; };
  // Without its nodes the rest would be planned for other hardware.
  const auto holds_node = [&](const cluster::Manifest& manifest) {
    return of_file(manifest) && manifest.Is("", "Node");
  };
  if (std::ranges::all_of(manifests, of_file) || std::ranges::any_of(manifests, holds_node)) {
    return false;
  }
  std::erase_if(manifests, of_file);
  left_out.push_back({file, refusal});
  return true;
}

Result<cluster::PlanOptions> OptionsOf(const PlanArguments& arguments,
                                       std::vector<LeftOut>& left_out) {
  cluster::PlanOptions options{.start = RealClock().Now()};
  if (arguments.plane.seed != 0) options.seed = arguments.plane.seed;
  options.horizon = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(arguments.horizon_seconds));
  if (!arguments.fleet.empty()) {
    DRA_ASSIGN(cluster::Fleet fleet, cluster::FindFleet(arguments.fleet));
    options.fleet = std::move(fleet);
  }
  DRA_ASSIGN(options.manifests, LoadGood(arguments.files, left_out));
  DRA_ASSIGN(options.what_if.apply, cluster::LoadManifests(arguments.what_if));
  options.what_if.remove = arguments.remove;
  for (const std::string& entry : arguments.priorities) {
    const std::size_t equals = entry.find('=');
    std::int64_t priority = 0;
    const bool good =
        equals != std::string::npos &&
        std::from_chars(entry.data() + equals + 1, entry.data() + entry.size(), priority).ec ==
            std::errc();
    if (!good) return BadInput("--set-priority wants POD=NUMBER, not " + entry);
    options.what_if.priorities.insert_or_assign(entry.substr(0, equals), priority);
  }
  DRA_TRY(SetPlaneOptions(arguments.plane, options));
  return options;
}

}  // namespace

int RunPlan(const PlanArguments& arguments) {
  std::vector<LeftOut> left_out;
  Result<cluster::PlanOptions> options = OptionsOf(arguments, left_out);
  std::vector<std::string> files = arguments.files;
  files.insert(files.end(), arguments.what_if.begin(), arguments.what_if.end());
  if (!options) return PrintManifestError(options.error(), files, kWrongUse);
  // What controllers meet with is told in the plan.
  if (!LogEnabled(LogLevel::kDebug)) SetLogLevel(LogLevel::kError);
  Progress progress;
  progress.Say("planning");
  Result<cluster::PlanOutcome> outcome = cluster::MakePlan(*options);
  while (!outcome && LeaveOut(outcome.error(), *options, left_out)) {
    outcome = cluster::MakePlan(*options);
  }
  progress.Clear();
  if (!outcome) {
    return PrintManifestError(outcome.error(), files,
                              outcome.error().code == Code::kInvalid ? kWrongUse : kNegative);
  }
  for (const LeftOut& file : left_out) {
    PrintManifestError(file.error, {file.file}, kWrongUse);
    outcome->plan.warnings.push_back("left out for its faults: " + file.file);
  }
  if (arguments.output == OutputFormat::kTable) {
    PrintPlan(outcome->plan);
    if (outcome->what_if) PrintDifference(outcome->plan, *outcome->what_if);
  } else {
    Value value = cluster::ToJson(outcome->plan);
    if (outcome->what_if) {
      value.Set("whatIf", cluster::ToJson(*outcome->what_if));
      value.Set("difference", DifferenceToJson(outcome->plan, *outcome->what_if));
    }
    PrintValue(value, arguments.output);
  }
  if (!left_out.empty()) return kWrongUse;
  return AllPlaced(outcome->what_if.value_or(outcome->plan)) ? kFine : kNegative;
}

}  // namespace drachma::cli
