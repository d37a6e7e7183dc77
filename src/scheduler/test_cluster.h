#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/defaults.h"
#include "base/check.h"
#include "base/executor.h"
#include "client/fake_client.h"
#include "client/objects.h"
#include "json/yaml.h"
#include "scheduler/scheduler.h"
#include "state/group_table.h"

namespace drachma::scheduler {

// A scheduler on an API server in memory under virtual time.
class TestCluster {
 public:
  explicit TestCluster(Options options = {}) : options_(std::move(options)) {}

  // Adds the objects of a YAML text, with the defaults that the API server would set.
  void Apply(std::string_view yaml) {
    auto documents = json::ReadYaml(yaml);
    DRA_CHECK(documents.has_value());
    for (json::YamlDocument& document : *documents) Put(std::move(document.value));
  }

  void Put(json::Value object) {
    const auto resource =
        client::ResourceOfKind(object["apiVersion"].AsString(), object["kind"].AsString());
    DRA_CHECK(resource.has_value());
    api::SetDefaults(resource->group, resource->version, object["kind"].AsString(),
                     executor_.clock().Now(), object);
    json::Value& metadata = object.Edit("metadata");
    const std::string_view kind = object["kind"].AsString();
    if (metadata["namespace"].AsString().empty() && (kind == "Pod" || kind == "ResourceClaim")) {
      metadata.Set("namespace", "default");
    }
    api_.Put(std::move(object));
  }

  void Start() {
    scheduler_ = std::make_unique<Scheduler>(options_, api_.factory(), executor_);
    scheduler_->Start();
  }

  // Runs until nothing is left to do; a minute of virtual time at most.
  void Settle() {
    if (!scheduler_) Start();
    const Time deadline = executor_.clock().Now() + std::chrono::minutes(1);
    while (executor_.RunOne(executor_.clock().Now()) ||
           (!scheduler_->AtRest() && executor_.RunOne(deadline))) {
    }
  }
  void RunFor(Duration duration) {
    if (!scheduler_) Start();
    const Time deadline = executor_.clock().Now() + duration;
    while (executor_.RunOne(deadline)) {
    }
  }

  json::Value Pod(std::string_view name) const {
    return api_.Get(client::resources::kPods, "default", name);
  }
  json::Value Claim(std::string_view name) const {
    return api_.Get(client::resources::kResourceClaims, "default", name);
  }
  std::string NodeOf(std::string_view pod) const {
    return std::string(Pod(pod)["spec"]["nodeName"].AsString());
  }
  // The message of the PodScheduled condition.
  std::string WhyNot(std::string_view pod) const {
    const json::Value object = Pod(pod);
    const json::Value* condition = client::ConditionOf(object, "PodScheduled");
    return condition == nullptr ? "" : std::string((*condition)["message"].AsString());
  }

  // All pods, claims and warnings in a form for golden files.
  std::string Describe() const;

  VirtualExecutor executor_{Time(std::chrono::hours(24 * 365 * 56))};
  client::FakeApi api_;
  Options options_;
  std::unique_ptr<Scheduler> scheduler_;
};

inline std::string DescribeClaim(const json::Value& claim) {
  std::string text = fmt::format("claim {}:", client::NameOf(claim));
  for (const json::Value& result :
       claim.At({"status", "allocation", "devices", "results"}).Items()) {
    text += fmt::format(" {}={}/{}/{}", result["request"].AsString(), result["driver"].AsString(),
                        result["pool"].AsString(), result["device"].AsString());
    for (const json::Member& capacity : result["consumedCapacity"].Members()) {
      text += fmt::format("({}={})", capacity.key(), capacity.value.AsString());
    }
  }
  for (const json::Value& consumer : claim["status"]["reservedFor"].Items()) {
    text += fmt::format(" for {}", consumer["name"].AsString());
  }
  return text + "\n";
}

inline std::string TestCluster::Describe() const {
  std::string text;
  for (const json::Value& pod : api_.List(client::resources::kPods)) {
    const std::string_view node = pod["spec"]["nodeName"].AsString();
    const json::Value* condition = client::ConditionOf(pod, "PodScheduled");
    text += fmt::format("pod {}: ", client::NameOf(pod));
    if (!node.empty()) {
      text += fmt::format("on {}", node);
    } else if (condition != nullptr) {
      text += fmt::format("{}: {}", (*condition)["reason"].AsString(),
                          (*condition)["message"].AsString());
    } else {
      text += "waits";
    }
    if (const auto nominated = pod["status"]["nominatedNodeName"].AsString(); !nominated.empty()) {
      text += fmt::format(" (nominated {})", nominated);
    }
    text += "\n";
  }
  for (const json::Value& group : api_.List(state::kPodGroups)) {
    const json::Value* condition = client::ConditionOf(group, "PodGroupInitiallyScheduled");
    if (condition == nullptr) continue;
    text += fmt::format("group {}: {} {}: {}\n", client::NameOf(group),
                        (*condition)["status"].AsString(), (*condition)["reason"].AsString(),
                        (*condition)["message"].AsString());
  }
  for (const json::Value& claim : api_.List(client::resources::kResourceClaims)) {
    text += DescribeClaim(claim);
  }
  std::vector<std::string> events;
  for (const json::Value& event : api_.List({"", "v1", "events"})) {
    if (event["reason"].AsString() == "Scheduled") continue;
    events.push_back(
        fmt::format("event {} {} {}: {}\n", event["type"].AsString(), event["reason"].AsString(),
                    event["involvedObject"]["name"].AsString(), event["message"].AsString()));
  }
  std::ranges::sort(events);
  for (const std::string& event : events) text += event;
  return text;
}

}  // namespace drachma::scheduler
