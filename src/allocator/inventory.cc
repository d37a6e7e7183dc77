#include "allocator/inventory.h"

#include <algorithm>
#include <utility>

#include "allocator/inventory_impl.h"

namespace drachma::allocator {
namespace {

constexpr std::string_view kImplicitResourcePrefix = "deviceclass.resource.kubernetes.io/";

std::vector<Inventory::Impl::Held> HeldOf(Inventory::Impl& impl,
                                          const api::AllocationResult& allocation) {
  std::vector<Inventory::Impl::Held> held;
  for (const api::DeviceResult& result : allocation.results) {
    if (result.admin_access.value_or(false)) continue;
    Inventory::Impl::Held entry{
        .pool = &impl.PoolFor(result.driver, result.pool),
        .device = result.device,
        .exclusive = !result.share_id,
        .shares = result.share_id ? 1U : 0U,
        .has_capacity = result.share_id && !result.consumed_capacity.empty(),
        .consumed = {}};
    if (result.share_id) {
      for (const auto& [name, amount] : result.consumed_capacity) {
        entry.consumed.emplace(name, Amount::Of(amount));
      }
    }
    held.push_back(std::move(entry));
  }
  return held;
}

}  // namespace

std::string DeviceId::ToString() const { return driver + "/" + pool + "/" + device; }

Node Node::FromJson(const json::Value& node) {
  Node out{.name = std::string(node["metadata"]["name"].AsString()),
           .labels = api::LabelsOf(node),
           .declared_features = {}};
  for (const json::Value& feature : node["status"]["declaredFeatures"].Items()) {
    out.declared_features.emplace_back(feature.AsString());
  }
  return out;
}

Inventory::Inventory(Options options) : impl_(std::make_unique<Impl>(options)) {}
Inventory::~Inventory() = default;
Inventory::Inventory(Inventory&&) noexcept = default;
Inventory& Inventory::operator=(Inventory&&) noexcept = default;

const Options& Inventory::options() const { return impl_->options; }

void Inventory::KeepOrder() { impl_->keep_order = true; }

Status Inventory::SetSlice(const json::Value& slice) { return impl_->SetSlice(slice); }
void Inventory::RemoveSlice(std::string_view name) { impl_->RemoveSlice(name); }

Status Inventory::SetClass(const json::Value& device_class) {
  const std::string name(device_class["metadata"]["name"].AsString());
  auto& entry = impl_->classes[name];
  if (entry.json.SharesWith(device_class)) return {};
  ++impl_->revision;
  auto typed = api::DeviceClass::FromJson(device_class);
  if (!typed) {
    impl_->classes.erase(name);
    return std::unexpected(std::move(typed).error());
  }
  entry.json = device_class;
  entry.typed = std::move(*typed);
  return {};
}

void Inventory::RemoveClass(std::string_view name) {
  const auto entry = impl_->classes.find(name);
  if (entry == impl_->classes.end()) return;
  impl_->classes.erase(entry);
  ++impl_->revision;
}

Status Inventory::SetTaintRule(const json::Value& rule) {
  DRA_ASSIGN(api::DeviceTaintRule typed, api::DeviceTaintRule::FromJson(rule));
  Impl::Rule& entry = impl_->rules[typed.name];
  if (entry.json.SharesWith(rule)) return {};
  const api::DeviceTaintRule before = std::exchange(entry.typed, std::move(typed));
  entry.json = rule;
  impl_->ApplyRule(before);
  impl_->ApplyRule(entry.typed);
  return {};
}

void Inventory::RemoveTaintRule(std::string_view name) {
  const auto entry = impl_->rules.find(name);
  if (entry == impl_->rules.end()) return;
  const api::DeviceTaintRule before = std::move(entry->second.typed);
  impl_->rules.erase(entry);
  impl_->ApplyRule(before);
}

NodeIndex Inventory::SetNode(const Node& node) {
  Impl& impl = *impl_;
  if (const auto known = impl.node_index.find(node.name); known != impl.node_index.end()) {
    Impl::NodeSlot& slot = impl.nodes[known->second];
    if (slot.node == node) return known->second;
    slot.node = node;
    delete slot.view.exchange(nullptr);
    ++impl.revision;
    return known->second;
  }
  NodeIndex index = 0;
  if (impl.free_nodes.empty()) {
    index = static_cast<NodeIndex>(impl.nodes.size());
    impl.nodes.emplace_back();
  } else {
    index = impl.free_nodes.back();
    impl.free_nodes.pop_back();
  }
  impl.nodes[index].node = node;
  impl.nodes[index].present = true;
  impl.nodes[index].local = &impl.local_pools[node.name];
  impl.node_index.emplace(node.name, index);
  ++impl.revision;
  return index;
}

void Inventory::RemoveNode(std::string_view name) {
  Impl& impl = *impl_;
  const auto known = impl.node_index.find(std::string(name));
  if (known == impl.node_index.end()) return;
  Impl::NodeSlot& slot = impl.nodes[known->second];
  slot.node = {};
  slot.present = false;
  delete slot.view.exchange(nullptr);
  impl.free_nodes.push_back(known->second);
  impl.node_index.erase(known);
  ++impl.revision;
}

NodeIndex Inventory::FindNode(std::string_view name) const {
  const auto known = impl_->node_index.find(std::string(name));
  return known == impl_->node_index.end() ? kNoNode : known->second;
}

void Inventory::SetClaim(std::string_view uid, std::string_view holder,
                         const api::AllocationResult& allocation) {
  impl_->SetClaim(uid, holder, HeldOf(*impl_, allocation));
}

void Inventory::SetUsage(std::string_view uid, std::string_view holder, const RawUsage& usage) {
  std::vector<Impl::Held> held;
  const auto add = [&](const DeviceId& id) -> Impl::Held& {
    Pool& pool = impl_->PoolFor(id.driver, id.pool);
    const auto same = std::ranges::find_if(held, [&](const Impl::Held& entry) {
      return entry.pool == &pool && entry.device == id.device;
    });
    if (same != held.end()) return *same;
    held.push_back({.pool = &pool, .device = id.device, .consumed = {}});
    return held.back();
  };
  for (const DeviceId& id : usage.devices) add(id).exclusive = true;
  for (const DeviceId& id : usage.shared) ++add(id).shares;
  for (const auto& [id, consumed] : usage.capacity) {
    Impl::Held& entry = add(id);
    entry.has_capacity = true;
    for (const auto& [name, amount] : consumed) entry.consumed[name] += Amount::Of(amount);
  }
  impl_->SetClaim(uid, holder, std::move(held));
}

void Inventory::RemoveClaim(std::string_view uid) { impl_->RemoveClaim(uid); }

const api::DeviceClass* Inventory::FindClass(std::string_view name) const {
  const auto entry = impl_->classes.find(name);
  return entry == impl_->classes.end() ? nullptr : &entry->second.typed;
}

std::string Inventory::ClassOfExtendedResource(std::string_view resource) const {
  if (resource.starts_with(kImplicitResourcePrefix)) {
    resource.remove_prefix(kImplicitResourcePrefix.size());
    return FindClass(resource) != nullptr ? std::string(resource) : std::string();
  }
  const Impl::Class* best = nullptr;
  const auto created = [](const Impl::Class& entry) {
    return entry.json["metadata"]["creationTimestamp"].AsString();
  };
  for (const auto& [name, entry] : impl_->classes) {
    if (entry.typed.extended_resource_name != resource) continue;
    // Classes are visited by name, so that the first of equally new ones stays.
    if (best == nullptr || created(entry) > created(*best)) best = &entry;
  }
  return best == nullptr ? std::string() : best->typed.name;
}

std::uint64_t Inventory::revision() const { return impl_->revision; }
std::size_t Inventory::device_count() const { return impl_->device_count; }
std::size_t Inventory::slice_count() const { return impl_->slices.size(); }

}  // namespace drachma::allocator
