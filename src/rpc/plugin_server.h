#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "node/driver_host.h"

namespace drachma::rpc {

// A driver's sockets: the kubelet finds it by the one, and calls it by the other. Calls come on
// gRPC's threads and are carried out on the host's executor. A broken peer costs its connection
// only; a call whose kubelet has gone is carried out to its end.
//
// Belongs to the host's executor: started and destroyed by its tasks. The end removes the sockets.
class PluginServer {
 public:
  struct Options {
    std::string registration_socket;
    std::string service_socket;
    std::string health_listen;  // "0.0.0.0:51516": gRPC's health protocol; empty: none
  };
  // Bytes of one message of a kubelet (gRPC's default, too).
  static constexpr int kMessageBytesMax = 4 * 1024 * 1024;
  // Streams of one connection; more wait.
  static constexpr int kStreamsPerConnectionMax = 256;
  // A connection to the registration socket without calls is closed after this. The other socket's
  // stay: a kubelet takes their end for that of the driver.
  static constexpr Duration kRegistrationIdleMax = std::chrono::minutes(1);

  // Listens on the service's socket first, since the kubelet comes as soon as it sees the other.
  // `host` and `executor` must outlive the server. ERRORS: FreeSocketPath's; kUnavailable when a
  // socket cannot be bound.
  [[nodiscard]] static Result<std::unique_ptr<PluginServer>> Start(Options options,
                                                                   node::DriverHost& host,
                                                                   Executor& executor);
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  // Where the health protocol is served; 0: nowhere.
  [[nodiscard]] int health_port() const;

 private:
  class Impl;
  explicit PluginServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::rpc
