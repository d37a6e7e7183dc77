#include "node/slice_publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "client/objects.h"

namespace drachma::node {
namespace {

using json::Value;
namespace resources = client::resources;

// "0-gpu.nvidia.com-node-1-": the index leads, so that a slice can be matched after a restart.
std::string IndexPrefix(std::size_t index, std::size_t count) {
  const std::size_t digits = fmt::format("{:x}", count - 1).size();
  return fmt::format("{:0{}x}-", index, digits);
}

Value DesiredSpec(std::string_view driver, const Value& node, const Pool& pool, std::size_t index,
                  std::int64_t generation) {
  const SliceContent& content = pool.slices[index];
  Value spec = Value::Object(
      {{"driver", driver},
       {"nodeName", client::NameOf(node)},
       {"pool",
        Value::Object({{"name", pool.name},
                       {"generation", generation},
                       {"resourceSliceCount", static_cast<std::int64_t>(pool.slices.size())}})}});
  if (!content.devices.empty()) spec.Set("devices", Value::Array(content.devices));
  if (!content.shared_counters.empty()) {
    spec.Set("sharedCounters", Value::Array(content.shared_counters));
  }
  return spec;
}

// The same taints get the time at which they were first seen.
void CarryTaintTimes(const Value& old_spec, Value& spec) {
  std::map<std::string_view, const Value*> old_devices;
  for (const Value& device : old_spec["devices"].Items()) {
    old_devices.emplace(device["name"].AsString(), &device);
  }
  for (std::size_t d = 0; d < spec["devices"].size(); ++d) {
    const Value device = spec["devices"].Items()[d];
    const auto old = old_devices.find(device["name"].AsString());
    if (device["taints"].empty() || old == old_devices.end()) continue;
    for (std::size_t t = 0; t < device["taints"].size(); ++t) {
      const Value& taint = device["taints"].Items()[t];
      if (taint.Has("timeAdded")) continue;
      for (const Value& before : (*old->second)["taints"].Items()) {
        const bool same = before["key"] == taint["key"] && before["value"] == taint["value"] &&
                          before["effect"] == taint["effect"];
        if (!same) continue;
        spec.Edit("devices").EditItem(d).Edit("taints").EditItem(t).Set("timeAdded",
                                                                        before["timeAdded"]);
      }
    }
  }
}

Value WithoutGeneration(Value spec) {
  spec.Edit("pool").Erase("generation");
  return spec;
}

client::Request CreateSlice(std::string_view driver, const Value& node, const std::string& prefix,
                            Value spec) {
  Value owner = Value::Object({{"apiVersion", "v1"},
                               {"kind", "Node"},
                               {"name", client::NameOf(node)},
                               {"uid", client::UidOf(node)},
                               {"controller", true}});
  Value metadata = Value::Object(
      {{"generateName", fmt::format("{}{}-{}-", prefix, driver, client::NameOf(node))},
       {"ownerReferences", Value::Array({std::move(owner)})}});
  return client::CreateRequest(resources::kResourceSlices, "",
                               Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                              {"kind", "ResourceSlice"},
                                              {"metadata", std::move(metadata)},
                                              {"spec", std::move(spec)}}));
}

// The writes for one pool; takes the slices that it matches out of `unmatched`.
void PublishPool(std::string_view driver, const Value& node, const Pool& pool,
                 std::vector<const Value*>& unmatched, std::vector<client::Request>& updates,
                 std::vector<client::Request>& creates) {
  const std::size_t count = pool.slices.size();
  std::int64_t newest = 0;
  for (const Value* slice : unmatched) {
    if ((*slice)["spec"]["pool"]["name"].AsString() != pool.name) continue;
    newest = std::max(newest, (*slice)["spec"]["pool"]["generation"].AsInt());
  }
  std::vector<const Value*> matched(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string prefix = IndexPrefix(i, count);
    const auto found = std::ranges::find_if(unmatched, [&](const Value* slice) {
      return (*slice)["spec"]["pool"]["name"].AsString() == pool.name &&
             (*slice)["spec"]["pool"]["generation"].AsInt() == newest &&
             client::NameOf(*slice).starts_with(prefix) &&
             client::NameOf(*slice).substr(prefix.size()).starts_with(driver);
    });
    if (found == unmatched.end()) continue;
    matched[i] = *found;
    unmatched.erase(found);
  }
  std::size_t missing = 0;
  std::size_t changed = 0;
  std::vector<Value> specs(count);
  for (std::size_t i = 0; i < count; ++i) {
    specs[i] = DesiredSpec(driver, node, pool, i, newest);
    if (matched[i] == nullptr) {
      ++missing;
      continue;
    }
    CarryTaintTimes((*matched[i])["spec"], specs[i]);
    if (!(WithoutGeneration(specs[i]) == WithoutGeneration((*matched[i])["spec"]))) ++changed;
  }
  std::int64_t generation = newest;
  if (newest == 0 || missing > 0 || changed > 1) ++generation;
  generation = std::max(generation, pool.generation);
  for (std::size_t i = 0; i < count; ++i) {
    specs[i].Edit("pool").Set("generation", generation);
    if (matched[i] == nullptr) {
      creates.push_back(CreateSlice(driver, node, IndexPrefix(i, count), std::move(specs[i])));
    } else if (!(specs[i] == (*matched[i])["spec"])) {
      Value next = *matched[i];
      next.Set("spec", std::move(specs[i]));
      updates.push_back(client::UpdateRequest(resources::kResourceSlices, std::move(next)));
    }
  }
}

}  // namespace

std::vector<client::Request> PublishRequests(std::string_view driver, const Value& node,
                                             const std::vector<Pool>& pools,
                                             const std::vector<const Value*>& existing) {
  std::vector<const Value*> unmatched = existing;
  std::vector<client::Request> updates;
  std::vector<client::Request> creates;
  for (const Pool& pool : pools) {
    PublishPool(driver, node, pool, unmatched, updates, creates);
  }
  std::vector<client::Request> requests;
  for (const Value* slice : unmatched) {
    requests.push_back(client::DeleteRequest(resources::kResourceSlices, *slice));
  }
  std::ranges::move(updates, std::back_inserter(requests));
  std::ranges::move(creates, std::back_inserter(requests));
  return requests;
}

}  // namespace drachma::node
