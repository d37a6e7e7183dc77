#include "node/node_worker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "client/objects.h"
#include "controllers/objects.h"
#include "node/slice_publisher.h"

namespace drachma::node {
namespace {

using client::Change;
using controllers::Action;
using controllers::Work;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kLeaseNamespace = "kube-node-lease";

}  // namespace

NodeWorker::NodeWorker(controllers::Host& host, NodeTable& table)
    : Controller(host),
      table_(table),
      nodes_(Watch(resources::kNodes, [this](const Change& change) { OnNode(change); })),
      slices_(
          Watch(resources::kResourceSlices, [this](const Change& change) { OnSlice(change); })) {
  for (const NodeSpec& spec : table.options().nodes) specs_.emplace(spec.name, &spec);
}

void NodeWorker::RegisterAll() {
  for (const auto& [name, spec] : specs_) Add(name);
}

void NodeWorker::OnNode(const Change& change) {
  const std::string name = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    table_.Stop(name);
    table_.Release(name);
    pulses_.erase(name);
    awaited_.erase(name);
    return;
  }
  // Nodes of other processes keep their addresses, too.
  const std::string_view address = InternalAddressOf(change.object);
  if (IndexOfAddress(address) != 0) table_.IndexOf(name, address);
  if (!IsOurs(change.object)) return;
  if (!specs_.contains(name) && table_.Find(name) == nullptr) awaited_.insert(name);
  Add(name);
}

void NodeWorker::OnSlice(const Change& change) {
  const std::string node(change.object["spec"]["nodeName"].AsString());
  const std::string key = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    slices_of_node_[node].erase(key);
  } else {
    slices_of_node_[node].insert(key);
  }
  if (table_.Find(node) != nullptr) Add(node);
}

bool NodeWorker::IsOurs(const Value& node) const {
  return specs_.contains(client::NameOf(node)) ||
         (table_.options().adopt && !client::AnnotationOf(node, kSimulated).empty());
}

Action NodeWorker::Register(const NodeSpec& spec) {
  Action action{
      .request = client::CreateRequest(
          resources::kNodes, "", NewNode(spec, NodeAddress(table_.IndexOf(spec.name)), Now()))};
  action.settle = [](const Result<Value>& answer) -> Status {
    if (answer || answer.error().code == Code::kAlreadyExists) return {};
    return std::unexpected(answer.error());
  };
  return action;
}

Duration NodeWorker::LeaseInterval() const {
  const Duration shared = std::chrono::seconds(table_.size() / SimulatedNodes::kLeasesPerSecondMax);
  return std::clamp(shared, SimulatedNodes::kLeaseInterval, SimulatedNodes::kLeaseIntervalMax);
}

void NodeWorker::SyncStatus(const Value& object, const SimNode& node, Pulse& pulse,
                            Work& work) const {
  const Value* ready = client::ConditionOf(object, "Ready");
  const bool well = ready != nullptr && (*ready)["status"].AsString() == "True" &&
                    InternalAddressOf(object) == node.address() &&
                    !object["status"]["nodeInfo"]["kubeletVersion"].AsString().empty();
  const bool due = table_.options().heartbeats && Now() >= pulse.next_status;
  if (well && !due) return;
  pulse.next_status = Now() + SimulatedNodes::kStatusInterval;
  work.actions.push_back(
      {.request = client::PatchRequest(resources::kNodes, "", client::NameOf(object),
                                       client::PatchType::kStrategicMerge,
                                       ReadyPatch(object, node.address(), Now()), "status")});
}

void NodeWorker::SyncSlices(const Value& object, const SimNode& node, Work& work) const {
  const auto keys = slices_of_node_.find(client::NameOf(object));
  for (const auto& plugin : node.plugins()) {
    const std::vector<Pool> pools = plugin->Pools();
    std::vector<const Value*> existing;
    if (keys != slices_of_node_.end()) {
      for (const std::string& key : keys->second) {
        const Value* slice = slices_.Get(key);
        if ((*slice)["spec"]["driver"].AsString() == plugin->driver()) existing.push_back(slice);
      }
    }
    // A driver without pools may leave publishing to files.
    if (pools.empty()) continue;
    for (client::Request& request : PublishRequests(plugin->driver(), object, pools, existing)) {
      request.as = table_.drivers();
      work.actions.push_back({.request = std::move(request)});
    }
  }
}

void NodeWorker::SyncLease(const Value& object, Pulse& pulse, Work& work) {
  const Duration interval = LeaseInterval();
  if (Now() < pulse.next_lease) {
    work.again = pulse.next_lease - Now();
    return;
  }
  pulse.next_lease = Now() + interval;
  work.again = interval;
  const std::string name(client::NameOf(object));
  const Value lease = NewLease(object, interval, Now());
  Action action;
  if (!pulse.has_lease) {
    action.request = client::CreateRequest(resources::kLeases, kLeaseNamespace, lease);
  } else {
    action.request =
        client::PatchRequest(resources::kLeases, kLeaseNamespace, name, client::PatchType::kMerge,
                             Value::Object({{"spec", lease["spec"]}}));
  }
  action.settle = [this, name](const Result<Value>& answer) -> Status {
    const auto known = pulses_.find(name);
    if (known == pulses_.end()) return {};
    const bool exists = answer || answer.error().code == Code::kAlreadyExists;
    if (!answer) known->second.next_lease = Now();  // try again, by the other way
    const bool changed = known->second.has_lease != exists;
    known->second.has_lease = exists;
    if (answer) return {};
    if (changed) Add(name);
    return changed ? Status() : Status(std::unexpected(answer.error()));
  };
  work.actions.push_back(std::move(action));
}

void NodeWorker::Settle(const std::string& name) {
  awaited_.erase(name);
  if (specs_.contains(name)) settled_.insert(name);
}

void NodeWorker::Complain(const Value& object, const Error& error, Work& work) const {
  work.events.push_back({.object = controllers::Reference("v1", "Node", object),
                         .type = client::EventType::kWarning,
                         .reason = "InvalidSimulation",
                         .message = error.message});
  Log(LogLevel::kError, "node", "{}: {}", client::NameOf(object), error.message);
}

SimNode* NodeWorker::StartNode(const Value& object, Work& work) {
  const Result<SimNode*> started = table_.Start(object);
  if (!started) {
    Complain(object, started.error(), work);
    return nullptr;
  }
  const std::string key = client::KeyOf(object);
  for (const auto& plugin : (*started)->plugins()) {
    plugin->OnPoolsChanged([this, key] { Add(key); });
  }
  // Not all nodes beat at the same moment.
  const Duration interval = LeaseInterval();
  Pulse pulse;
  pulse.next_lease = Now();
  pulse.next_status = Now() + SimulatedNodes::kStatusInterval +
                      Duration(static_cast<std::int64_t>(
                          host().random.Below(static_cast<std::uint64_t>(interval.count()))));
  pulses_.insert_or_assign(key, pulse);
  return *started;
}

void NodeWorker::UpdateDrivers(const Value& object, SimNode& node, Work& work) {
  if (!table_.options().update_drivers || !node.TakeAnnotations(object)) return;
  if (const Status updated = table_.options().update_drivers(object, node.plugins()); !updated) {
    Complain(object, updated.error(), work);
    return;
  }
  const std::string key = client::KeyOf(object);
  for (const auto& plugin : node.plugins()) plugin->OnPoolsChanged([this, key] { Add(key); });
}

Work NodeWorker::Sync(const std::string& key) {
  Work work;
  const auto spec = specs_.find(key);
  const Value* object = nodes_.Get(key);
  if (object == nullptr) {
    // A node that somebody deleted stays away: its kubelet would have to be started again.
    if (spec != specs_.end() && !registered_.contains(key)) {
      work.actions.push_back(Register(*spec->second));
    }
    return work;
  }
  if (spec != specs_.end()) registered_.insert(key);
  SimNode* node = table_.Find(key);
  if (node == nullptr) {
    node = StartNode(*object, work);
    if (node == nullptr) {
      Settle(key);
      return work;
    }
  } else {
    UpdateDrivers(*object, *node, work);
  }
  Pulse& pulse = pulses_[key];
  SyncStatus(*object, *node, pulse, work);
  SyncSlices(*object, *node, work);
  if (work.actions.empty()) Settle(key);
  if (table_.options().heartbeats) SyncLease(*object, pulse, work);
  for (Action& action : work.actions) {
    if (action.request.as == nullptr) action.request.as = table_.KubeletOf(key);
  }
  return work;
}

}  // namespace drachma::node
