#include "controllers/job_expiry.h"

#include <algorithm>
#include <utility>

#include "client/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;

const client::Resource kJobs = {"batch", "v1", "jobs"};

bool Expires(const Value& job) {
  return job["spec"].Has("ttlSecondsAfterFinished") && !client::IsBeingDeleted(job) &&
         (client::IsConditionTrue(job, "Complete") || client::IsConditionTrue(job, "Failed"));
}

Time EndOf(const Value& job) {
  Time end = client::CreatedAt(job);
  for (const Value& condition : job["status"]["conditions"].Items()) {
    const auto time = ParseTime(condition["lastTransitionTime"].AsString());
    if (time && condition["status"].AsString() == "True") end = std::max(end, *time);
  }
  return end;
}

}  // namespace

JobExpiry::JobExpiry(Host& host)
    : Controller(host), jobs_(Watch(kJobs, [this](const Change& change) {
        if (Expires(change.object)) Add(client::KeyOf(change.object));
      })) {}

Work JobExpiry::Sync(const std::string& key) {
  Work work;
  const Value* job = jobs_.Get(key);
  if (job == nullptr || !Expires(*job)) return work;
  const auto ttl = std::chrono::seconds((*job)["spec"]["ttlSecondsAfterFinished"].AsInt());
  const Duration left = EndOf(*job) + ttl - Now();
  if (left > Duration(0)) {
    work.again = left;
    return work;
  }
  client::Request request = client::DeleteRequest(kJobs, *job);
  request.body.Set("propagationPolicy", "Foreground");
  work.actions.push_back({.request = std::move(request)});
  return work;
}

}  // namespace drachma::controllers
