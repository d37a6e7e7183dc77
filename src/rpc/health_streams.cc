#include "rpc/health_streams.h"

#include <optional>
#include <utility>

namespace drachma::rpc {

class HealthStreams::Stream final : public Reactor {
 public:
  explicit Stream(std::shared_ptr<HealthStreams> all) : all_(std::move(all)) {
    if (const grpc::Status refusal = all_->Admit(this); !refusal.ok()) End(refusal);
  }

  void Send(const Message& message) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (writing_) {
      next_ = message;
      return;
    }
    writing_ = true;
    current_ = message;
    StartWrite(&current_);
  }

  void End(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    Finish(status);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(grpc::Status::CANCELLED);
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ended_ || !next_) return;
    writing_ = true;
    current_ = *std::exchange(next_, std::nullopt);
    StartWrite(&current_);
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    all_->Forget(this);
    delete this;
  }

 private:
  const std::shared_ptr<HealthStreams> all_;
  std::mutex mutex_;
  Message current_;  // being written
  std::optional<Message> next_;
  bool writing_ = false;
  bool ended_ = false;
};

HealthStreams::Reactor* HealthStreams::Open() { return new Stream(shared_from_this()); }

grpc::Status HealthStreams::Admit(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return {grpc::StatusCode::UNAVAILABLE, "the driver ends"};
  if (streams_.size() >= kStreamsMax) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch the health of devices"};
  }
  streams_.insert(stream);
  return grpc::Status::OK;
}

void HealthStreams::Forget(Stream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void HealthStreams::Send(const Message& message) {
  const std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) stream->Send(message);
}

void HealthStreams::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (Stream* stream : streams_) {
    stream->End({grpc::StatusCode::UNAVAILABLE, "the driver ends"});
  }
}

}  // namespace drachma::rpc
