// POST pods/NAME/eviction: deletes a pod if no PodDisruptionBudget objects
// (pkg/registry/core/pod/storage/eviction.go).
#include <fmt/format.h>

#include <utility>

#include "api/selectors.h"
#include "apiserver/codec.h"
#include "apiserver/conditions.h"
#include "apiserver/printers.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"

namespace drachma::apiserver {
namespace {

// Pods that a budget's controller has not confirmed yet; beyond them evictions are refused.
constexpr std::size_t kDisruptedPodsMax = 2000;

struct EvictionJob {
  ApiRequest request;
  KindPtr pods;
  std::string ns;
  std::string name;
  json::Value delete_options;
  Done done;
};
using EvictionJobPtr = std::shared_ptr<EvictionJob>;

void Succeed(const EvictionJobPtr& job) {
  job->done(Answer{.code = 201, .object = SuccessStatus(nullptr, 201)});
}

bool MayIgnoreBudgets(const json::Value& pod) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         pod["metadata"].Has("deletionTimestamp");
}

// The second half: the pod gets its condition and goes.
void EvictPod(Core& core, const EvictionJobPtr& job) {
  const auto remove = [&core, job](Result<Answer> updated) {
    if (!updated) return job->done(std::move(updated));
    auto deletion = std::make_shared<DeleteJob>();
    deletion->request = job->request;
    deletion->request.call.subresource.clear();
    deletion->request.call.name = job->name;
    deletion->kind = job->pods;
    deletion->ns = job->ns;
    deletion->name = job->name;
    deletion->options = job->delete_options;
    if (deletion->options["preconditions"].Has("resourceVersion")) {
      deletion->options.Edit("preconditions")
          .Set("resourceVersion", updated->Object()["metadata"]["resourceVersion"]);
    }
    deletion->done = [job](Result<Answer> deleted) {
      if (!deleted) return job->done(std::move(deleted));
      Succeed(job);
    };
    core.Run(std::move(deletion));
  };
  if (!job->delete_options["dryRun"].empty()) {
    return remove(Answer{});
  }
  UpdateDirectly(
      core, job->request, job->pods, job->ns, job->name,
      [now = FormatTime(core.Now())](const json::Value& pod) -> Result<json::Value> {
        json::Value updated = pod;
        SetPodCondition(updated,
                        {.type = "DisruptionTarget",
                         .status = "True",
                         .reason = "EvictionByEvictionAPI",
                         .message = "Eviction API: evicting"},
                        now);
        return updated;
      },
      remove);
}

Error TooManyRequests(std::string cause, int retry_after_seconds) {
  return {.code = Code::kTooManyRequests,
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .causes = {{.reason = "DisruptionBudget", .field = "", .message = std::move(cause)}},
          .retry_after_seconds = retry_after_seconds};
}

// Why a budget that allows no disruption does not.
std::string RefusalText(const json::Value& budget) {
  const std::string_view name = budget["metadata"]["name"].AsString();
  const json::Value& status = budget["status"];
  const json::Value& condition = ConditionOf(budget, "DisruptionAllowed");
  const std::string_view message = condition["message"].AsString();
  const bool refused = condition["status"].AsString() == "False" && !message.empty();
  if (refused && condition["reason"].AsString() == "SyncFailed") {
    return fmt::format(
        "The disruption budget {} does not allow evicting pods currently because it failed sync: "
        "{}",
        name, message);
  }
  if (status["currentHealthy"].AsInt() <= status["desiredHealthy"].AsInt()) {
    return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", name,
                       status["desiredHealthy"].AsInt(), status["currentHealthy"].AsInt());
  }
  if (refused) {
    return fmt::format("The disruption budget {} does not allow evicting pods currently ({}): {}",
                       name, condition["reason"].AsString(), message);
  }
  return fmt::format("The disruption budget {} does not allow evicting pods currently", name);
}

// The budget after one more eviction (checkAndDecrement).
Result<json::Value> Decremented(const json::Value& budget, const std::string& pod,
                                const std::string& now) {
  const std::string_view name = budget["metadata"]["name"].AsString();
  const json::Value& status = budget["status"];
  if (status["observedGeneration"].AsInt() < budget["metadata"]["generation"].AsInt()) {
    constexpr int kRetryAfterSeconds = 10;
    return std::unexpected(TooManyRequests(
        fmt::format("The disruption budget {} is still being processed by the server.", name),
        kRetryAfterSeconds));
  }
  const std::int64_t allowed = status["disruptionsAllowed"].AsInt();
  if (allowed < 0) {
    return std::unexpected(ForbiddenError("policy", "poddisruptionbudget", name,
                                          "pdb disruptions allowed is negative"));
  }
  if (status["disruptedPods"].size() > kDisruptedPodsMax) {
    return std::unexpected(
        ForbiddenError("policy", "poddisruptionbudget", name,
                       "DisruptedPods map too big - too many evictions not confirmed by PDB "
                       "controller"));
  }
  if (allowed == 0) return std::unexpected(TooManyRequests(RefusalText(budget), 0));
  json::Value updated = budget;
  json::Value& changed = updated.Edit("status");
  changed.Set("disruptionsAllowed", allowed - 1);
  changed.Edit("disruptedPods").Set(pod, now);
  return updated;
}

std::vector<json::Value> BudgetsOf(const Core& core, const json::Value& pod,
                                   const std::string& ns) {
  std::vector<json::Value> budgets;
  core.ForEach("policy", "poddisruptionbudgets", ns, [&](const json::Value& budget) {
    const auto selector = api::LabelSelector::FromObject(budget["spec"]["selector"]);
    if (selector && selector->Matches(pod["metadata"]["labels"])) budgets.push_back(budget);
  });
  return budgets;
}

// Pods that are not ready may go when their budget is content without them.
bool UnhealthyMayGo(const json::Value& pod, const json::Value& budget) {
  if (ConditionOf(pod, "Ready")["status"].AsString() == "True") return false;
  if (budget["spec"]["unhealthyPodEvictionPolicy"].AsString() == "AlwaysAllow") return true;
  const std::int64_t desired = budget["status"]["desiredHealthy"].AsInt();
  return desired > 0 && budget["status"]["currentHealthy"].AsInt() >= desired;
}

void AskBudget(Core& core, const EvictionJobPtr& job, const json::Value& pod) {
  const std::vector<json::Value> budgets = BudgetsOf(core, pod, job->ns);
  if (budgets.size() > 1) {
    return job->done(Fail(Code::kUnknown,
                          "This pod has more than one PodDisruptionBudget, which the eviction "
                          "subresource does not support."));
  }
  if (budgets.empty() || UnhealthyMayGo(pod, budgets[0])) return EvictPod(core, job);
  UpdateDirectly(
      core, job->request, core.kinds().Find("policy", "poddisruptionbudgets"), job->ns,
      std::string(budgets[0]["metadata"]["name"].AsString()),
      [pod_name = job->name, now = FormatTime(core.Now())](const json::Value& budget) {
        return Decremented(budget, pod_name, now);
      },
      [&core, job](Result<Answer> updated) {
        if (!updated) return job->done(std::move(updated));
        EvictPod(core, job);
      });
}

void HandleEviction(Core& core, ApiRequest request, const KindPtr& kind, Done done) {
  if (request.call.verb != client::Verb::kCreate) {
    return done(std::unexpected(MethodNotAllowedError()));
  }
  std::vector<std::string> warnings;
  Result<json::Value> eviction =
      ReadOther({.api_version = "policy/v1", .kind = "Eviction"}, request, warnings);
  if (!eviction) return done(std::unexpected(std::move(eviction.error())));
  if (eviction->At({"metadata", "name"}).AsString() != request.call.name) {
    return done(BadInput("name in URL does not match name in Eviction object"));
  }
  auto job = std::make_shared<EvictionJob>();
  job->pods = kind;
  job->ns = request.call.ns;
  job->name = request.call.name;
  job->delete_options = (*eviction)["deleteOptions"];
  if (request.call.dry_run) {
    job->delete_options.Set("dryRun", json::Value::Array({"All"}));
  }
  request.call.dry_run = !job->delete_options["dryRun"].empty();
  job->request = std::move(request);
  job->done = std::move(done);
  const Result<store::RecordPtr> pod = core.Find(*kind, job->ns, job->name);
  if (!pod) return job->done(std::unexpected(pod.error()));
  if (MayIgnoreBudgets((*pod)->Object())) return EvictPod(core, job);
  AskBudget(core, job, (*pod)->Object());
}

}  // namespace

void RegisterEviction(Core& core) { core.AddHandler("/pods/eviction", HandleEviction); }

}  // namespace drachma::apiserver
