#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "controllers/controller.h"

namespace drachma::controllers {

// Marks nodes whose kubelet is silent, and keeps the taints that follow from a node's conditions
// (k8s.io/kubernetes/pkg/controller/nodelifecycle). Keys are names of nodes.
class NodeLifecycle final : public Controller {
 public:
  // A node whose lease was not renewed for so long is unreachable (nodeMonitorGracePeriod).
  static constexpr Duration kGrace = std::chrono::seconds(50);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<NodeLifecycle>(host);
  }
  explicit NodeLifecycle(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void OnNode(const client::Change& change);
  void OnLease(const client::Change& change);
  // When the node was last seen to give a sign of life, by its lease or its status.
  [[nodiscard]] Time LastSign(const json::Value& node) const;
  [[nodiscard]] Action MarkUnknown(const json::Value& node) const;
  void SyncTaints(const json::Value& node, Work& work) const;

  // When a new heartbeat of a node was seen. By our clock, since that of its kubelet may be off.
  std::map<std::string, Time, std::less<>> seen_;
  Cache& nodes_;
  Cache& leases_;
};

// Removes pods from nodes whose NoExecute taints they do not tolerate
// (k8s.io/kubernetes/pkg/controller/tainteviction). Keys are "NAMESPACE/NAME" of pods.
class NodeTaintEviction final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<NodeTaintEviction>(host);
  }
  explicit NodeTaintEviction(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void OnNode(const client::Change& change);

  Cache& nodes_;
  Cache& pods_;
};

// Removes pods that no kubelet will ever remove: those bound to nodes that are gone, and those that
// are to be deleted and have no node (k8s.io/kubernetes/pkg/controller/podgc). Keys are
// "NAMESPACE/NAME" of pods.
class PodCollector final : public Controller {
 public:
  // How long a node must be missing before its pods go: it may be made again (quarantineTime).
  static constexpr Duration kQuarantine = std::chrono::seconds(40);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<PodCollector>(host);
  }
  explicit PodCollector(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  [[nodiscard]] Action LookUpNode(const std::string& node, const std::string& key);

  Cache& nodes_;
  Cache& pods_;
  std::map<std::string, Time, std::less<>> missing_since_;  // nodes that pods name
  std::set<std::string, std::less<>> gone_;                 // confirmed by the API
};

}  // namespace drachma::controllers
