#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "client/client.h"
#include "client/informer.h"
#include "state/cluster_state.h"

namespace drachma::state {

// Keeps a ClusterState up to date with an API server: one informer per kind. Belongs to the
// client's executor.
class Follower {
 public:
  // Called after the change has been applied.
  using Listener = std::function<void(Part, const client::Change&)>;

  // Whether pod groups matter: only with upstream's gate GenericWorkload do they exist.
  enum class Groups : std::uint8_t { kIgnored, kFollowed };

  // `client` and `state` must outlive the follower.
  Follower(client::Client& client, ClusterState& state, Listener listener, Groups groups);

  // Calls `on_synced` once, when the first copy of every kind is there.
  void Start(std::function<void()> on_synced);
  [[nodiscard]] bool synced() const { return waiting_ == 0; }

 private:
  std::vector<std::unique_ptr<client::Informer>> informers_;
  std::size_t waiting_ = 0;
};

}  // namespace drachma::state
