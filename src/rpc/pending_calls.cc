#include "rpc/pending_calls.h"

namespace drachma::rpc {
namespace {

const grpc::Status& Ending() {
  static const grpc::Status status(grpc::StatusCode::UNAVAILABLE, "the driver ends");
  return status;
}

}  // namespace

std::optional<std::uint64_t> PendingCalls::Add(grpc::ServerUnaryReactor* reactor) {
  grpc::Status refusal;
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_ && calls_.size() < kCallsMax) {
      calls_.emplace(++next_, reactor);
      return next_;
    }
    refusal = stopped_ ? Ending()
                       : grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                      "too many calls are under way");
  }
  reactor->Finish(refusal);
  return std::nullopt;
}

grpc::ServerUnaryReactor* PendingCalls::Take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto call = calls_.find(id);
  if (call == calls_.end()) return nullptr;
  grpc::ServerUnaryReactor* reactor = call->second;
  calls_.erase(call);
  return reactor;
}

void PendingCalls::Stop() {
  std::map<std::uint64_t, grpc::ServerUnaryReactor*> rest;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    rest.swap(calls_);
  }
  for (const auto& [id, reactor] : rest) reactor->Finish(Ending());
}

}  // namespace drachma::rpc
