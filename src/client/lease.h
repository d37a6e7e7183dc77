#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/client.h"

namespace drachma::client {

// Keeps the lease of a node alive (kube-node-lease/<node>), as kubelets do every ten seconds, so
// that the node counts as ready. Belongs to the client's executor.
class NodeHeartbeat {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(10);
  static constexpr int kLeaseSeconds = 40;

  // `node_uid` becomes the owner of the lease. `client` must outlive the heartbeat.
  NodeHeartbeat(Client& client, std::string node_name, std::string node_uid);
  ~NodeHeartbeat();
  NodeHeartbeat(const NodeHeartbeat&) = delete;
  NodeHeartbeat& operator=(const NodeHeartbeat&) = delete;

  // Writes the lease now and then every kInterval until destroyed.
  void Start();

 private:
  void Beat();
  void Write(bool create);

  Client& client_;
  const std::string node_name_;
  const std::string node_uid_;
  TimerId timer_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// One of several equal processes is the leader: the holder of a lease that it renews
// (client-go's leaderelection with its times: 15 s, 10 s, 2 s). Belongs to the client's executor.
class LeaderElector {
 public:
  static constexpr Duration kLeaseDuration = std::chrono::seconds(15);
  static constexpr Duration kRenewDeadline = std::chrono::seconds(10);
  static constexpr Duration kRetryPeriod = std::chrono::seconds(2);

  struct Options {
    std::string ns = "kube-system";
    std::string name;
    std::string identity;  // unique to this process
  };

  // `client` must outlive the elector.
  LeaderElector(Client& client, Options options);
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  // Competes from now on. `on_leading` is called when the lease is won; `on_lost` when it could not
  // be renewed in time: then nothing may be written any more.
  void Start(std::function<void()> on_leading, std::function<void()> on_lost);
  [[nodiscard]] bool leading() const { return leading_; }

 private:
  void Attempt();
  void OnLease(Result<json::Value> lease);
  void Take(json::Value lease, bool exists);
  void OnWritten(const Result<json::Value>& lease);
  void Again();

  Client& client_;
  const Options options_;
  std::function<void()> on_leading_;
  std::function<void()> on_lost_;
  bool leading_ = false;
  Duration renewed_{};
  // Another holder's lease counts from when this process saw it change: clocks may differ.
  std::string observed_;
  Duration observed_at_{};
  TimerId timer_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::client
