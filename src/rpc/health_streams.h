#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <set>

#include "dra_health_v1.grpc.pb.h"

namespace drachma::rpc {

// The kubelets that watch the health of a driver's devices. A slow one gets the newest message when
// it has taken the last: what lies between is of no use to it. Any thread. Internal to the room.
class HealthStreams : public std::enable_shared_from_this<HealthStreams> {
 public:
  using Message = v1::NodeWatchResourcesResponse;
  using Reactor = grpc::ServerWriteReactor<Message>;
  // A kubelet has one, and another while it restarts. More are refused.
  static constexpr std::size_t kStreamsMax = 16;

  // A stream that gets the messages from now on; gRPC destroys it.
  [[nodiscard]] Reactor* Open();
  void Send(const Message& message);
  // Ends all streams, and all that are opened from now on.
  void Stop();

 private:
  class Stream;

  // Says why a stream that was opened may not be; OK: it may.
  [[nodiscard]] grpc::Status Admit(Stream* stream);
  void Forget(Stream* stream);

  std::mutex mutex_;  // before a stream's own
  std::set<Stream*> streams_;
  bool stopped_ = false;
};

}  // namespace drachma::rpc
