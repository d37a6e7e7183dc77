#include "controllers/compute_domain_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "controllers/compute_domain_objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
using namespace compute_domain;  // NOLINT: the names of this controller's subject
namespace resources = client::resources;

const client::Resource kDaemonSets = {"apps", "v1", "daemonsets"};
constexpr std::string_view kLeftover = "uid:";

std::string_view OwnerOf(const Value& object) { return client::LabelOf(object, kLabel); }

client::ObjectReference ReferenceToDomain(const Value& domain) {
  return Reference(kApiVersion, "ComputeDomain", domain);
}

std::vector<const Value*> LabelledIn(const Cache& cache, std::string_view ns,
                                     std::string_view uid) {
  std::vector<const Value*> found = cache.InNamespace(ns);
  std::erase_if(found, [&](const Value* object) { return OwnerOf(*object) != uid; });
  return found;
}

Value Bare(std::string_view kind, std::string_view ns, std::string_view name) {
  Value metadata = Value::Object({{"name", name}});
  if (!ns.empty()) metadata.Set("namespace", ns);
  return Value::Object({{"apiVersion", "v1"}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

// A merge patch of metadata that another writer's change makes void.
client::Request PatchMetadata(const client::Resource& resource, const Value& object,
                              std::string_view field, Value value) {
  Value metadata = Value::Object(
      {{field, std::move(value)}, {"resourceVersion", client::ResourceVersionOf(object)}});
  return client::PatchRequest(resource, client::NamespaceOf(object), client::NameOf(object),
                              client::PatchType::kMerge,
                              Value::Object({{"metadata", std::move(metadata)}}));
}

// Marks the objects for deletion that are not yet.
void Delete(const client::Resource& resource, const std::vector<const Value*>& objects,
            Work& work) {
  for (const Value* object : objects) {
    if (client::IsBeingDeleted(*object)) continue;
    work.actions.push_back({.request = client::DeleteRequest(resource, *object)});
  }
}

void Release(const client::Resource& resource, const std::vector<const Value*>& objects,
             Work& work) {
  for (const Value* object : objects) {
    if (!client::HasFinalizer(*object, kLabel)) continue;
    work.actions.push_back({.request = RemoveFinalizerRequest(resource, *object, kLabel)});
  }
}

// Objects that somebody else deleted while their domain lives: they go, and are made anew.
std::vector<const Value*> Leaving(std::vector<const Value*> objects) {
  std::erase_if(objects, [](const Value* object) { return !client::IsBeingDeleted(*object); });
  return objects;
}

}  // namespace

ComputeDomainController::ComputeDomainController(Host& host)
    : ComputeDomainFollower(host),
      host_managed_(host.Enabled(kHostManagedGate, false)),
      templates_(Watch(resources::kResourceClaimTemplates,
                       [this](const Change& change) { OnTemplate(change); })),
      sets_(Watch(kDaemonSets, [this](const Change& change) { OnLabelled(change); })),
      nodes_(Watch(resources::kNodes, [this](const Change& change) { OnNode(change); })),
      pods_(Watch(resources::kPods,
                  [this](const Change& change) {
                    if (client::NamespaceOf(change.object) == kNamespace) OnLabelled(change);
                  })),
      namespaces_(Watch(resources::kNamespaces)),
      accounts_(Watch(resources::kServiceAccounts)) {}

void ComputeDomainController::OnDomain(const Change& change) {
  if (change.type == Change::Type::kDeleted) {
    AddOwner(client::UidOf(change.object));
  } else {
    Add(client::KeyOf(change.object));
  }
}

// What was listed before the domains were.
void ComputeDomainController::OnListed() {
  std::set<std::string_view> owners;
  for (const Cache* cache : {&templates_, &sets_, &nodes_}) {
    for (const auto& [key, object] : cache->objects()) owners.insert(OwnerOf(object));
  }
  for (const std::string_view uid : owners) AddOwner(uid);
}

void ComputeDomainController::AddOwner(std::string_view uid) {
  if (uid.empty() || domains() == nullptr) return;
  if (const Value* domain = domains()->ByUid(uid)) {
    Add(client::KeyOf(*domain));
  } else {
    Add(fmt::format("{}{}", kLeftover, uid), kLeftoverDelay);
  }
}

void ComputeDomainController::OnLabelled(const Change& change) {
  AddOwner(OwnerOf(change.object));
  if (OwnerOf(change.old_object) != OwnerOf(change.object)) AddOwner(OwnerOf(change.old_object));
}

// Also of those whose template it would be, were it not somebody else's.
void ComputeDomainController::OnTemplate(const Change& change) {
  OnLabelled(change);
  if (domains() == nullptr) return;
  for (const Value* domain : domains()->InNamespace(client::NamespaceOf(change.object))) {
    const Value& wanted = domain->At({"spec", "channel", "resourceClaimTemplate", "name"});
    if (wanted.AsString() == client::NameOf(change.object)) Add(client::KeyOf(*domain));
  }
}

void ComputeDomainController::OnNode(const Change& change) {
  const bool same = change.type == Change::Type::kUpdated &&
                    OwnerOf(change.old_object) == OwnerOf(change.object) &&
                    client::IsConditionTrue(change.old_object, "Ready") ==
                        client::IsConditionTrue(change.object, "Ready");
  if (!same) OnLabelled(change);
}

ComputeDomainController::Owned ComputeDomainController::OwnedBy(std::string_view uid) const {
  Owned owned;
  for (const auto& [key, object] : templates_.objects()) {
    if (OwnerOf(object) != uid) continue;
    const bool daemon = client::LabelOf(object, kTargetLabel) == "Daemon";
    (daemon ? owned.daemon_templates : owned.workload_templates).push_back(&object);
  }
  owned.sets = LabelledIn(sets_, kNamespace, uid);
  return owned;
}

bool ComputeDomainController::Remove(std::string_view uid, Work& work) const {
  const Owned owned = OwnedBy(uid);
  Delete(resources::kResourceClaimTemplates, owned.workload_templates, work);
  if (!work.actions.empty()) return false;
  Delete(kDaemonSets, owned.sets, work);
  Delete(resources::kResourceClaimTemplates, owned.daemon_templates, work);
  if (!work.actions.empty()) return false;
  for (const auto& [name, node] : nodes_.objects()) {
    if (OwnerOf(node) != uid) continue;
    work.actions.push_back({.request = PatchMetadata(resources::kNodes, node, "labels",
                                                     Value::Object({{kLabel, Value()}}))});
  }
  if (!work.actions.empty()) return false;
  Release(resources::kResourceClaimTemplates, owned.workload_templates, work);
  if (!owned.workload_templates.empty()) return false;
  Release(kDaemonSets, owned.sets, work);
  Release(resources::kResourceClaimTemplates, owned.daemon_templates, work);
  return owned.sets.empty() && owned.daemon_templates.empty();
}

Work ComputeDomainController::Sync(const std::string& key) {
  Work work;
  if (domains() == nullptr) return work;  // OnListed comes back to it
  if (key.starts_with(kLeftover)) {
    const std::string_view uid = std::string_view(key).substr(kLeftover.size());
    const bool left = domains()->ByUid(uid) == nullptr && !Remove(uid, work);
    if (left && !work.actions.empty()) work.again = Duration(0);
    return work;
  }
  const Value* domain = domains()->Get(key);
  if (domain == nullptr) return work;
  if (!client::IsBeingDeleted(*domain)) return SyncDomain(*domain);
  if (client::HasFinalizer(*domain, kLabel) && Remove(client::UidOf(*domain), work)) {
    work.actions.push_back({.request = RemoveFinalizerRequest(kDomains, *domain, kLabel)});
  }
  return work;
}

Work ComputeDomainController::SyncDomain(const Value& domain) {
  Work work;
  if (!client::HasFinalizer(domain, kLabel)) {
    Value finalizers = domain["metadata"]["finalizers"];
    finalizers.Append(kLabel);
    work.actions.push_back(
        {.request = PatchMetadata(kDomains, domain, "finalizers", std::move(finalizers))});
    return work;
  }
  const Owned owned = OwnedBy(client::UidOf(domain));
  if (!host_managed_) MakeDaemons(domain, owned, work);
  const bool has_template = MakeTemplate(domain, owned, work);
  SyncStatus(domain, has_template, work);
  return work;
}

void ComputeDomainController::Create(const Value& domain, const client::Resource& resource,
                                     Value object, Work& work) {
  Action action{.request = client::CreateRequest(resource, client::NamespaceOf(object), object)};
  action.settle = [this, reference = ReferenceToDomain(domain),
                   object](const Result<Value>& answer) -> Status {
    if (answer) return {};
    // Made a moment ago: by another replica, or before a restart.
    if (answer.error().code == Code::kAlreadyExists) return {};
    Record({.object = reference,
            .type = client::EventType::kWarning,
            .reason = "FailedCreate",
            .message =
                fmt::format("{} {}/{}: {}", object["kind"].AsString(), client::NamespaceOf(object),
                            client::NameOf(object), answer.error().message)});
    return std::unexpected(answer.error());
  };
  work.actions.push_back(std::move(action));
}

void ComputeDomainController::MakeDaemons(const Value& domain, const Owned& owned, Work& work) {
  Release(resources::kResourceClaimTemplates, Leaving(owned.daemon_templates), work);
  Release(kDaemonSets, Leaving(owned.sets), work);
  if (namespaces_.Get(kNamespace) == nullptr) {
    Create(domain, resources::kNamespaces, Bare("Namespace", "", kNamespace), work);
  }
  if (accounts_.Get(kNamespace, kDaemonAccount) == nullptr) {
    Create(domain, resources::kServiceAccounts, Bare("ServiceAccount", kNamespace, kDaemonAccount),
           work);
  }
  if (owned.daemon_templates.empty()) {
    Create(domain, resources::kResourceClaimTemplates, DaemonTemplate(domain), work);
  }
  if (owned.sets.empty()) Create(domain, kDaemonSets, DaemonSetOf(domain), work);
}

bool ComputeDomainController::MakeTemplate(const Value& domain, const Owned& owned, Work& work) {
  Release(resources::kResourceClaimTemplates, Leaving(owned.workload_templates), work);
  if (!owned.workload_templates.empty()) return true;
  Value wanted = host_managed_ ? SingleChannelTemplate(domain) : WorkloadTemplate(domain);
  const Value* other = templates_.Get(client::NamespaceOf(wanted), client::NameOf(wanted));
  if (other == nullptr) {
    Create(domain, resources::kResourceClaimTemplates, std::move(wanted), work);
    return true;
  }
  work.events.push_back({.object = ReferenceToDomain(domain),
                         .type = client::EventType::kWarning,
                         .reason = "ResourceClaimTemplateExists",
                         .message = fmt::format(
                             "ResourceClaimTemplate {} is not of this ComputeDomain: it is left as "
                             "it is, and pods that use it do not join the domain",
                             client::NameOf(wanted))});
  return false;
}

bool ComputeDomainController::IsAlive(std::string_view node) const {
  const Value* object = nodes_.Get(node);
  return object != nullptr && client::IsConditionTrue(*object, "Ready");
}

void ComputeDomainController::CleanCliques(const std::vector<const Value*>& cliques,
                                           const std::vector<const Value*>& daemons, Work& work) {
  const auto runs = [&](std::string_view node) {
    return nodes_.Get(node) != nullptr && std::ranges::any_of(daemons, [&](const Value* pod) {
             return (*pod)["spec"]["nodeName"].AsString() == node;
           });
  };
  for (const Value* clique : cliques) {
    Value kept = Value::Array();
    for (const Value& daemon : (*clique)["daemons"].Items()) {
      const std::string_view node = daemon["nodeName"].AsString();
      const std::string entry = fmt::format("{}/{}", client::NameOf(*clique), node);
      if (runs(node)) {
        stale_since_.erase(entry);
      } else if (const Time since = stale_since_.try_emplace(entry, Now()).first->second;
                 since + kStaleDelay > Now()) {
        work.again = kStaleDelay;
      } else {
        stale_since_.erase(entry);
        continue;
      }
      kept.Append(daemon);
    }
    if (kept.size() == (*clique)["daemons"].size()) continue;
    Value next = *clique;
    next.Set("daemons", std::move(kept));
    work.actions.push_back({.request = client::UpdateRequest(kCliques, std::move(next))});
  }
}

std::string ComputeDomainController::WhyNotReadyYet(const Value& domain, bool has_template,
                                                    const Value& nodes) const {
  if (!has_template) return "its template is not its own";
  // Nobody tells of the daemons of the host.
  return host_managed_ ? std::string() : WhyNotReady(domain, nodes);
}

void ComputeDomainController::SyncStatus(const Value& domain, bool has_template, Work& work) {
  const std::string_view uid = client::UidOf(domain);
  Members members{.daemons = LabelledIn(pods_, kNamespace, uid),
                  .alive = [this](std::string_view node) { return IsAlive(node); }};
  if (cliques() != nullptr) members.cliques = LabelledIn(*cliques(), kNamespace, uid);
  CleanCliques(members.cliques, members.daemons, work);
  Value nodes = NodesOf(members);
  const std::string why = WhyNotReadyYet(domain, has_template, nodes);
  Value status = domain["status"];
  status.Set("status", why.empty() ? kReady : kNotReady);
  if (nodes.empty()) {
    status.Erase("nodes");
  } else {
    status.Set("nodes", std::move(nodes));
  }
  if (status == domain["status"]) return;
  const std::string_view before = domain["status"]["status"].AsString();
  if (before == kReady && !why.empty()) {
    work.events.push_back({.object = ReferenceToDomain(domain),
                           .type = client::EventType::kWarning,
                           .reason = "NotReady",
                           .message = why});
  }
  Value next = domain;
  next.Set("status", std::move(status));
  work.actions.push_back({.request = client::UpdateRequest(kDomains, std::move(next), "status")});
}

}  // namespace drachma::controllers
