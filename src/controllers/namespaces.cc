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
// How long a namespace waits for kinds whose objects could not be read.
constexpr Duration kReadWait = std::chrono::seconds(1);

bool HasKubernetesFinalizer(const Value& ns) {
  return std::ranges::any_of(ns["spec"]["finalizers"].Items(),
                             [](const Value& f) { return f.AsString() == kFinalizer; });
}

// One of the conditions about the deletion, true when something is wrong.
struct Finding {
  std::string_view type;
  std::string_view good_reason;
  std::string_view good_message;
  std::string_view bad_reason;
  std::string message;  // empty: all is well
};

std::string Listing(std::string_view so_far, std::string_view next) {
  return fmt::format("{}{}{}", so_far, so_far.empty() ? "" : ", ", next);
}

}  // namespace

NamespaceController::NamespaceController(Host& host)
    : CollectingController(host, Which::kNamespaced),
      namespaces_(Watch(resources::kNamespaces, [this](const Change& change) {
        const std::string key = client::KeyOf(change.object);
        if (client::IsBeingDeleted(change.object)) Add(key);
        if (change.type == Change::Type::kDeleted) failures_.erase(key);
      })) {}

void NamespaceController::OnChange(std::size_t /*kind*/, const Change& change) {
  const std::string_view ns = client::NamespaceOf(change.object);
  const Value* object = namespaces_.Get(ns);
  if (object != nullptr && client::IsBeingDeleted(*object)) Add(std::string(ns));
}

Action NamespaceController::DeleteAll(const client::Resource& resource, const std::string& ns) {
  Action action{.request = {.verb = client::Verb::kDeleteCollection,
                            .resource = resource,
                            .ns = ns,
                            .body = Value::Object({{"apiVersion", "v1"},
                                                   {"kind", "DeleteOptions"},
                                                   {"propagationPolicy", "Background"}})}};
  action.settle = [this, resource, ns](const Result<Value>& answer) -> Status {
    if (answer) {
      if (const auto failed = failures_.find(ns); failed != failures_.end()) {
        failed->second.erase(resource);
      }
      return {};
    }
    failures_[ns][resource] = answer.error().message;
    return std::unexpected(answer.error());
  };
  return action;
}

// Pods first: what they use must be there until they have stopped (OrderedNamespaceDeletion).
void NamespaceController::DeleteContent(const std::string& ns, Work& work) {
  const auto wants_deletion = [&](const Cache& cache) {
    return std::ranges::any_of(cache.InNamespace(ns), [](const Value* object) {
      return !client::IsBeingDeleted(*object);
    });
  };
  const auto pods = std::ranges::find_if(
      kinds(), [](const Kind& kind) { return kind.info.resource == resources::kPods; });
  if (pods != kinds().end() && !pods->cache->InNamespace(ns).empty()) {
    if (wants_deletion(*pods->cache)) work.actions.push_back(DeleteAll(resources::kPods, ns));
    return;
  }
  for (const Kind& kind : kinds()) {
    if (wants_deletion(*kind.cache)) work.actions.push_back(DeleteAll(kind.info.resource, ns));
  }
}

void NamespaceController::NoteConditions(const Value& ns, Work& work) const {
  const std::string_view name = client::NameOf(ns);
  std::string remaining;
  std::string unread;
  std::size_t unread_count = 0;
  std::map<std::string, int, std::less<>> finalizers;
  for (const Kind& kind : kinds()) {
    if (kind.defined && kind.cache->state() == Cache::State::kFailed) {
      ++unread_count;
      unread = Listing(unread, fmt::format("{}: {}", client::ApiVersionOf(kind.info.resource),
                                           kind.cache->failure()));
    }
    const std::vector<const Value*> objects = kind.cache->InNamespace(name);
    if (objects.empty()) continue;
    remaining =
        Listing(remaining, fmt::format("{}.{} has {} resource instances", kind.info.resource.plural,
                                       kind.info.resource.group, objects.size()));
    for (const Value* object : objects) {
      for (const Value& finalizer : (*object)["metadata"]["finalizers"].Items()) {
        ++finalizers[std::string(finalizer.AsString())];
      }
    }
  }
  std::string held;
  for (const auto& [finalizer, count] : finalizers) {
    held = Listing(held, fmt::format("{} in {} resource instances", finalizer, count));
  }
  std::string failed;
  std::size_t failed_count = 0;
  if (const auto failures = failures_.find(name); failures != failures_.end()) {
    failed_count = failures->second.size();
    for (const auto& [resource, error] : failures->second) failed = Listing(failed, error);
  }
  const auto text = [](std::string_view intro, const std::string& list) {
    return list.empty() ? list : fmt::format("{}{}", intro, list);
  };
  const Finding findings[] = {
      {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
       "All resources successfully discovered", "DiscoveryFailed",
       text(fmt::format("Discovery failed for some groups, {} failing: unable to retrieve the "
                        "complete list of server APIs: ",
                        unread_count),
            unread)},
      {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
       "All legacy kube types successfully parsed", "GroupVersionParsingFailed", ""},
      {"NamespaceDeletionContentFailure", "ContentDeleted",
       "All content successfully deleted, may be waiting on finalization", "ContentDeletionFailed",
       text(fmt::format("Failed to delete all resource types, {} remaining: ", failed_count),
            failed)},
      {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed",
       "SomeResourcesRemain", text("Some resources are remaining: ", remaining)},
      {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
       "All content-preserving finalizers finished", "SomeFinalizersRemain",
       text("Some content in the namespace has finalizers remaining: ", held)},
  };
  Value conditions = ns["status"]["conditions"];
  for (const Finding& finding : findings) {
    const bool bad = !finding.message.empty();
    conditions = WithCondition(
        conditions, NewCondition(finding.type, bad, bad ? finding.bad_reason : finding.good_reason,
                                 bad ? std::string_view(finding.message) : finding.good_message,
                                 FormatTime(Now())));
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
  bool empty = true;
  bool unread = false;
  for (const Kind& kind : kinds()) {
    unread = unread || (kind.defined && kind.cache->state() != Cache::State::kListed);
    empty = empty && kind.cache->InNamespace(key).empty();
  }
  if (empty && !unread) {
    Action events = DeleteAll({"", "v1", "events"}, key);
    events.then = [finalize = Finalize(*ns).request](const Value&) {
      return std::optional(finalize);
    };
    work.actions.push_back(std::move(events));
    return work;
  }
  // A change of the conditions comes back here: the deletions follow then.
  if (const auto failed = failures_.find(key); failed != failures_.end() && !failed->second.empty())
    NoteConditions(*ns, work);
  if (work.actions.empty()) DeleteContent(key, work);
  // What is left when everything has been asked to go waits for finalizers: say which.
  if (work.actions.empty()) NoteConditions(*ns, work);
  if (unread) work.again = kReadWait;
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
