#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "node/claim_calls.h"
#include "node/device_health.h"
#include "node/dra_plugin.h"
#include "node/driver_metrics.h"
#include "node/slice_publication.h"

namespace drachma::node {

// A driver at work on a real node: carries out what the kubelet asks, publishes the devices, gives
// back what is held for claims that are gone, tells how the devices are. Its end leaves prepared
// claims prepared, for the pods that go on. The way from the kubelet to here is rpc::PluginServer.
//
// Belongs to the client's executor, which is the plugin's too.
class DriverHost {
 public:
  // Between two looks for claims that are gone; the first is at the start.
  static constexpr Duration kSweepInterval = std::chrono::minutes(10);
  // How often the health of devices is told without news. A kubelet takes the silence of 30 s for
  // an unknown health.
  static constexpr Duration kHealthInterval = std::chrono::seconds(10);

  // Both must outlive it.
  DriverHost(std::string node, client::Client& client, DraPlugin& plugin);
  ~DriverHost();
  DriverHost(const DriverHost&) = delete;
  DriverHost& operator=(const DriverHost&) = delete;

  void Start();

  [[nodiscard]] std::string_view driver() const { return plugin_.driver(); }
  // As ClaimCalls.
  void Prepare(const std::vector<ClaimRef>& claims, DraPlugin::PrepareDone done);
  void Unprepare(const std::vector<ClaimRef>& claims, DraPlugin::UnprepareDone done);
  // The kubelet has said whether it takes the driver.
  void OnRegistration(const Status& status);

  [[nodiscard]] std::vector<DeviceHealth> Health() const;
  // `changed` is called when Health() may have changed, and every kHealthInterval.
  void OnHealth(std::function<void()> changed) { health_changed_ = std::move(changed); }
  // Whether the kubelet has taken the driver and the server has all of its devices.
  [[nodiscard]] bool ready() const { return registered_ && publication_.published(); }
  // Prometheus' text format.
  [[nodiscard]] std::string Metrics() const;

 private:
  void OnPools();
  void TellHealth();
  void SweepLater();

  client::Client& client_;
  DraPlugin& plugin_;
  DriverMetrics metrics_;
  ClaimCalls calls_;
  SlicePublication publication_;
  std::function<void()> health_changed_;
  bool registered_ = false;
  TimerId sweep_timer_ = 0;
  TimerId health_timer_ = 0;
};

}  // namespace drachma::node
