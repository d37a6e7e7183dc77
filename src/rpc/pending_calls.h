#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace drachma::rpc {

// The unary calls of a server that wait for an answer, so that each gets exactly one: from whoever
// holds its Reply, when that is dropped without one, or at the server's end, which gRPC has wait
// for all of them. Any thread. Internal to the room.
class PendingCalls : public std::enable_shared_from_this<PendingCalls> {
 public:
  // Calls at once; a kubelet makes one for a pod that starts or ends. More are refused.
  static constexpr std::size_t kCallsMax = 1024;

  // The right to answer one call.
  template <typename Response>
  class Reply {
   public:
    Reply(std::shared_ptr<PendingCalls> calls, std::uint64_t id, Response* response)
        : calls_(std::move(calls)), id_(id), response_(response) {}
    Reply(Reply&&) noexcept = default;
    Reply& operator=(Reply&&) = delete;
    ~Reply() {
      if (calls_ == nullptr) return;
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the driver dropped the call"),
             [](Response&) {});
    }

    // `fill` writes the response, unless the call is over already.
    template <typename Fill>
    void Answer(Fill fill) {
      Finish(grpc::Status::OK, std::move(fill));
    }

   private:
    template <typename Fill>
    void Finish(const grpc::Status& status, Fill fill) {
      grpc::ServerUnaryReactor* reactor = calls_->Take(id_);
      if (reactor == nullptr) return;
      fill(*response_);
      reactor->Finish(status);
    }

    std::shared_ptr<PendingCalls> calls_;
    std::uint64_t id_;
    Response* response_;  // gRPC's; valid until the call is finished
  };

  // Nothing, and the call is finished, when there are too many or the server ends.
  template <typename Response>
  [[nodiscard]] std::optional<Reply<Response>> Begin(grpc::ServerUnaryReactor* reactor,
                                                     Response* response) {
    const std::optional<std::uint64_t> id = Add(reactor);
    if (!id) return std::nullopt;
    return std::optional<Reply<Response>>(std::in_place, shared_from_this(), *id, response);
  }
  // Finishes all calls, and all that come from now on.
  void Stop();

 private:
  [[nodiscard]] std::optional<std::uint64_t> Add(grpc::ServerUnaryReactor* reactor);
  // Whoever gets it has to finish it; null when somebody else has.
  [[nodiscard]] grpc::ServerUnaryReactor* Take(std::uint64_t id);

  std::mutex mutex_;
  std::map<std::uint64_t, grpc::ServerUnaryReactor*> calls_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace drachma::rpc
