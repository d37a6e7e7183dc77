#include "cli/explain_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/informer.h"
#include "client/objects.h"
#include "scheduler/extended.h"

namespace drachma::cli {
namespace {

using explain::Explanation;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kExceeded = "exceeded quota: ";

// Why the API server would not create the object; empty when it would, or when that is not to be
// had because this user may not create it.
std::string RefusalOf(Session& session, const client::Resource& resource, const std::string& ns,
                      Value object) {
  client::Request request = client::CreateRequest(resource, ns, std::move(object));
  request.dry_run = true;
  const Result<Value> answer = session.Call(std::move(request));
  if (answer || answer.error().message.contains("cannot create resource")) return {};
  return answer.error().message;
}

// "QUOTA" and "a=1,b=2" of "…exceeded quota: QUOTA, requested: a=1,b=2, used: …".
struct Exceeded {
  std::string quota;
  std::string requested;
};
std::optional<Exceeded> ExceededOf(std::string_view message) {
  constexpr std::string_view kRequested = ", requested: ";
  constexpr std::string_view kUsed = ", used: ";
  const std::size_t begin = message.find(kExceeded);
  const std::size_t requested = message.find(kRequested, begin);
  const std::size_t used = message.find(kUsed, requested);
  if (begin == std::string_view::npos || requested == std::string_view::npos ||
      used == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t name = begin + kExceeded.size();
  const std::size_t amounts = requested + kRequested.size();
  return Exceeded{std::string(message.substr(name, requested - name)),
                  std::string(message.substr(amounts, used - amounts))};
}

// The quota that refused something becomes a blocker; what it would have to allow.
std::string QuotaChange(const std::string& ns, const std::string& message,
                        Explanation& explanation) {
  const auto exceeded = ExceededOf(message);
  if (!exceeded) return {};
  explanation.blockers.push_back(fmt::format("ResourceQuota {}/{}", ns, exceeded->quota));
  return fmt::format("if ResourceQuota {}/{} had room for {}", ns, exceeded->quota,
                     exceeded->requested);
}

// What was refused is all that is waited for.
void SetRefusal(std::string_view what, const std::string& ns, const std::string& message,
                Explanation& explanation) {
  explanation.cause = fmt::format("{} cannot be created: {}", what, message);
  explanation.blockers.clear();
  explanation.change = QuotaChange(ns, message, explanation);
}

}  // namespace

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

void ExplainMissingClaims(Session& session, const Value& pod, Explanation& explanation) {
  const std::string ns(client::NamespaceOf(pod));
  bool missing = false;
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = entry["resourceClaimTemplateName"].AsString();
    if (name.empty() || !client::ClaimNameOf(pod, entry).empty()) continue;
    missing = true;
    const Result<Value> found =
        session.Call(client::GetRequest(resources::kResourceClaimTemplates, ns, name));
    if (!found && found.error().code == Code::kNotFound) {
      explanation.cause = fmt::format(
          "held before any attempt: entry {} of the pod names ResourceClaimTemplate {}/{}, which "
          "does not exist",
          entry["name"].AsString(), ns, name);
      explanation.change = fmt::format("if ResourceClaimTemplate {}/{} existed", ns, name);
      return;
    }
    if (!found) continue;
    const std::string prefix = fmt::format("{}-{}-", client::NameOf(pod), entry["name"].AsString());
    const std::string refusal = RefusalOf(
        session, resources::kResourceClaims, ns,
        Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceClaim"},
                       {"metadata", Value::Object({{"generateName", prefix}, {"namespace", ns}})},
                       {"spec", (*found)["spec"]["spec"]}}));
    if (refusal.empty()) continue;
    SetRefusal(fmt::format("held before any attempt: the claim of entry {}, from "
                           "ResourceClaimTemplate {}/{},",
                           entry["name"].AsString(), ns, name),
               ns, refusal, explanation);
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

void ExplainExtendedClaim(Session& session, state::ClusterState& state, const Value& pod,
                          Explanation& explanation) {
  if (!pod["status"]["extendedResourceClaimStatus"].IsNull()) return;
  const state::PodPtr view = state.FindPodByKey(client::KeyOf(pod));
  const auto mapped = scheduler::MappedResources(*view, state.inventory, state.names.resources);
  if (mapped.empty()) return;
  std::vector<state::ResourceId> all;
  std::vector<std::string_view> names;
  for (const scheduler::MappedResource& resource : mapped) {
    all.push_back(resource.id);
    names.push_back(resource.name);
  }
  const std::string refusal = RefusalOf(session, resources::kResourceClaims, view->ns,
                                        scheduler::MakeExtendedClaim(*view, mapped, all).claim);
  if (refusal.empty()) return;
  const std::string what =
      fmt::format("the claim for {} of pod {}", fmt::join(names, ", "), view->key());
  if (explanation.steps.empty()) {  // a node takes the pod
    SetRefusal(what, view->ns, refusal, explanation);
    return;
  }
  explanation.cause += fmt::format(" Besides, {} cannot be created: {}", what, refusal);
  const std::string change = QuotaChange(view->ns, refusal, explanation);
  // What the cycle found helps only together with this.
  if (change.empty()) explanation.change.clear();
  if (!explanation.change.empty()) explanation.change += ", and " + change;
}

void ExplainMissingPods(Session& session, const Value& workload,
                        const std::set<std::string, std::less<>>& owners, std::string_view title,
                        Explanation& explanation) {
  const std::string ns(client::NamespaceOf(workload));
  const Value& pod = workload["spec"]["template"];
  Value metadata = pod["metadata"].IsNull() ? Value::Object({}) : pod["metadata"];
  metadata.Set("generateName", fmt::format("{}-", client::NameOf(workload)));
  metadata.Set("namespace", ns);
  const std::string refusal = RefusalOf(session, resources::kPods, ns,
                                        Value::Object({{"apiVersion", "v1"},
                                                       {"kind", "Pod"},
                                                       {"metadata", std::move(metadata)},
                                                       {"spec", pod["spec"]}}));
  if (!refusal.empty()) {
    SetRefusal(fmt::format("pods of {}", title), ns, refusal, explanation);
    return;
  }
  for (const std::string& uid : owners) {
    const std::string said = LastWarning(session, ns, uid, {"FailedCreate"});
    if (said.empty()) continue;
    explanation.cause = fmt::format("pods of {} are missing", title);
    explanation.blockers.push_back(said);
  }
}

}  // namespace drachma::cli
