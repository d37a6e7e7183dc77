#include "node/driver_host.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace drachma::node {

DriverHost::DriverHost(std::string node, client::Client& client, DraPlugin& plugin)
    : client_(client),
      plugin_(plugin),
      metrics_(std::string(plugin.driver()), node),
      calls_(client, plugin),
      publication_(std::move(node), client, plugin, [this](const Error&) {
        metrics_.CountError(Operation::kPrepare, "publish_resources");
      }) {}

DriverHost::~DriverHost() {
  plugin_.OnPoolsChanged([] {});
  client_.executor().Cancel(sweep_timer_);
  client_.executor().Cancel(health_timer_);
}

void DriverHost::Start() {
  plugin_.OnPoolsChanged([this] { OnPools(); });
  publication_.Start();
  calls_.Sweep();
  SweepLater();
  TellHealth();
}

void DriverHost::OnPools() {
  publication_.Refresh();
  TellHealth();
}

void DriverHost::SweepLater() {
  sweep_timer_ = client_.executor().PostAfter(kSweepInterval, [this] {
    calls_.Sweep();
    SweepLater();
  });
}

void DriverHost::TellHealth() {
  client_.executor().Cancel(health_timer_);
  health_timer_ = client_.executor().PostAfter(kHealthInterval, [this] { TellHealth(); });
  if (health_changed_) health_changed_();
}

std::vector<DeviceHealth> DriverHost::Health() const {
  return HealthOf(plugin_.driver(), plugin_.Pools());
}

void DriverHost::OnRegistration(const Status& status) {
  registered_ = status.has_value();
  if (status) {
    Log(LogLevel::kInfo, "node", "{}: the kubelet has registered the driver", driver());
  } else {
    Log(LogLevel::kError, "node", "{}: the kubelet refuses the driver: {}", driver(),
        status.error().message);
  }
}

void DriverHost::Prepare(const std::vector<ClaimRef>& claims, DraPlugin::PrepareDone done) {
  metrics_.Begin(Operation::kPrepare);
  const Duration began = client_.executor().clock().Monotonic();
  calls_.Prepare(claims, [this, began, done = std::move(done)](PrepareAnswer answer) mutable {
    for (const auto& [uid, result] : answer) {
      if (result) continue;
      metrics_.CountError(Operation::kPrepare, "prepare_devices");
      Log(LogLevel::kWarning, "node", "{}: cannot prepare claim {}: {}", driver(), uid,
          result.error().message);
    }
    metrics_.End(Operation::kPrepare, client_.executor().clock().Monotonic() - began);
    done(std::move(answer));
  });
}

void DriverHost::Unprepare(const std::vector<ClaimRef>& claims, DraPlugin::UnprepareDone done) {
  metrics_.Begin(Operation::kUnprepare);
  const Duration began = client_.executor().clock().Monotonic();
  calls_.Unprepare(claims, [this, began, done = std::move(done)](UnprepareAnswer answer) mutable {
    for (const auto& [uid, status] : answer) {
      if (status) continue;
      metrics_.CountError(Operation::kUnprepare, "unprepare_devices");
      Log(LogLevel::kWarning, "node", "{}: cannot unprepare claim {}: {}", driver(), uid,
          status.error().message);
    }
    metrics_.End(Operation::kUnprepare, client_.executor().clock().Monotonic() - began);
    done(std::move(answer));
  });
}

std::string DriverHost::Metrics() const { return metrics_.Text(plugin_.Held(), plugin_.Pools()); }

}  // namespace drachma::node
