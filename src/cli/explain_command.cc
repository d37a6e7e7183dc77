// `drachma explain`: why a pod, a claim or a device waits or is held.
#include "cli/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cli/explain_domain.h"
#include "cli/explain_refusals.h"
#include "cli/session.h"
#include "client/objects.h"
#include "scheduler/explain.h"
#include "state/loader.h"

namespace drachma::cli {
namespace {

using explain::Explanation;
using json::Value;
namespace resources = client::resources;

enum class Subject : std::uint8_t { kPod, kClaim, kDevice, kWorkload };

const client::Resource kStatefulSets{"apps", "v1", "statefulsets"};
const client::Resource kDaemonSets{"apps", "v1", "daemonsets"};
const client::Resource kJobs{"batch", "v1", "jobs"};
const client::Resource kCronJobs{"batch", "v1", "cronjobs"};

struct SubjectName {
  std::string_view name;
  Subject subject;
  client::Resource resource;
};

// By kind, plural and short name, as kubectl takes them.
const std::array<SubjectName, 25> kSubjects = {{
    {"pod", Subject::kPod, resources::kPods},
    {"pods", Subject::kPod, resources::kPods},
    {"po", Subject::kPod, resources::kPods},
    {"resourceclaim", Subject::kClaim, resources::kResourceClaims},
    {"resourceclaims", Subject::kClaim, resources::kResourceClaims},
    {"claim", Subject::kClaim, resources::kResourceClaims},
    {"device", Subject::kDevice, {}},
    {"devices", Subject::kDevice, {}},
    {"deployment", Subject::kWorkload, resources::kDeployments},
    {"deployments", Subject::kWorkload, resources::kDeployments},
    {"deploy", Subject::kWorkload, resources::kDeployments},
    {"replicaset", Subject::kWorkload, resources::kReplicaSets},
    {"replicasets", Subject::kWorkload, resources::kReplicaSets},
    {"rs", Subject::kWorkload, resources::kReplicaSets},
    {"statefulset", Subject::kWorkload, kStatefulSets},
    {"statefulsets", Subject::kWorkload, kStatefulSets},
    {"sts", Subject::kWorkload, kStatefulSets},
    {"daemonset", Subject::kWorkload, kDaemonSets},
    {"daemonsets", Subject::kWorkload, kDaemonSets},
    {"ds", Subject::kWorkload, kDaemonSets},
    {"job", Subject::kWorkload, kJobs},
    {"jobs", Subject::kWorkload, kJobs},
    {"cronjob", Subject::kWorkload, kCronJobs},
    {"cronjobs", Subject::kWorkload, kCronJobs},
    {"cj", Subject::kWorkload, kCronJobs},
}};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

struct Target {
  const SubjectName* kind = nullptr;
  std::string name;
};

// A name without a kind means what is called so, when that is one object.
Result<Target> GuessTarget(Session& session, const std::string& ns, const std::string& name) {
  std::vector<Target> found;
  std::vector<std::string> titles;
  for (const SubjectName& kind : kSubjects) {
    const bool known = kind.resource.plural.empty() || kind.name != kind.resource.plural;
    if (known) continue;  // each resource once, by its plural
    if (!session.Call(client::GetRequest(kind.resource, ns, name))) continue;
    found.push_back({&kind, name});
    titles.push_back(fmt::format("{}/{}", kind.name, name));
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Fail(Code::kNotFound,
                fmt::format("there is no pod, claim or workload \"{}\" in namespace {}", name, ns));
  }
  return BadInput(fmt::format("\"{}\" may be {}: write which", name, fmt::join(titles, " or ")));
}

// Whether the kind is to be guessed.
bool IsBareName(const ExplainArguments& arguments) {
  const std::string kind = LowerCase(arguments.target.substr(0, arguments.target.find('.')));
  return arguments.name.empty() && arguments.target.find('/') == std::string::npos &&
         std::ranges::find(kSubjects, kind, &SubjectName::name) == kSubjects.end();
}

Result<Target> ParseTarget(const ExplainArguments& arguments) {
  std::string kind = arguments.target;
  std::string name = arguments.name;
  if (const std::size_t slash = kind.find('/'); slash != std::string::npos) {
    if (!name.empty()) return BadInput("write KIND/NAME or KIND NAME, not both");
    name = kind.substr(slash + 1);
    kind.resize(slash);
  }
  // "pods.v1." and "resourceclaims.resource.k8s.io" as kubectl takes them; any case.
  kind = LowerCase(kind.substr(0, kind.find('.')));
  const auto* found = std::ranges::find(kSubjects, kind, &SubjectName::name);
  if (found == kSubjects.end()) {
    return BadInput(fmt::format(
        "cannot explain \"{}\": want pod/NAME, resourceclaim/NAME, device/DRIVER/POOL/DEVICE or a "
        "workload such as deployment/NAME",
        arguments.target));
  }
  if (name.empty()) return BadInput(fmt::format("which {}? Write {}/NAME", kind, kind));
  return Target{found, std::move(name)};
}

// All that the explanation reads. The state lives on this thread once it is loaded.
Result<std::string> Load(Session& session, state::ClusterState& state) {
  std::promise<Result<std::string>> loaded;
  session.Post([&](client::Client& client) {
    state::LoadOnce(client, state,
                    [&](Result<std::string> version) { loaded.set_value(std::move(version)); });
  });
  return loaded.get_future().get();
}

// What happened to a pod after it got its node: the kubelet and its drivers speak in events.
void ExplainStart(Session& session, const Value& pod, Explanation& explanation) {
  if (pod["status"]["phase"].AsString() != "Pending") return;
  const std::string said =
      LastWarning(session, std::string(client::NamespaceOf(pod)), client::UidOf(pod),
                  {"FailedPrepareDynamicResources", "FailedMount", "FailedAttachVolume",
                   "FailedCreatePodSandBox", "Failed", "BackOff", "UnexpectedAdmissionError"});
  explanation.cause += " and has not started yet";
  ExplainDomain(session, pod, explanation);
  if (!said.empty()) explanation.blockers.push_back(said);
}

// What an explanation is made with.
struct Question {
  Session& session;
  state::ClusterState& state;
  const scheduler::Options& options;
  std::vector<Value> budgets;
  std::string ns;
};

Result<Explanation> ExplainOnePod(const Question& question, const std::string& name) {
  DRA_ASSIGN(Explanation explanation,
             scheduler::ExplainPod(question.state, question.options, RealClock(), question.budgets,
                                   question.ns, name));
  const Value& pod = question.state.FindPodByKey(question.ns + "/" + name)->object;
  if (pod["spec"]["nodeName"].AsString().empty()) {
    ExplainMissingClaims(question.session, pod, explanation);
    ExplainExtendedClaim(question.session, question.state, pod, explanation);
  } else {
    ExplainStart(question.session, pod, explanation);
  }
  return explanation;
}

// uids of the workload and of what it owns between itself and its pods.
Result<std::set<std::string, std::less<>>> OwnersOf(const Question& question,
                                                    const Value& workload) {
  std::set<std::string, std::less<>> owners = {std::string(client::UidOf(workload))};
  const std::string_view kind = workload["kind"].AsString();
  const bool through_sets = kind == "Deployment";
  if (!through_sets && kind != "CronJob") return owners;
  DRA_ASSIGN(const Value list,
             question.session.Call({.verb = client::Verb::kList,
                                    .resource = through_sets ? resources::kReplicaSets : kJobs,
                                    .ns = question.ns}));
  for (const Value& owned : list["items"].Items()) {
    const Value* owner = client::ControllerOf(owned);
    if (owner != nullptr && owners.contains((*owner)["uid"].AsString())) {
      owners.emplace(client::UidOf(owned));
    }
  }
  return owners;
}

// How many pods the workload is to have.
std::size_t PodsWanted(const Value& workload) {
  const Value& spec = workload["spec"];
  const std::string_view kind = workload["kind"].AsString();
  if (kind == "CronJob") return 0;
  if (kind == "DaemonSet") {
    return static_cast<std::size_t>(workload["status"]["desiredNumberScheduled"].AsInt());
  }
  if (kind != "Job") return static_cast<std::size_t>(spec["replicas"].AsInt(1));
  const std::int64_t left = spec["completions"].AsInt(1) - workload["status"]["succeeded"].AsInt();
  return static_cast<std::size_t>(std::clamp<std::int64_t>(left, 0, spec["parallelism"].AsInt(1)));
}

// A workload waits for what its first waiting pod waits for, or for pods that cannot be created.
Result<Explanation> ExplainWorkload(const Question& question, const Target& target) {
  DRA_ASSIGN(const Value workload, question.session.Call(client::GetRequest(
                                       target.kind->resource, question.ns, target.name)));
  DRA_ASSIGN(const auto owners, OwnersOf(question, workload));
  std::size_t pods = 0;
  std::vector<std::string> waiting;
  for (const auto& [key, pod] : question.state.pods()) {
    const Value* owner = client::ControllerOf(pod->object);
    if (pod->terminal || owner == nullptr || !owners.contains((*owner)["uid"].AsString())) continue;
    ++pods;
    if (pod->node_name.empty()) waiting.push_back(pod->name);
  }
  std::vector<explain::Step> steps = {{"pods", pods}, {"pods with a node", pods - waiting.size()}};
  const std::string title =
      fmt::format("{} {}/{}", LowerCase(workload["kind"].AsString()), question.ns, target.name);
  Explanation explanation;
  if (pods < PodsWanted(workload)) {
    steps.insert(steps.begin(), {"pods wanted", PodsWanted(workload)});
    ExplainMissingPods(question.session, workload, owners, title, explanation);
  }
  if (waiting.empty()) {
    if (explanation.cause.empty()) {
      explanation.cause = fmt::format("no pod of {} waits for a node", title);
    }
  } else {
    std::ranges::sort(waiting);
    Explanation missing = std::move(explanation);
    DRA_ASSIGN(explanation, ExplainOnePod(question, waiting.front()));
    explanation.cause =
        fmt::format("{}{}{} of {} pods of {} wait{}; pod {}: {}", missing.cause,
                    missing.cause.empty() ? "" : "; ", waiting.size(), pods, title,
                    waiting.size() == 1 ? "s" : "", waiting.front(), explanation.cause);
    explanation.blockers.insert(explanation.blockers.end(), missing.blockers.begin(),
                                missing.blockers.end());
  }
  explanation.steps.insert(explanation.steps.begin(), steps.begin(), steps.end());
  return explanation;
}

Result<Explanation> Explain(const Question& question, const Target& target) {
  switch (target.kind->subject) {
    case Subject::kPod:
      return ExplainOnePod(question, target.name);
    case Subject::kClaim:
      return scheduler::ExplainClaim(question.state, question.options, RealClock(),
                                     question.budgets, question.ns, target.name);
    case Subject::kDevice:
      return scheduler::ExplainDevice(question.state, target.name);
    case Subject::kWorkload:
      return ExplainWorkload(question, target);
  }
  return BadInput("unknown subject");
}

}  // namespace

int RunExplain(const ExplainArguments& arguments) {
  const bool guesses = IsBareName(arguments);
  Result<Target> target = guesses ? BadInput("not looked for yet") : ParseTarget(arguments);
  if (!guesses && !target) return PrintError(target.error(), kWrongUse);
  scheduler::Options options;
  if (const Status set = SetPlaneOptions(arguments.plane, options); !set) {
    return PrintError(set.error(), kWrongUse);
  }
  Result<std::unique_ptr<Session>> session = Session::Open(arguments.kubeconfig);
  if (!session) return PrintError(session.error());
  const std::string ns = arguments.ns.empty() ? (*session)->ns() : arguments.ns;
  if (guesses) {
    target = GuessTarget(**session, ns, arguments.target);
    if (!target) {
      return PrintError(target.error(),
                        target.error().code == Code::kBadRequest ? kWrongUse : kNegative);
    }
  }
  state::ClusterState state{scheduler::AllocatorOptions(options)};
  Result<Explanation> explanation = BadInput("not asked yet");
  {
    Progress progress;
    progress.Say("reading the cluster …");
    const Result<std::string> version = Load(**session, state);
    if (!version) {
      progress.Clear();
      return PrintError(version.error());
    }
    progress.Say("explaining …");
    auto budgets = (*session)->ListAll({"policy", "v1", "poddisruptionbudgets"});
    if (!budgets) {
      progress.Clear();
      return PrintError(budgets.error());
    }
    explanation = Explain({**session, state, options, *std::move(budgets), ns}, *target);
    if (explanation) explanation->as_of = *version;
    progress.Clear();
  }
  if (!explanation) {
    const bool wrong_use = explanation.error().code == Code::kBadRequest;
    return PrintError(explanation.error(), wrong_use ? kWrongUse : kNegative);
  }
  if (arguments.output == OutputFormat::kTable) {
    Print(explanation->ToText());
  } else {
    PrintValue(explanation->ToJson(), arguments.output);
  }
  return kFine;
}

}  // namespace drachma::cli
