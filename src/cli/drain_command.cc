// `drachma drain` and `drachma undrain`: keep claims off devices and see their users go.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <thread>

#include "cli/arguments.h"
#include "cli/drain_target.h"
#include "cli/session.h"
#include "client/informer.h"
#include "client/objects.h"

namespace drachma::cli {
namespace {

using client::Resource;
using client::Verb;
using json::Value;

constexpr Duration kLookAgain = std::chrono::milliseconds(500);
constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::string_view kNoExecute = "NoExecute";

constexpr std::array<std::string_view, 3> kObjectVersions = {"v1", "v1beta2", "v1beta1"};
constexpr std::array<std::string_view, 3> kRuleVersions = {"v1", "v1beta2", "v1alpha3"};

struct Listed {
  Resource resource;
  std::vector<Value> items;
};

// All objects of a resource in the first version that the server has.
// ERRORS: kNotFound: in none.
Result<Listed> ListServed(Session& session, std::string_view plural,
                          std::span<const std::string_view> versions) {
  for (const std::string_view version : versions) {
    const Resource resource{std::string(kGroup), std::string(version), std::string(plural)};
    const Result<Value> list = session.Call({.verb = Verb::kList, .resource = resource});
    if (!list && list.error().code == Code::kNotFound) continue;
    if (!list) return std::unexpected(list.error());
    const auto items = (*list)["items"].Items();
    return Listed{resource, {items.begin(), items.end()}};
  }
  return Fail(Code::kNotFound, fmt::format("the API server does not serve {} of {} ({})", plural,
                                           kGroup, fmt::join(versions, ", ")));
}

Result<Listed> ListRules(Session& session) {
  Result<Listed> rules = ListServed(session, "devicetaintrules", kRuleVersions);
  if (rules || rules.error().code != Code::kNotFound) return rules;
  return Fail(Code::kNotFound,
              "the API server does not serve DeviceTaintRules, so devices cannot be drained. They "
              "are on by default since Kubernetes 1.37; before, they need the feature gates "
              "DRADeviceTaints and DRADeviceTaintRules and --runtime-config "
              "resource.k8s.io/v1beta2=true (1.36) or resource.k8s.io/v1alpha3=true (1.33 to 1.35) "
              "at kube-apiserver, kube-scheduler and kube-controller-manager");
}

struct Rule {
  DrainTarget target;
  std::string name;
  std::string action;  // "created", "configured", "unchanged", "removed"
};

Value Texts(const std::vector<std::string>& texts) {
  Value array = Value::Array();
  for (const std::string& text : texts) array.Append(text);
  return array;
}

Value ToJson(const DrainHolder& holder) {
  return Value::Object({{"claim", holder.claim},
                        {"devices", Texts(holder.devices)},
                        {"pods", Texts(holder.pods)},
                        {"tolerates", holder.tolerates}});
}

Value ToJson(const Rule& rule) {
  Value json = Value::Object(
      {{"name", rule.name}, {"driver", rule.target.driver}, {"pool", rule.target.pool}});
  if (!rule.target.device.empty()) json.Set("device", rule.target.device);
  json.Set("action", rule.action);
  return json;
}

template <typename Range>
Value ToArray(const Range& range) {
  Value array = Value::Array();
  for (const auto& item : range) array.Append(ToJson(item));
  return array;
}

std::string PodsOf(const DrainHolder& holder) {
  return holder.pods.empty() ? "-" : fmt::format("{}", fmt::join(holder.pods, ","));
}

// The devices that the arguments name. ERRORS: those of drain_target.h.
Result<std::vector<DrainTarget>> TargetsOf(const DrainArguments& arguments,
                                           const std::vector<Value>& slices) {
  if (arguments.kind == "node") return DrainTargetsOfNode(arguments.name, slices);
  DRA_ASSIGN(DrainTarget target, FindDrainTarget(arguments.name, slices));
  return std::vector{std::move(target)};
}

// "device/DRIVER/…" as well as "device DRIVER/…". ERRORS: kBadRequest.
Result<DrainArguments> Parsed(DrainArguments arguments) {
  if (arguments.name.empty()) {
    const std::size_t slash = arguments.kind.find('/');
    if (slash != std::string::npos) {
      arguments.name = arguments.kind.substr(slash + 1);
      arguments.kind.resize(slash);
    }
  }
  const bool known = arguments.kind == "device" || arguments.kind == "node";
  if (known && !arguments.name.empty()) return arguments;
  return BadInput("want device DRIVER/POOL/DEVICE, device DRIVER/POOL or node NAME");
}

class Drain {
 public:
  Drain(Session& session, const DrainArguments& arguments)
      : session_(session), arguments_(arguments) {}

  Result<int> Run() {
    DRA_ASSIGN(const Listed slices, ListServed(session_, "resourceslices", kObjectVersions));
    DRA_ASSIGN(targets_, TargetsOf(arguments_, slices.items));
    DRA_ASSIGN(const Listed rules, ListRules(session_));
    // Before the taint, since pods are gone a moment after it.
    DRA_ASSIGN(holders_, Holders());
    if (evicts()) DRA_TRY(NoteBudgets());
    for (const DrainTarget& target : targets_) DRA_TRY(Taint(rules, target));
    SayStart();
    const bool wait = arguments_.wait.value_or(evicts()) && !arguments_.dry_run;
    if (wait) DRA_TRY(Await());
    return Finish(wait);
  }

 private:
  [[nodiscard]] bool evicts() const { return arguments_.effect == kNoExecute; }
  [[nodiscard]] bool table() const { return arguments_.output == OutputFormat::kTable; }

  // Makes the rule of a target, or brings it up to date.
  Status Taint(const Listed& rules, const DrainTarget& target) {
    Value wanted =
        MakeDrainRule(target, rules.resource.version, arguments_.effect, arguments_.reason);
    Rule rule{.target = target, .name = DrainRuleName(target), .action = "created"};
    const auto there = std::ranges::find_if(
        rules.items, [&](const Value& one) { return client::NameOf(one) == rule.name; });
    client::Request request = client::CreateRequest(rules.resource, "", wanted);
    if (there != rules.items.end()) {
      if (!IsDrainRule(*there)) return NotOurs(rule.name);
      const bool same = (*there)["spec"]["taint"]["effect"].AsString() == arguments_.effect &&
                        client::AnnotationOf(*there, kDrainReason) == arguments_.reason;
      rule.action = same ? "unchanged" : "configured";
      Value changed = *there;
      changed.Set("apiVersion", wanted["apiVersion"]);
      changed.Set("kind", wanted["kind"]);
      changed.Edit("metadata").Set("annotations", wanted["metadata"]["annotations"]);
      changed.Edit("spec").Edit("taint").Set("effect", arguments_.effect);
      request = client::UpdateRequest(rules.resource, std::move(changed));
    }
    request.dry_run = arguments_.dry_run;
    request.field_manager = "drachma-drain";
    if (rule.action != "unchanged") {
      const Result<Value> answer = session_.Call(std::move(request));
      if (!answer) return std::unexpected(answer.error());
    }
    rules_.push_back(std::move(rule));
    return {};
  }

  static Status NotOurs(const std::string& name) {
    return Fail(Code::kConflict,
                fmt::format("DeviceTaintRule {} was not made by drachma drain; it is left", name));
  }

  Result<std::vector<DrainHolder>> Holders() {
    DRA_ASSIGN(const Listed claims, ListServed(session_, "resourceclaims", kObjectVersions));
    return DrainHoldersOf(targets_, claims.items, arguments_.effect);
  }

  // Eviction by taints deletes pods, it does not ask budgets: whose budgets are concerned is told.
  Status NoteBudgets() {
    DRA_ASSIGN(const std::vector<Value> budgets,
               session_.ListAll({"policy", "v1", "poddisruptionbudgets"}));
    std::set<std::string> concerned;
    for (const DrainHolder& holder : holders_) {
      const bool any = std::ranges::any_of(
          budgets, [&](const Value& budget) { return client::NamespaceOf(budget) == holder.ns; });
      if (!any || holder.tolerates) continue;
      for (const std::string& name : holder.pods) {
        const Result<Value> pod =
            session_.Call(client::GetRequest(client::resources::kPods, holder.ns, name));
        if (!pod) continue;
        for (const Value& budget : budgets) {
          if (client::NamespaceOf(budget) == holder.ns &&
              client::MatchesSelector(budget["spec"]["selector"], (*pod)["metadata"]["labels"])) {
            concerned.insert(client::KeyOf(budget));
          }
        }
      }
    }
    if (!concerned.empty()) {
      notes_.push_back(
          fmt::format("eviction by taints does not ask PodDisruptionBudgets; concerned: {}",
                      fmt::join(concerned, ", ")));
    }
    return {};
  }

  void SayStart() {
    if (!table()) return;
    const char* dry = arguments_.dry_run ? " (dry run)" : "";
    for (const Rule& rule : rules_) {
      Print(fmt::format("devicetaintrule.{}/{} {}{}: {} for {}\n", kGroup, rule.name, rule.action,
                        dry, arguments_.effect, rule.target.Text()));
    }
    for (const std::string& note : notes_) Print(fmt::format("note: {}\n", note));
    if (holders_.empty()) return;
    Table table({"CLAIM", "PODS", "DEVICES", ""});
    for (const DrainHolder& holder : holders_) {
      table.Add({holder.claim, PodsOf(holder), fmt::format("{}", fmt::join(holder.devices, ",")),
                 holder.tolerates ? "tolerates the taint" : ""});
    }
    Print(table.ToText());
    std::fflush(stdout);
  }

  // Looks until the devices are free but for claims that nobody evicts.
  Status Await() {
    Progress progress;
    const Time end = RealClock().Now() + arguments_.timeout;
    for (;;) {
      DRA_ASSIGN(std::vector<DrainHolder> now, Holders());
      for (const DrainHolder& before : holders_) {
        const bool gone = std::ranges::find(now, before.claim, &DrainHolder::claim) == now.end();
        if (!gone || !table()) continue;
        progress.Clear();
        Print(fmt::format("{} has given its devices back\n", before.claim));
        std::fflush(stdout);
      }
      holders_ = std::move(now);
      const auto left = std::ranges::count(holders_, false, &DrainHolder::tolerates);
      if (left == 0) return {};
      if (arguments_.timeout > Duration::zero() && RealClock().Now() >= end) {
        timed_out_ = true;
        return {};
      }
      progress.Say(fmt::format("waiting for {} claim{} …", left, left == 1 ? "" : "s"));
      std::this_thread::sleep_for(kLookAgain);
    }
  }

  [[nodiscard]] int Finish(bool waited) const {
    const bool drained = holders_.empty();
    if (!table()) {
      PrintValue(Value::Object({{"rules", ToArray(rules_)},
                                {"effect", arguments_.effect},
                                {"dryRun", arguments_.dry_run},
                                {"drained", drained},
                                {"holders", ToArray(holders_)},
                                {"notes", Texts(notes_)}}),
                 arguments_.output);
    } else if (drained) {
      Print("nobody holds the devices\n");
    } else if (timed_out_) {
      Print(fmt::format("not drained in time: {} claim{} left\n", holders_.size(),
                        holders_.size() == 1 ? "" : "s"));
    } else if (waited) {
      Print("the claims that are left tolerate the taint and stay\n");
    } else {
      Print(arguments_.dry_run ? "nothing was changed\n"
                               : "new claims stay away; drain --wait waits for these to end\n");
    }
    return !waited || drained ? kFine : kNegative;
  }

  Session& session_;
  const DrainArguments& arguments_;
  std::vector<DrainTarget> targets_;
  std::vector<Rule> rules_;
  std::vector<DrainHolder> holders_;
  std::vector<std::string> notes_;
  bool timed_out_ = false;
};

// Other taints that keep claims away from a target that is no longer drained.
std::vector<std::string> OtherTaints(const DrainTarget& target, const std::vector<Value>& rules,
                                     const std::vector<Value>& slices,
                                     const std::set<std::string>& removed) {
  std::set<std::string> taints;
  for (const Value& value : rules) {
    const Result<api::DeviceTaintRule> rule = api::DeviceTaintRule::FromJson(value);
    if (!rule || removed.contains(rule->name) || !rule->has_selector) continue;
    const bool concerns =
        (!rule->driver || *rule->driver == target.driver) &&
        (!rule->pool || *rule->pool == target.pool) &&
        (!rule->device || target.device.empty() || *rule->device == target.device);
    if (!concerns || !rule->taint.PreventsAllocation()) continue;
    taints.insert(
        fmt::format("DeviceTaintRule {} ({}:{})", rule->name, rule->taint.key, rule->taint.effect));
  }
  for (const Value& slice : slices) {
    const Value& spec = slice["spec"];
    if (spec["driver"].AsString() != target.driver ||
        spec["pool"]["name"].AsString() != target.pool) {
      continue;
    }
    for (const Value& device : spec["devices"].Items()) {
      if (!target.device.empty() && device["name"].AsString() != target.device) continue;
      for (const Value& value : device["taints"].Items()) {
        const Result<api::DeviceTaint> taint = api::DeviceTaint::FromJson(value);
        if (!taint || !taint->PreventsAllocation()) continue;
        taints.insert(fmt::format("the driver's taint {}:{} on {}", taint->key, taint->effect,
                                  device["name"].AsString()));
      }
    }
  }
  return {taints.begin(), taints.end()};
}

// The rules of drain for what the arguments name: of devices that are gone as well.
std::vector<Value> RulesToRemove(const DrainArguments& arguments, const std::vector<Value>& slices,
                                 const std::vector<Value>& rules) {
  std::vector<DrainTarget> targets;
  if (arguments.kind == "node") {
    if (auto found = DrainTargetsOfNode(arguments.name, slices)) targets = *std::move(found);
  } else {
    targets = ReadingsOf(arguments.name);
  }
  std::vector<Value> found;
  for (const Value& rule : rules) {
    const bool named = std::ranges::any_of(targets, [&](const DrainTarget& target) {
      return client::NameOf(rule) == DrainRuleName(target);
    });
    if (named && IsDrainRule(rule)) found.push_back(rule);
  }
  return found;
}

Result<int> Undrain(Session& session, const DrainArguments& arguments) {
  DRA_ASSIGN(const Listed rules, ListRules(session));
  DRA_ASSIGN(const Listed slices, ListServed(session, "resourceslices", kObjectVersions));
  const std::vector<Value> mine = RulesToRemove(arguments, slices.items, rules.items);
  const Result<std::vector<DrainTarget>> targets = TargetsOf(arguments, slices.items);
  if (mine.empty() && !targets) return std::unexpected(targets.error());
  std::vector<Rule> removed;
  std::set<std::string> names;
  for (const Value& rule : mine) {
    client::Request request = client::DeleteRequest(rules.resource, rule);
    request.dry_run = arguments.dry_run;
    const Result<Value> answer = session.Call(std::move(request));
    if (!answer && answer.error().code != Code::kNotFound) return std::unexpected(answer.error());
    const Value& selector = rule["spec"]["deviceSelector"];
    names.emplace(client::NameOf(rule));
    removed.push_back({.target = {std::string(selector["driver"].AsString()),
                                  std::string(selector["pool"].AsString()),
                                  std::string(selector["device"].AsString())},
                       .name = std::string(client::NameOf(rule)),
                       .action = "removed"});
  }
  std::vector<std::string> others;
  for (const DrainTarget& target : targets.value_or(std::vector<DrainTarget>())) {
    for (std::string& taint : OtherTaints(target, rules.items, slices.items, names)) {
      others.push_back(std::move(taint));
    }
  }
  if (arguments.output != OutputFormat::kTable) {
    PrintValue(Value::Object({{"rules", ToArray(removed)},
                              {"dryRun", arguments.dry_run},
                              {"stillTaintedBy", Texts(others)}}),
               arguments.output);
  } else {
    for (const Rule& rule : removed) {
      Print(fmt::format("devicetaintrule.{}/{} removed{}: {}\n", kGroup, rule.name,
                        arguments.dry_run ? " (dry run)" : "", rule.target.Text()));
    }
    if (removed.empty()) Print(fmt::format("{} is not drained\n", arguments.name));
    for (const std::string& taint : others)
      Print(fmt::format("note: still tainted by {}\n", taint));
  }
  return kFine;
}

template <typename Command>
int RunWith(const DrainArguments& given, const Command& command) {
  const Result<DrainArguments> arguments = Parsed(given);
  if (!arguments) return PrintError(arguments.error(), kWrongUse);
  const Result<std::unique_ptr<Session>> session = Session::Open(arguments->kubeconfig);
  if (!session) return PrintError(session.error());
  const Result<int> code = command(**session, *arguments);
  if (code) return *code;
  return PrintError(code.error(), code.error().code == Code::kBadRequest ? kWrongUse : kNegative);
}

}  // namespace

int RunDrain(const DrainArguments& arguments) {
  return RunWith(arguments, [](Session& session, const DrainArguments& parsed) {
    return Drain(session, parsed).Run();
  });
}

int RunUndrain(const DrainArguments& arguments) { return RunWith(arguments, Undrain); }

}  // namespace drachma::cli
