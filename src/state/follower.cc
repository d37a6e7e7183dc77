#include "state/follower.h"

#include <utility>

#include "client/objects.h"

namespace drachma::state {
namespace {

struct Source {
  Part part;
  const client::Resource& resource;
  bool optional;
};

// Nodes and devices first, so that the first pods find them when informers are answered in order.
const Source kSources[] = {
    {Part::kNamespace, client::resources::kNamespaces, true},
    {Part::kNode, client::resources::kNodes, false},
    {Part::kClass, client::resources::kDeviceClasses, true},
    {Part::kSlice, client::resources::kResourceSlices, true},
    {Part::kTaintRule, client::resources::kDeviceTaintRules, true},
    {Part::kClaim, client::resources::kResourceClaims, true},
    {Part::kStorageClass, kStorageClasses, true},
    {Part::kVolume, kVolumes, true},
    {Part::kVolumeClaim, kVolumeClaims, true},
    {Part::kPodGroup, kPodGroups, true},
    {Part::kPod, client::resources::kPods, false},
};

}  // namespace

Follower::Follower(client::Client& client, ClusterState& state, Listener listener, Groups groups) {
  for (const Source& source : kSources) {
    if (source.part == Part::kPodGroup && groups == Groups::kIgnored) continue;
    client::Informer::Options options{.resource = source.resource};
    options.optional = source.optional;
    informers_.push_back(std::make_unique<client::Informer>(client, std::move(options)));
    informers_.back()->Listen([&state, listener, part = source.part](const client::Change& change) {
      if (change.type == client::Change::Type::kDeleted) {
        state.Remove(part, change.object);
      } else {
        state.Put(part, change.object);
      }
      listener(part, change);
    });
  }
  waiting_ = informers_.size();
}

void Follower::Start(std::function<void()> on_synced) {
  auto shared = std::make_shared<std::function<void()>>(std::move(on_synced));
  for (const auto& informer : informers_) {
    informer->Start([this, shared] {
      if (--waiting_ == 0) (*shared)();
    });
  }
}

}  // namespace drachma::state
