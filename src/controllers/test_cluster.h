#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "client/fake_client.h"
#include "client/objects.h"
#include "controllers/controllers.h"

namespace drachma::controllers {

// Some controllers against an API server in memory, under virtual time.
class TestCluster {
 public:
  explicit TestCluster(std::vector<std::string> only, bool heartbeats = false,
                       std::map<std::string, bool> gates = {})
      : executor_(ParseTime("2026-11-30T10:00:00Z").value()),
        options_{.feature_gates = std::move(gates),
                 .only = std::move(only),
                 .watch_heartbeats = heartbeats,
                 .seed = 1} {}

  client::FakeApi& api() { return api_; }

  // Lets the controllers work until nothing more is due within `time`.
  void Run(Duration time = std::chrono::seconds(1)) {
    if (!controllers_) {
      controllers_ = std::make_unique<Controllers>(options_, api_.factory(), executor_);
      controllers_->Start();
    }
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});  // the clock gets there even when nothing else is due
    while (executor_.RunOne(end)) {
    }
  }

  [[nodiscard]] json::Value Get(const client::Resource& resource, std::string_view name) const {
    return api_.Get(resource, "default", name);
  }
  [[nodiscard]] std::vector<std::string> NamesOf(const client::Resource& resource) const {
    std::vector<std::string> names;
    for (const json::Value& object : api_.List(resource)) {
      names.emplace_back(client::NameOf(object));
    }
    return names;
  }
  // "reason message" of every event.
  [[nodiscard]] std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const json::Value& event : api_.List({"", "v1", "events"})) {
      events.push_back(std::string(event["reason"].AsString()) + " " +
                       std::string(event["message"].AsString()));
    }
    return events;
  }
  // A pod that runs on its node is ready from now on.
  void MakeReady(std::string_view pod) {
    api_.Change(client::resources::kPods, "default", pod, [](json::Value& object) {
      object.Edit("status") = json::Value::Object(
          {{"phase", "Running"},
           {"conditions", json::Value::Array({json::Value::Object(
                              {{"type", "Ready"},
                               {"status", "True"},
                               {"lastTransitionTime", "2026-11-30T09:00:00Z"}})})}});
    });
  }
  // Somebody deletes the object, which stays for the finalizer.
  void MarkForDeletion(const client::Resource& resource, std::string_view name,
                       std::string_view finalizer) {
    api_.Change(resource, "default", name, [&](json::Value& object) {
      object.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
      object.Edit("metadata").Set("finalizers", json::Value::Array({finalizer}));
    });
  }
  // Another image for the first container of a workload's template.
  void SetImage(const client::Resource& resource, std::string_view name, std::string_view image) {
    api_.Change(resource, "default", name, [&](json::Value& workload) {
      json::Value& spec = workload.Edit("spec").Edit("template").Edit("spec");
      spec.Edit("containers").EditItem(0).Set("image", image);
      json::Value& metadata = workload.Edit("metadata");
      metadata.Set("generation", metadata["generation"].AsInt() + 1);
    });
  }
  void MakeAllReady() {
    for (const std::string& pod : NamesOf(client::resources::kPods)) MakeReady(pod);
  }

 private:
  client::FakeApi api_;
  VirtualExecutor executor_;
  Options options_;
  std::unique_ptr<Controllers> controllers_;
};

}  // namespace drachma::controllers
