#include "scheduler/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/objects.h"

namespace drachma::scheduler {
namespace {

using json::Value;

constexpr std::string_view ReasonText(Reason reason) {
  return reason == Reason::kUnschedulable ? "Unschedulable" : "SchedulerError";
}

}  // namespace

void Reporter::NotScheduled(const state::PodView& pod, Reason reason, const std::string& message,
                            const std::string* nominated) {
  Told& told = told_[pod.uid];
  const Duration now = client_.executor().clock().Monotonic();
  if (told.event != message || now - told.event_at >= kRepeat) {
    told.event = message;
    told.event_at = now;
    recorder_.Record(client::ReferenceTo(pod.object), client::EventType::kWarning,
                     "FailedScheduling", message, "Scheduling");
  }
  WriteCondition(pod, ReasonText(reason), message, nominated);
}

void Reporter::GroupNotScheduled(const state::GroupView& group, Reason reason,
                                 const std::string& message) {
  WriteGroupCondition(group, "False", ReasonText(reason), message);
}

void Reporter::GroupScheduled(const state::GroupView& group) {
  WriteGroupCondition(group, "True", "Scheduled", "");
}

void Reporter::WriteGroupCondition(const state::GroupView& group, std::string_view status,
                                   std::string_view reason, const std::string& message) {
  constexpr std::string_view kType = "PodGroupInitiallyScheduled";
  const Value* current = client::ConditionOf(group.object, kType);
  const bool was_true = current != nullptr && (*current)["status"].AsString() == "True";
  if (was_true) return;
  if (told_groups_.size() >= kGroupsMax) told_groups_.clear();
  std::string& told = told_groups_[group.uid];
  std::string text = fmt::format("{}\n{}\n{}", status, reason, message);
  if (told == text || told.starts_with("True")) return;
  told = std::move(text);
  const bool same_status = current != nullptr && (*current)["status"].AsString() == status;
  Value condition = Value::Object(
      {{"type", kType},
       {"status", status},
       {"reason", reason},
       {"message", message},
       {"lastTransitionTime", same_status ? (*current)["lastTransitionTime"]
                                          : Value(FormatTime(client_.executor().clock().Now()))}});
  if (const Value& generation = group.object["metadata"]["generation"]; !generation.IsNull()) {
    condition.Set("observedGeneration", generation);
  }
  ++writes_;
  client_.Call(
      client::PatchRequest(
          state::kPodGroups, group.ns, group.name, client::PatchType::kStrategicMerge,
          Value::Object(
              {{"metadata", Value::Object({{"uid", group.uid}})},
               {"status", Value::Object({{"conditions", Value::Array({std::move(condition)})}})}}),
          "status"),
      [this, alive = std::weak_ptr(alive_), uid = group.uid](const Result<Value>& written) {
        if (alive.expired()) return;
        --writes_;
        if (!written) told_groups_.erase(uid);  // the next report writes it again
      });
}

void Reporter::Held(const state::PodView& pod, const std::string& message) {
  WriteCondition(pod, ReasonText(Reason::kUnschedulable), message, nullptr);
}

bool Reporter::HasTold(const state::PodView& pod, const std::string& message) const {
  const auto found = told_.find(pod.uid);
  return found != told_.end() &&
         found->second.condition ==
             fmt::format("{}\n{}", ReasonText(Reason::kUnschedulable), message);
}

void Reporter::SelectorFaults(const state::PodView& pod,
                              const std::vector<allocator::SelectorFault>& faults) {
  // By expression and attribute: the first device and how many more.
  struct Group {
    const allocator::SelectorFault* first;
    std::size_t devices;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const allocator::SelectorFault& fault : faults) {
    const auto [entry, added] =
        groups.try_emplace({fault.expression, fault.attribute}, Group{&fault, 0});
    ++entry->second.devices;
  }
  for (const auto& [key, group] : groups) {
    if (!told_[pod.uid].faults.insert(key.first + "\n" + key.second).second) continue;
    std::string text = fmt::format("selector `{}` fails on device {}: {}; it does not match",
                                   key.first, group.first->device.ToString(), group.first->error);
    if (group.devices > 1) text += fmt::format(" (the same on {} more)", group.devices - 1);
    recorder_.Record(client::ReferenceTo(pod.object), client::EventType::kWarning, "SelectorFailed",
                     text, "Scheduling");
  }
}

void Reporter::WriteCondition(const state::PodView& pod, std::string_view reason,
                              const std::string& message, const std::string* nominated) {
  Told& told = told_[pod.uid];
  const Value* current = client::ConditionOf(pod.object, "PodScheduled");
  if (told.condition.empty() && current != nullptr && (*current)["status"].AsString() == "False") {
    told.condition =
        fmt::format("{}\n{}", (*current)["reason"].AsString(), (*current)["message"].AsString());
  }
  const std::string condition_text = fmt::format("{}\n{}", reason, message);
  const std::string& known_nominated = told.nominated.empty() ? pod.nominated_node : told.nominated;
  const bool new_nominated = nominated != nullptr && *nominated != known_nominated;
  if (told.condition == condition_text && !new_nominated) return;
  const bool was_false = !told.condition.empty();
  told.condition = condition_text;

  const std::string now = FormatTime(client_.executor().clock().Now());
  Value condition = Value::Object({{"type", "PodScheduled"},
                                   {"status", "False"},
                                   {"reason", reason},
                                   {"message", message},
                                   {"lastProbeTime", Value()}});
  if (const Value& generation = pod.object["metadata"]["generation"]; !generation.IsNull()) {
    condition.Set("observedGeneration", generation);
  }
  const Value kept = was_false && current != nullptr ? (*current)["lastTransitionTime"] : Value();
  condition.Set("lastTransitionTime", kept.IsNull() ? Value(now) : kept);
  Value status = Value::Object({{"conditions", Value::Array({std::move(condition)})}});
  if (new_nominated) {
    told.nominated = *nominated;
    status.Set("nominatedNodeName", nominated->empty() ? Value() : Value(*nominated));
  }
  ++writes_;
  client_.Call(client::PatchRequest(client::resources::kPods, pod.ns, pod.name,
                                    client::PatchType::kStrategicMerge,
                                    Value::Object({{"metadata", Value::Object({{"uid", pod.uid}})},
                                                   {"status", std::move(status)}}),
                                    "status"),
               [this, alive = std::weak_ptr(alive_), uid = pod.uid](const Result<Value>& written) {
                 if (alive.expired()) return;
                 --writes_;
                 // The next report writes it again.
                 if (const auto found = told_.find(uid); !written && found != told_.end()) {
                   found->second.condition.clear();
                   found->second.nominated.clear();
                 }
               });
}

}  // namespace drachma::scheduler
