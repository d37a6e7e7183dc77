#include "node/sim_node.h"

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "node/open_plugin.h"

namespace drachma::node {

SimNode::SimNode(std::uint32_t index, std::string address,
                 std::vector<std::unique_ptr<DraPlugin>> plugins, json::Value annotations)
    : index_(index),
      address_(std::move(address)),
      plugins_(std::move(plugins)),
      annotations_(std::move(annotations)) {}

bool SimNode::TakeAnnotations(const json::Value& node) {
  const json::Value& now = node["metadata"]["annotations"];
  if (now.SharesWith(annotations_)) return false;
  const bool changed = !(now == annotations_);
  annotations_ = now;
  return changed;
}

DraPlugin& SimNode::PluginOf(std::string_view driver) {
  const auto found =
      std::ranges::find_if(plugins_, [&](const auto& p) { return p->driver() == driver; });
  if (found != plugins_.end()) return **found;
  plugins_.push_back(std::make_unique<OpenPlugin>(std::string(driver)));
  return *plugins_.back();
}

std::uint32_t SimNode::TakeAddress() {
  constexpr std::uint32_t kFirst = 2;
  constexpr std::uint32_t kLast = 254;
  for (std::uint32_t address = kFirst; address <= kLast; ++address) {
    if (addresses_.test(address)) continue;
    addresses_.set(address);
    return address;
  }
  return kLast;  // more pods than addresses: the last one is shared
}

void SimNode::FreeAddress(std::uint32_t address) { addresses_.reset(address); }

bool SimNode::Leave(const std::string& claim_uid, const std::string& pod_uid) {
  const auto users = users_.find(claim_uid);
  if (users == users_.end()) return true;
  users->second.erase(pod_uid);
  if (!users->second.empty()) return false;
  users_.erase(users);
  return true;
}

namespace {

std::shared_ptr<const client::Identity> Named(std::string user) {
  return std::make_shared<const client::Identity>(
      client::Identity{.user = std::move(user), .groups = {}, .extra = {}});
}

}  // namespace

NodeTable::NodeTable(const SimulationOptions& options)
    : options_(options),
      drivers_(Named("system:serviceaccount:kube-system:" + options.driver_account)) {}

std::shared_ptr<const client::Identity> NodeTable::KubeletOf(std::string_view node) {
  auto known = kubelets_.find(node);
  if (known == kubelets_.end()) {
    const std::string name(node);
    known = kubelets_.emplace(name, Named("system:node:" + name)).first;
  }
  return known->second;
}

SimNode* NodeTable::Find(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second.get();
}

Result<SimNode*> NodeTable::Start(const json::Value& node) {
  std::vector<std::unique_ptr<DraPlugin>> plugins;
  if (options_.drivers) {
    DRA_ASSIGN(plugins, options_.drivers(node));
  }
  const std::string name(client::NameOf(node));
  const std::string_view shown = InternalAddressOf(node);
  const std::uint32_t index = IndexOf(name, shown);
  // An address that is not one of ours was given on purpose.
  const bool given = !shown.empty() && IndexOfAddress(shown) == 0;
  auto& entry = nodes_[name];
  entry = std::make_unique<SimNode>(index, given ? std::string(shown) : NodeAddress(index),
                                    std::move(plugins), node["metadata"]["annotations"]);
  SimNode* const started = entry.get();
  if (started_) started_(name);
  return started;
}

std::uint32_t NodeTable::IndexOf(std::string_view name, std::string_view address) {
  if (const auto known = indexes_.find(name); known != indexes_.end()) return known->second;
  std::uint32_t index = IndexOfAddress(address);
  if (index == 0 || taken_.contains(index)) {
    while (taken_.contains(lowest_)) ++lowest_;
    index = lowest_;
  }
  taken_.insert(index);
  indexes_.emplace(name, index);
  return index;
}

void NodeTable::Release(std::string_view name) {
  const auto known = indexes_.find(name);
  if (known == indexes_.end()) return;
  taken_.erase(known->second);
  lowest_ = std::min(lowest_, known->second);
  indexes_.erase(known);
}

void NodeTable::Stop(std::string_view name) {
  if (const auto found = nodes_.find(name); found != nodes_.end()) nodes_.erase(found);
}

}  // namespace drachma::node
