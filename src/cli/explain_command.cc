// `drachma explain`: why a pod, a claim or a device waits or is held.
#include "cli/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <optional>
#include <utility>

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

struct SubjectName {
  std::string_view name;
  Subject subject;
  client::Resource resource;
};

const std::array<SubjectName, 16> kSubjects = {{
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
    {"rs", Subject::kWorkload, resources::kReplicaSets},
    {"statefulset", Subject::kWorkload, {"apps", "v1", "statefulsets"}},
    {"daemonset", Subject::kWorkload, {"apps", "v1", "daemonsets"}},
    {"job", Subject::kWorkload, {"batch", "v1", "jobs"}},
}};

struct Target {
  const SubjectName* kind = nullptr;
  std::string name;
};

Result<Target> ParseTarget(const ExplainArguments& arguments) {
  std::string kind = arguments.target;
  std::string name = arguments.name;
  if (const std::size_t slash = kind.find('/'); slash != std::string::npos) {
    if (!name.empty()) return BadInput("write KIND/NAME or KIND NAME, not both");
    name = kind.substr(slash + 1);
    kind.resize(slash);
  }
  // "pods.v1." and "resourceclaims.resource.k8s.io" as kubectl takes them; any case.
  kind = kind.substr(0, kind.find('.'));
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
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

// The text of the newest event of an object with one of these reasons; empty when there is none.
std::string LastWarning(Session& session, const std::string& ns, std::string_view uid,
                        std::initializer_list<std::string_view> reasons) {
  const Result<Value> events =
      session.Call({.verb = client::Verb::kList,
                    .resource = {"", "v1", "events"},
                    .ns = ns,
                    .field_selector = fmt::format("involvedObject.uid={}", uid)});
  if (!events) return {};
  std::string text;
  std::string_view newest;
  for (const Value& event : (*events)["items"].Items()) {
    const std::string_view reason = event["reason"].AsString();
    if (std::ranges::find(reasons, reason) == reasons.end()) continue;
    std::string_view when = event["lastTimestamp"].AsString();
    if (when.empty()) when = event["eventTime"].AsString();
    if (text.empty() || when >= newest) {
      newest = when;
      text = fmt::format("{}: {}", reason, event["message"].AsString());
    }
  }
  return text;
}

// A claim that is not made yet: only its template, and what the controller says of it, tell why.
void ExplainMissingClaims(Session& session, const Value& pod, Explanation& explanation) {
  const std::string ns(client::NamespaceOf(pod));
  bool missing = false;
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = entry["resourceClaimTemplateName"].AsString();
    if (name.empty() || !client::ClaimNameOf(pod, entry).empty()) continue;
    missing = true;
    const Result<Value> found =
        session.Call(client::GetRequest(resources::kResourceClaimTemplates, ns, name));
    if (found || found.error().code != Code::kNotFound) continue;
    explanation.cause = fmt::format(
        "held before any attempt: entry {} of the pod names ResourceClaimTemplate {}/{}, which "
        "does not exist",
        entry["name"].AsString(), ns, name);
    explanation.change = fmt::format("if ResourceClaimTemplate {}/{} existed", ns, name);
    return;
  }
  if (!missing) return;
  const std::string said =
      LastWarning(session, ns, client::UidOf(pod), {"FailedResourceClaimCreation"});
  if (!said.empty()) {
    explanation.blockers.push_back(said);
  } else if (explanation.change.empty()) {
    explanation.change = "once the ResourceClaim controller has made the claim (does one run?)";
  }
}

// What happened to a pod after it got its node: the kubelet and its drivers speak in events.
void ExplainStart(Session& session, const Value& pod, Explanation& explanation) {
  if (pod["status"]["phase"].AsString() != "Pending") return;
  const std::string said =
      LastWarning(session, std::string(client::NamespaceOf(pod)), client::UidOf(pod),
                  {"FailedPrepareDynamicResources", "FailedMount", "FailedAttachVolume",
                   "FailedCreatePodSandBox", "Failed", "BackOff", "UnexpectedAdmissionError"});
  explanation.cause += " and has not started yet";
  if (!said.empty()) explanation.blockers.push_back(said);
}

Result<Explanation> ExplainOnePod(Session& session, state::ClusterState& state,
                                  const scheduler::Options& options, const std::string& ns,
                                  const std::string& name) {
  DRA_ASSIGN(Explanation explanation, scheduler::ExplainPod(state, options, RealClock(), ns, name));
  const Value& pod = state.FindPodByKey(ns + "/" + name)->object;
  if (pod["spec"]["nodeName"].AsString().empty()) {
    ExplainMissingClaims(session, pod, explanation);
  } else {
    ExplainStart(session, pod, explanation);
  }
  return explanation;
}

// A workload waits for what its first waiting pod waits for, or for pods that cannot be created.
Result<Explanation> ExplainWorkload(Session& session, state::ClusterState& state,
                                    const scheduler::Options& options, const Target& target,
                                    const std::string& ns) {
  DRA_ASSIGN(const Value workload,
             session.Call(client::GetRequest(target.kind->resource, ns, target.name)));
  std::vector<state::PodPtr> pods;
  std::vector<std::string> waiting;
  for (const auto& [key, pod] : state.pods()) {
    if (pod->ns != ns || pod->terminal) continue;
    if (!client::MatchesSelector(workload["spec"]["selector"], pod->object["metadata"]["labels"])) {
      continue;
    }
    pods.push_back(pod);
    if (pod->node_name.empty()) waiting.push_back(pod->name);
  }
  Explanation explanation;
  explanation.steps.push_back({"pods", pods.size()});
  explanation.steps.push_back({"pods with a node", pods.size() - waiting.size()});
  const std::string title = fmt::format("{} {}/{}", target.kind->name, ns, target.name);
  if (waiting.empty()) {
    explanation.cause = fmt::format("no pod of {} waits for a node", title);
    for (const Value& condition : workload["status"]["conditions"].Items()) {
      if (condition["type"].AsString() != "ReplicaFailure") continue;
      explanation.cause = fmt::format("pods of {} cannot be created", title);
      explanation.blockers.emplace_back(condition["message"].AsString());
    }
    return explanation;
  }
  std::ranges::sort(waiting);
  DRA_ASSIGN(Explanation of_pod, ExplainOnePod(session, state, options, ns, waiting.front()));
  of_pod.cause = fmt::format("{} of {} pods of {} wait; pod {}: {}", waiting.size(), pods.size(),
                             title, waiting.front(), of_pod.cause);
  of_pod.steps.insert(of_pod.steps.begin(), explanation.steps.begin(), explanation.steps.end());
  return of_pod;
}

Result<Explanation> Explain(Session& session, state::ClusterState& state,
                            const scheduler::Options& options, const Target& target,
                            const std::string& ns) {
  switch (target.kind->subject) {
    case Subject::kPod:
      return ExplainOnePod(session, state, options, ns, target.name);
    case Subject::kClaim:
      return scheduler::ExplainClaim(state, options, RealClock(), ns, target.name);
    case Subject::kDevice:
      return scheduler::ExplainDevice(state, target.name);
    case Subject::kWorkload:
      return ExplainWorkload(session, state, options, target, ns);
  }
  return BadInput("unknown subject");
}

}  // namespace

int RunExplain(const ExplainArguments& arguments) {
  const Result<Target> target = ParseTarget(arguments);
  if (!target) return PrintError(target.error(), kWrongUse);
  scheduler::Options options;
  if (const Status set = SetPlaneOptions(arguments.plane, options); !set) {
    return PrintError(set.error(), kWrongUse);
  }
  Result<std::unique_ptr<Session>> session = Session::Open(arguments.kubeconfig);
  if (!session) return PrintError(session.error());
  const std::string ns = arguments.ns.empty() ? (*session)->ns() : arguments.ns;
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
    explanation = Explain(**session, state, options, *target, ns);
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
