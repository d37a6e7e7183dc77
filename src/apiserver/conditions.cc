#include "apiserver/conditions.h"

#include <utility>

namespace drachma::apiserver {

void SetPodCondition(json::Value& pod, const Condition& condition, std::string_view now) {
  json::Value entry = json::Value::Object();
  entry.Set("type", condition.type);
  if (pod["metadata"]["generation"].AsInt() > 0 && condition.type != "PodScheduled") {
    entry.Set("observedGeneration", pod["metadata"]["generation"]);
  }
  entry.Set("status", condition.status);
  entry.Set("lastProbeTime", nullptr);
  entry.Set("lastTransitionTime", now);
  if (!condition.reason.empty()) entry.Set("reason", condition.reason);
  if (!condition.message.empty()) entry.Set("message", condition.message);
  json::Value& conditions = pod.Edit("status").Edit("conditions");
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const json::Value& present = conditions.Items()[i];
    if (present["type"].AsString() != condition.type) continue;
    if (present["status"].AsString() == condition.status) {
      entry.Set("lastTransitionTime", present["lastTransitionTime"]);
    }
    conditions.EditItem(i) = std::move(entry);
    return;
  }
  conditions.Append(std::move(entry));
}

}  // namespace drachma::apiserver
