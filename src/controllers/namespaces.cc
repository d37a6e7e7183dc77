#include "controllers/namespaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::string_view kDefaultAccount = "default";
constexpr std::string_view kRootCa = "kube-root-ca.crt";

bool HasKubernetesFinalizer(const Value& ns) {
  return std::ranges::any_of(ns["spec"]["finalizers"].Items(),
                             [](const Value& f) { return f.AsString() == kFinalizer; });
}

client::Request DeleteAll(const client::Resource& resource, const std::string& ns) {
  return {
      .verb = client::Verb::kDeleteCollection,
      .resource = resource,
      .ns = ns,
      .body = Value::Object(
          {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}})};
}

}  // namespace

NamespaceController::NamespaceController(Host& host)
    : Controller(host), namespaces_(Watch(resources::kNamespaces, [this](const Change& change) {
        if (client::IsBeingDeleted(change.object)) Add(client::KeyOf(change.object));
      })) {
  for (const CollectedKind& kind : CollectedKinds()) {
    if (!kind.info->namespaced()) continue;
    Cache& cache = Watch(kind.resource, [this](const Change& change) {
      const std::string_view ns = client::NamespaceOf(change.object);
      const Value* object = namespaces_.Get(ns);
      if (object != nullptr && client::IsBeingDeleted(*object)) Add(std::string(ns));
    });
    content_.emplace_back(&kind, &cache);
  }
}

// Pods first: what they use must be there until they have stopped (OrderedNamespaceDeletion).
void NamespaceController::DeleteContent(const std::string& ns, Work& work) const {
  const auto wants_deletion = [&](const Cache& cache) {
    return std::ranges::any_of(cache.InNamespace(ns), [](const Value* object) {
      return !client::IsBeingDeleted(*object);
    });
  };
  const auto pods = std::ranges::find_if(
      content_, [](const auto& kind) { return kind.first->resource == resources::kPods; });
  if (pods != content_.end() && !pods->second->InNamespace(ns).empty()) {
    if (wants_deletion(*pods->second)) {
      work.actions.push_back({.request = DeleteAll(resources::kPods, ns)});
    }
    return;
  }
  for (const auto& [kind, cache] : content_) {
    if (wants_deletion(*cache)) {
      work.actions.push_back({.request = DeleteAll(kind->resource, ns)});
    }
  }
}

void NamespaceController::NoteConditions(const Value& ns, Work& work) const {
  const std::string_view name = client::NameOf(ns);
  std::string remaining;
  std::map<std::string, int, std::less<>> finalizers;
  for (const auto& [kind, cache] : content_) {
    const std::vector<const Value*> objects = cache->InNamespace(name);
    if (objects.empty()) continue;
    const std::string resource =
        kind->resource.group.empty()
            ? kind->resource.plural + "."
            : fmt::format("{}.{}", kind->resource.plural, kind->resource.group);
    remaining += fmt::format("{}{} has {} resource instances", remaining.empty() ? "" : ", ",
                             resource, objects.size());
    for (const Value* object : objects) {
      for (const Value& finalizer : (*object)["metadata"]["finalizers"].Items()) {
        ++finalizers[std::string(finalizer.AsString())];
      }
    }
  }
  std::string held;
  for (const auto& [finalizer, count] : finalizers) {
    held +=
        fmt::format("{}{} in {} resource instances", held.empty() ? "" : ", ", finalizer, count);
  }
  const std::string now = FormatTime(Now());
  Value conditions = ns["status"]["conditions"];
  const auto set = [&](std::string_view type, bool status, std::string_view reason,
                       std::string_view message) {
    conditions = WithCondition(conditions, NewCondition(type, status, reason, message, now));
  };
  set("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
      "All resources successfully discovered");
  set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
      "All legacy kube types successfully parsed");
  set("NamespaceDeletionContentFailure", false, "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization");
  if (remaining.empty()) {
    set("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed");
  } else {
    set("NamespaceContentRemaining", true, "SomeResourcesRemain",
        fmt::format("Some resources are remaining: {}", remaining));
  }
  if (held.empty()) {
    set("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
        "All content-preserving finalizers finished");
  } else {
    set("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
        fmt::format("Some content in the namespace has finalizers remaining: {}", held));
  }
  if (conditions == ns["status"]["conditions"]) return;
  Value next = ns;
  next.Edit("status").Set("conditions", std::move(conditions));
  work.actions.push_back(
      {.request = client::UpdateRequest(resources::kNamespaces, std::move(next), "status")});
}

Action NamespaceController::Finalize(const Value& ns) {
  Value next = ns;
  Value kept = Value::Array();
  for (const Value& finalizer : ns["spec"]["finalizers"].Items()) {
    if (finalizer.AsString() != kFinalizer) kept.Append(finalizer);
  }
  next.Edit("spec").Set("finalizers", std::move(kept));
  return {.request = client::UpdateRequest(resources::kNamespaces, std::move(next), "finalize")};
}

Work NamespaceController::Sync(const std::string& key) {
  Work work;
  const Value* ns = namespaces_.Get(key);
  if (ns == nullptr || !client::IsBeingDeleted(*ns) || !HasKubernetesFinalizer(*ns)) return work;
  const bool empty = std::ranges::all_of(
      content_, [&](const auto& kind) { return kind.second->InNamespace(key).empty(); });
  if (!empty) {
    DeleteContent(key, work);
    // What is left when everything has been asked to go waits for finalizers: say which.
    if (work.actions.empty()) NoteConditions(*ns, work);
    return work;
  }
  Action events{.request = DeleteAll({"", "v1", "events"}, key)};
  events.then = [finalize = Finalize(*ns).request](const Value&) {
    return std::optional(finalize);
  };
  work.actions.push_back(std::move(events));
  return work;
}

namespace {

// Of a creation: the namespace may begin to go, and another may be faster.
Status SettleCreation(const Result<Value>& answer) {
  if (answer || answer.error().code == Code::kAlreadyExists ||
      answer.error().code == Code::kForbidden || answer.error().code == Code::kNotFound) {
    return {};
  }
  return std::unexpected(answer.error());
}

}  // namespace

NamespaceDefaults::NamespaceDefaults(Host& host)
    : Controller(host),
      namespaces_(Watch(resources::kNamespaces,
                        [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      accounts_(Watch(resources::kServiceAccounts, [this](const Change& change) {
        if (change.type == Change::Type::kDeleted) {
          Add(std::string(client::NamespaceOf(change.object)));
        }
      })) {}

Work NamespaceDefaults::Sync(const std::string& key) {
  Work work;
  const Value* ns = namespaces_.Get(key);
  if (ns == nullptr || client::IsBeingDeleted(*ns)) return work;
  if (accounts_.Get(key, kDefaultAccount) == nullptr) {
    work.actions.push_back(
        {.request = client::CreateRequest(
             resources::kServiceAccounts, key,
             Value::Object(
                 {{"apiVersion", "v1"},
                  {"kind", "ServiceAccount"},
                  {"metadata", Value::Object({{"name", kDefaultAccount}, {"namespace", key}})}})),
         .settle = SettleCreation});
  }
  return work;
}

RootCaPublisher::RootCaPublisher(Host& host)
    : Controller(host),
      namespaces_(Watch(resources::kNamespaces,
                        [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      config_maps_(Watch(resources::kConfigMaps, [this](const Change& change) {
        if (client::NameOf(change.object) == kRootCa) {
          Add(std::string(client::NamespaceOf(change.object)));
        }
      })) {}

Work RootCaPublisher::Sync(const std::string& key) {
  Work work;
  const Value* ns = namespaces_.Get(key);
  if (host().root_ca.empty() || ns == nullptr || client::IsBeingDeleted(*ns)) return work;
  const Value data = Value::Object({{"ca.crt", host().root_ca}});
  const Value* map = config_maps_.Get(key, kRootCa);
  if (map == nullptr) {
    Value metadata = Value::Object(
        {{"name", kRootCa},
         {"namespace", key},
         {"annotations",
          Value::Object({{"kubernetes.io/description",
                          "Contains a CA bundle that can be used to verify the kube-apiserver when "
                          "using internal endpoints such as the internal service IP or "
                          "kubernetes.default.svc. No other usage is guaranteed across "
                          "distributions of Kubernetes clusters."}})}});
    work.actions.push_back(
        {.request = client::CreateRequest(resources::kConfigMaps, key,
                                          Value::Object({{"apiVersion", "v1"},
                                                         {"kind", "ConfigMap"},
                                                         {"metadata", std::move(metadata)},
                                                         {"data", data}})),
         .settle = SettleCreation});
  } else if (!((*map)["data"] == data)) {
    Value next = *map;
    next.Set("data", data);
    work.actions.push_back(
        {.request = client::UpdateRequest(resources::kConfigMaps, std::move(next))});
  }
  return work;
}

}  // namespace drachma::controllers
