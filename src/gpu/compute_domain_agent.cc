#include "gpu/compute_domain_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "controllers/objects.h"

namespace drachma::gpu {
namespace {

using client::Change;
using controllers::Work;
using json::Value;
using namespace controllers::compute_domain;  // NOLINT: the names of this agent's subject
namespace resources = client::resources;

constexpr std::string_view kNodeKey = "node:";
constexpr std::string_view kCliqueKey = "clique:";

std::string CliqueName(std::string_view uid, std::string_view clique) {
  return fmt::format("{}.{}", uid, clique);
}

std::string_view NodeOf(const Value& pod) { return pod["spec"]["nodeName"].AsString(); }

bool Runs(const Value& pod) {
  return pod["status"]["phase"].AsString() == "Running" && !client::IsBeingDeleted(pod) &&
         !pod["status"]["podIP"].AsString().empty();
}

// A merge patch that sets a label (null: takes it off), unless another writer was faster.
client::Request LabelRequest(const client::Resource& resource, const Value& object,
                             std::string_view label, Value value) {
  Value metadata = Value::Object({{"labels", Value::Object({{label, std::move(value)}})},
                                  {"resourceVersion", client::ResourceVersionOf(object)}});
  return client::PatchRequest(resource, client::NamespaceOf(object), client::NameOf(object),
                              client::PatchType::kMerge,
                              Value::Object({{"metadata", std::move(metadata)}}));
}

std::int64_t DaemonsMaxOf(const Value& pod) {
  for (const Value& variable : pod["spec"]["containers"].Items()[0]["env"].Items()) {
    if (variable["name"].AsString() != kDaemonsMaxVariable) continue;
    const std::string_view text = variable["value"].AsString();
    std::int64_t most = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), most).ec == std::errc()) {
      return most;
    }
  }
  return kDaemonsMax;
}

// The lowest index that no daemon has.
std::int64_t FreeIndex(const Value& daemons) {
  std::set<std::int64_t> taken;
  for (const Value& daemon : daemons.Items()) taken.insert(daemon["index"].AsInt());
  std::int64_t index = 0;
  while (taken.contains(index)) ++index;
  return index;
}

bool OwnedByPod(const Value& owners, std::string_view uid) {
  return std::ranges::any_of(owners.Items(),
                             [&](const Value& o) { return o["uid"].AsString() == uid; });
}

}  // namespace

ComputeDomainAgent::ComputeDomainAgent(controllers::Host& host,
                                       std::shared_ptr<const client::Identity> account,
                                       std::shared_ptr<DomainLink> link)
    : ComputeDomainFollower(host),
      host_managed_(host.Enabled(kHostManagedGate, false)),
      nodes_(Watch(resources::kNodes,
                   [this](const Change& change) {
                     const std::string name = client::KeyOf(change.object);
                     const bool same = client::LabelOf(change.old_object, kLabel) ==
                                       client::LabelOf(change.object, kLabel);
                     if (!same && members_.contains(name)) Add(fmt::format("{}{}", kNodeKey, name));
                   })),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })),
      account_(std::move(account)),
      link_(std::move(link)) {
  link_->membership = this;
}

ComputeDomainAgent::~ComputeDomainAgent() { link_->membership = nullptr; }

void ComputeDomainAgent::AddNode(const std::string& node, const std::string& clique) {
  members_[node].clique = clique;
  Add(fmt::format("{}{}", kNodeKey, node));
  for (const Value* pod : pods_.InNamespace(kNamespace)) {
    if (NodeOf(*pod) == node) AddCliqueOf(*pod);
  }
}

void ComputeDomainAgent::RemoveNode(const std::string& node) { members_.erase(node); }

void ComputeDomainAgent::Join(DomainMember member, Joined joined) {
  const std::string key = fmt::format("{}{}", kNodeKey, member.node);
  Node& node = members_[member.node];
  std::erase_if(node.claims,
                [&](const Claim& c) { return c.member.claim_uid == member.claim_uid; });
  node.claims.push_back({.member = std::move(member), .joined = std::move(joined), .since = Now()});
  Add(key);
}

void ComputeDomainAgent::Leave(const std::string& node, std::string_view claim_uid) {
  const auto found = members_.find(node);
  if (found == members_.end()) return;
  const auto left = std::erase_if(found->second.claims, [&](const Claim& claim) {
    return claim.member.claim_uid == claim_uid;
  });
  if (left == 0) return;
  found->second.idle_until = Now();
  Add(fmt::format("{}{}", kNodeKey, node));
}

const Value* ComputeDomainAgent::FindDomain(std::string_view uid) const {
  return domains() == nullptr ? nullptr : domains()->ByUid(uid);
}

void ComputeDomainAgent::OnDomain(const Change& change) {
  const std::string_view uid = client::UidOf(change.object);
  for (const auto& [name, node] : members_) {
    const bool concerned = std::ranges::any_of(
        node.claims, [&](const Claim& claim) { return claim.member.domain == uid; });
    if (concerned) Add(fmt::format("{}{}", kNodeKey, name));
  }
}

void ComputeDomainAgent::OnClique(const Change& change) {
  for (const Value& daemon : change.object["daemons"].Items()) {
    const std::string_view node = daemon["nodeName"].AsString();
    if (members_.contains(node)) Add(fmt::format("{}{}", kNodeKey, node));
  }
  // Somebody else may have changed or collected it.
  Add(fmt::format("{}{}", kCliqueKey, client::NameOf(change.object)));
}

void ComputeDomainAgent::OnListed() {
  for (const auto& [name, node] : members_) Add(fmt::format("{}{}", kNodeKey, name));
  for (const Value* pod : pods_.InNamespace(kNamespace)) AddCliqueOf(*pod);
}

void ComputeDomainAgent::OnPod(const Change& change) {
  if (client::NamespaceOf(change.object) == kNamespace) AddCliqueOf(change.object);
}

void ComputeDomainAgent::AddCliqueOf(const Value& pod) {
  const std::string_view uid = client::LabelOf(pod, kLabel);
  const auto node = members_.find(NodeOf(pod));
  if (uid.empty() || node == members_.end()) return;
  Add(fmt::format("{}{}", kCliqueKey, CliqueName(uid, node->second.clique)));
}

Work ComputeDomainAgent::Sync(const std::string& key) {
  if (key.starts_with(kNodeKey)) return SyncNode(key.substr(kNodeKey.size()));
  const std::string name = key.substr(kCliqueKey.size());
  const std::size_t dot = std::min(name.find('.'), name.size());
  return SyncClique(name.substr(0, dot), name.substr(std::min(dot + 1, name.size())));
}

void ComputeDomainAgent::Act(client::Request request, Work& work) const {
  request.as = account_;
  work.actions.push_back({.request = std::move(request)});
}

Work ComputeDomainAgent::SyncNode(const std::string& name) {
  Work work;
  const auto node = members_.find(name);
  const Value* object = nodes_.Get(name);
  if (node == members_.end() || object == nullptr) return work;
  AnswerClaims(*object, node->second, work);
  SyncLabel(*object, node->second, work);
  return work;
}

bool ComputeDomainAgent::MayJoin(const DomainMember& member) const {
  const Value* domain = FindDomain(member.domain);
  return domain != nullptr && !client::IsBeingDeleted(*domain) &&
         client::NamespaceOf(*domain) == member.claim_ns;
}

bool ComputeDomainAgent::IsReady(const std::string& node, std::string_view uid) const {
  const auto ready = [&](const Value& list, std::string_view name_field) {
    return std::ranges::any_of(list.Items(), [&](const Value& entry) {
      return entry[name_field].AsString() == node && entry["status"].AsString() == kReady;
    });
  };
  const std::string name = CliqueName(uid, members_.find(node)->second.clique);
  const Value* clique = cliques() == nullptr ? nullptr : cliques()->Get(kNamespace, name);
  if (clique != nullptr) return ready((*clique)["daemons"], "nodeName");
  // A node without a fabric registers in no clique.
  const Value* domain = FindDomain(uid);
  return domain != nullptr && ready((*domain)["status"]["nodes"], "name");
}

std::optional<Status> ComputeDomainAgent::Judge(const Claim& claim, const Value& node) const {
  const DomainMember& member = claim.member;
  const auto waited = [&](Duration time) { return Now() >= claim.since + time; };
  const Value* domain = FindDomain(member.domain);
  if (domain == nullptr) {
    if (!waited(kFindTimeout)) return std::nullopt;
    return Fail(Code::kNotFound, fmt::format("error asserting ComputeDomain's namespace: "
                                             "ComputeDomain not found: {}",
                                             member.domain));
  }
  if (client::NamespaceOf(*domain) != member.claim_ns) {
    return Fail(Code::kForbidden,
                "error asserting ComputeDomain's namespace: the ResourceClaim's namespace is "
                "different than the ComputeDomain's namespace");
  }
  if (host_managed_) return Status();
  const bool labelled = client::LabelOf(node, kLabel) == member.domain;
  if (labelled && IsReady(member.node, member.domain)) return Status();
  if (!waited(kJoinTimeout)) return std::nullopt;
  if (!labelled && !client::LabelOf(node, kLabel).empty()) {
    return Fail(Code::kConflict,
                "error adding Node label for ComputeDomain: label already exists for a different "
                "ComputeDomain");
  }
  return Fail(Code::kTimeout,
              "error asserting ComputeDomain Ready: current node not ready in ComputeDomain");
}

void ComputeDomainAgent::AnswerClaims(const Value& object, Node& node, Work& work) {
  std::vector<std::pair<Joined, Status>> answers;
  for (Claim& claim : node.claims) {
    if (!claim.joined) continue;
    if (std::optional<Status> outcome = Judge(claim, object)) {
      answers.emplace_back(std::exchange(claim.joined, nullptr), *std::move(outcome));
      continue;
    }
    const bool found = FindDomain(claim.member.domain) != nullptr;
    const Duration left = claim.since + (found ? kJoinTimeout : kFindTimeout) - Now();
    work.again = std::min(work.again.value_or(left), left);
  }
  for (auto& [joined, outcome] : answers) joined(outcome);
}

void ComputeDomainAgent::SyncLabel(const Value& object, Node& node, Work& work) {
  const std::string_view label = client::LabelOf(object, kLabel);
  const Claim* wanting = nullptr;
  bool in_use = false;
  for (const Claim& claim : node.claims) {
    in_use |= !host_managed_ && claim.member.domain == label;
    if (!host_managed_ && wanting == nullptr && MayJoin(claim.member)) wanting = &claim;
  }
  if (label.empty() || in_use) {
    node.idle_until.reset();
    if (label.empty() && wanting != nullptr) {
      Act(LabelRequest(resources::kNodes, object, kLabel, wanting->member.domain), work);
    }
    return;
  }
  if (!node.idle_until) node.idle_until = Now() + kOrphanDelay;
  if (const Duration left = *node.idle_until - Now(); left > Duration(0)) {
    work.again = std::min(work.again.value_or(left), left);
    return;
  }
  Act(LabelRequest(resources::kNodes, object, kLabel, Value()), work);
}

std::vector<const Value*> ComputeDomainAgent::DaemonsOf(std::string_view uid,
                                                        const std::string& clique) const {
  std::vector<const Value*> pods = pods_.InNamespace(kNamespace);
  std::erase_if(pods, [&](const Value* pod) {
    const auto node = members_.find(NodeOf(*pod));
    return client::LabelOf(*pod, kLabel) != uid || node == members_.end() ||
           node->second.clique != clique;
  });
  return pods;
}

Value ComputeDomainAgent::Registered(const Value& daemons, std::string_view uid,
                                     const std::string& clique,
                                     const std::vector<const Value*>& pods, Work& work) const {
  Value next = Value::Array();
  for (const Value& daemon : daemons.Items()) {
    const std::string_view name = daemon["nodeName"].AsString();
    const bool ours = members_.contains(name);
    const Value* node = nodes_.Get(name);
    const bool stays = node != nullptr && client::LabelOf(*node, kLabel) == uid;
    if (ours && !stays) continue;
    next.Append(daemon);
    // A daemon that is on its way back keeps its index, from which its peers know it.
    if (ours) next.EditItem(next.size() - 1).Set("status", kNotReady);
  }
  for (const Value* pod : pods) {
    if (!Runs(*pod)) continue;
    std::size_t place = 0;
    while (place < next.size() && next.Items()[place]["nodeName"].AsString() != NodeOf(*pod)) {
      ++place;
    }
    if (place == next.size()) {
      const std::int64_t index = FreeIndex(next);
      if (const std::int64_t most = DaemonsMaxOf(*pod); index >= most) {
        work.events.push_back(
            {.object = controllers::Reference("v1", "Pod", *pod),
             .type = client::EventType::kWarning,
             .reason = "CliqueFull",
             .message =
                 fmt::format("no available indices within maxNodesPerIMEXDomain ({})", most)});
        continue;
      }
      next.Append(
          Value::Object({{"nodeName", NodeOf(*pod)}, {"cliqueID", clique}, {"index", index}}));
    }
    Value& entry = next.EditItem(place);
    entry.Set("ipAddress", (*pod)["status"]["podIP"]);
    entry.Set("status", client::IsConditionTrue(*pod, "Ready") ? kReady : kNotReady);
  }
  return next;
}

Work ComputeDomainAgent::SyncClique(std::string_view uid, const std::string& clique) {
  Work work;
  const std::vector<const Value*> pods = DaemonsOf(uid, clique);
  for (const Value* pod : pods) {
    if (!Runs(*pod) || (*pod)["metadata"]["labels"].Has(kCliqueLabel)) continue;
    Act(LabelRequest(resources::kPods, *pod, kCliqueLabel, clique), work);
  }
  if (clique.empty() || cliques() == nullptr) return work;
  const std::string name = CliqueName(uid, clique);
  const Value* existing = cliques()->Get(kNamespace, name);
  Value next =
      existing != nullptr
          ? *existing
          : Value::Object({{"apiVersion", kApiVersion},
                           {"kind", "ComputeDomainClique"},
                           {"metadata",
                            Value::Object({{"name", name},
                                           {"namespace", kNamespace},
                                           {"labels", Value::Object({{kLabel, uid},
                                                                     {kCliqueLabel, clique}})}})}});
  Value daemons = Registered(next["daemons"], uid, clique, pods, work);
  if (daemons == next["daemons"] || (daemons.empty() && existing == nullptr)) return work;
  Value owners = next["metadata"]["ownerReferences"];
  for (const Value* pod : pods) {
    if (!Runs(*pod) || OwnedByPod(owners, client::UidOf(*pod))) continue;
    Value owner = client::OwnerReference("v1", "Pod", *pod);
    owner.Erase("controller");
    owners.Append(std::move(owner));
  }
  next.Set("daemons", std::move(daemons));
  if (!owners.IsNull()) next.Edit("metadata").Set("ownerReferences", std::move(owners));
  Act(existing != nullptr ? client::UpdateRequest(kCliques, std::move(next))
                          : client::CreateRequest(kCliques, kNamespace, std::move(next)),
      work);
  return work;
}

}  // namespace drachma::gpu
