#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "node/dra_plugin.h"

namespace drachma::rpc {

// What a driver says of itself on its registration socket.
struct PluginInfo {
  std::string driver;
  std::string endpoint;  // the path of the socket that serves it
  std::vector<std::string> services;

  friend bool operator==(const PluginInfo&, const PluginInfo&) = default;
};

// How long a kubelet waits (kubelet's pluginmanager and cm/dra/plugin).
inline constexpr Duration kInfoTimeout = std::chrono::seconds(1);
inline constexpr Duration kNotifyTimeout = std::chrono::seconds(5);
inline constexpr Duration kCallTimeout = std::chrono::seconds(45);

// Asks what listens on a registration socket, and waits for the answer. ERRORS: kUnavailable,
// kTimeout; kInvalid when it is no DRA driver of a version that is known.
[[nodiscard]] Result<PluginInfo> AskPlugin(const std::string& registration_socket);
// Tells it whether it has been taken. ERRORS: kUnavailable, kTimeout.
[[nodiscard]] Status NotifyPlugin(const std::string& registration_socket, const Status& taken);

// A driver of another process, behind its socket: a kubelet's side of a driver. Publishes nothing,
// since the driver does that itself. Speaks the newest version that both know.
class RemotePlugin final : public node::DraPlugin {
 public:
  // Calls that wait for the driver at once; more fail.
  static constexpr std::size_t kCallsMax = 1024;

  // `executor` must outlive it; it belongs to it.
  RemotePlugin(const PluginInfo& info, Executor& executor);
  // Gives up on the calls under way; their callbacks are dropped.
  ~RemotePlugin() override;

  [[nodiscard]] std::string_view driver() const override { return driver_; }
  // ERRORS: the driver's, as kUnknown; kUnavailable, kTimeout for all claims of a call that failed.
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override;
  void Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) override;
  [[nodiscard]] std::vector<node::Pool> Pools() const override { return {}; }
  void OnPoolsChanged(std::function<void()> /*changed*/) override {}

 private:
  class Stubs;
  template <typename Api>
  class StubsOf;

  const std::string driver_;
  const std::unique_ptr<Stubs> stubs_;
};

// The drivers whose registration sockets lie in a kubelet's plugins_registry; each is told that it
// has been taken. Waits for their answers. ERRORS: kUnavailable when there are none; AskPlugin's.
[[nodiscard]] Result<std::vector<std::unique_ptr<node::DraPlugin>>> RegisteredPlugins(
    const std::string& registry, Executor& executor);

}  // namespace drachma::rpc
