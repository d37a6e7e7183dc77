#include "state/loader.h"

#include <array>
#include <memory>
#include <utility>

#include "client/objects.h"

namespace drachma::state {
namespace {

using json::Value;

struct Source {
  Part part;
  const client::Resource& resource;
  std::string_view kind;
};

// Nodes before what names them.
const std::array<Source, 11> kSources = {{
    {Part::kNamespace, client::resources::kNamespaces, "Namespace"},
    {Part::kNode, client::resources::kNodes, "Node"},
    {Part::kClass, client::resources::kDeviceClasses, "DeviceClass"},
    {Part::kSlice, client::resources::kResourceSlices, "ResourceSlice"},
    {Part::kTaintRule, client::resources::kDeviceTaintRules, "DeviceTaintRule"},
    {Part::kClaim, client::resources::kResourceClaims, "ResourceClaim"},
    {Part::kStorageClass, kStorageClasses, "StorageClass"},
    {Part::kVolume, kVolumes, "PersistentVolume"},
    {Part::kVolumeClaim, kVolumeClaims, "PersistentVolumeClaim"},
    {Part::kPodGroup, kPodGroups, "PodGroup"},
    {Part::kPod, client::resources::kPods, "Pod"},
}};

struct Load {
  client::Client& client;
  ClusterState& state;
  std::move_only_function<void(Result<std::string>)> done;
};

void LoadFrom(const std::shared_ptr<Load>& load, std::size_t index) {
  const Source& source = kSources[index];
  load->client.Call({.verb = client::Verb::kList, .resource = source.resource},
                    [load, index, &source](Result<Value> list) {
                      if (!list && list.error().code != Code::kNotFound) {
                        load->done(std::unexpected(std::move(list).error()));
                        return;
                      }
                      std::string version;
                      if (list) {
                        version = (*list)["metadata"]["resourceVersion"].AsString();
                        for (Value item : (*list)["items"].Items()) {
                          item.Set("kind", source.kind);
                          item.Set("apiVersion", client::ApiVersionOf(source.resource));
                          load->state.Put(source.part, item);
                        }
                      }
                      if (index + 1 < kSources.size()) {
                        LoadFrom(load, index + 1);
                      } else {
                        load->done(std::move(version));
                      }
                    });
}

}  // namespace

void LoadOnce(client::Client& client, ClusterState& state,
              std::move_only_function<void(Result<std::string>)> done) {
  LoadFrom(std::make_shared<Load>(client, state, std::move(done)), 0);
}

}  // namespace drachma::state
