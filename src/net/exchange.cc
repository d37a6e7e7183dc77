#include "net/exchange.h"

#include <utility>

#include "base/check.h"

namespace drachma::net {
namespace {

class Responder final : public HttpResponder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Responder() override { exchange_->Abandon(); }

  void Respond(HttpResponse response) override { exchange_->Respond(std::move(response)); }
  void StartStream(int status, Headers headers) override {
    exchange_->StartStream(status, std::move(headers));
  }
  bool Write(Chunk chunk) override { return exchange_->Write(std::move(chunk)); }
  void Finish() override { exchange_->Finish(); }
  std::size_t QueuedBytes() const override { return exchange_->queued_bytes(); }
  bool closed() const override { return exchange_->closed(); }
  void OnClose(std::move_only_function<void()> callback) override {
    exchange_->OnClose(std::move(callback));
  }
  void OnDrained(std::function<void()> callback) override {
    exchange_->OnDrained(std::move(callback));
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
};

}  // namespace

std::shared_ptr<HttpResponder> MakeResponder(std::shared_ptr<Exchange> exchange) {
  return std::make_shared<Responder>(std::move(exchange));
}

Exchange::Exchange(std::shared_ptr<EventLoop> loop, std::size_t queue_bytes_max,
                   std::shared_ptr<std::atomic<std::uint64_t>> slow_streams)
    : loop_(std::move(loop)),
      queue_bytes_max_(queue_bytes_max),
      slow_streams_(std::move(slow_streams)) {}

void Exchange::SetProgressCallback(std::function<void()> on_progress) {
  const std::lock_guard lock(mutex_);
  on_progress_ = std::make_shared<const std::function<void()>>(std::move(on_progress));
}

Task Exchange::ProgressTask() {
  return [self = shared_from_this()] {
    Callback on_progress;
    {
      const std::lock_guard lock(self->mutex_);
      on_progress = self->on_progress_;
    }
    if (on_progress != nullptr) (*on_progress)();
  };
}

void Exchange::Notify() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(notified_, true)) return;
  }
  loop_->Post(ProgressTask());
}

void Exchange::NotifyOfChunk() {
  Duration last{};
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(notified_, true)) return;
    last = chunks_collected_at_;
  }
  loop_->PostBulk(ProgressTask(), last);
}

Exchange::Progress Exchange::Collect() {
  const std::lock_guard lock(mutex_);
  notified_ = false;
  if (!progress_.chunks.empty()) chunks_collected_at_ = RealClock().Monotonic();
  return std::exchange(progress_, {});
}

void Exchange::Sent(std::size_t bytes) { queued_bytes_ -= bytes; }

void Exchange::Drained() {
  Callback callback;
  {
    const std::lock_guard lock(mutex_);
    callback = on_drained_;
  }
  if (callback != nullptr) (*callback)();
}

void Exchange::Close() {
  std::move_only_function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    callback = std::exchange(on_close_, nullptr);
  }
  if (callback) callback();
}

void Exchange::Complete() {
  // Destroyed without the lock: they may hold the responder.
  std::move_only_function<void()> on_close;
  Callback on_drained;
  Callback on_progress;
  const std::lock_guard lock(mutex_);
  on_close.swap(on_close_);
  on_drained.swap(on_drained_);
  on_progress.swap(on_progress_);
}

bool Exchange::has_close_callback() const {
  const std::lock_guard lock(mutex_);
  return on_close_ != nullptr;
}

void Exchange::Respond(HttpResponse response) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(answered_, true)) return;
    progress_.head = std::move(response);
    progress_.finished = ended_ = true;
  }
  Notify();
}

void Exchange::StartStream(int status, Headers headers) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(answered_, true)) return;
    progress_.head = HttpResponse{.status = status, .headers = std::move(headers)};
    progress_.is_stream = true;
  }
  Notify();
}

bool Exchange::Write(Chunk chunk) {
  const std::size_t size = chunk.size();
  if (closed_) return false;
  bool overflow = false;
  {
    const std::lock_guard lock(mutex_);
    DRA_CHECK(answered_);
    if (ended_ || size == 0) return !ended_;
    overflow = queued_bytes_ + size > queue_bytes_max_;
    if (!overflow) {
      queued_bytes_ += size;
      progress_.chunks.push_back(std::move(chunk));
    } else if (!overflowed_.exchange(true)) {
      ++*slow_streams_;
    }
  }
  if (overflow) closed_ = true;
  NotifyOfChunk();
  return !overflow;
}

void Exchange::Finish() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    progress_.finished = true;
  }
  Notify();
}

void Exchange::Abandon() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    if (answered_) {
      progress_.abandoned = true;
    } else {
      answered_ = true;
      progress_.head = HttpResponse{.status = 500};
      progress_.abandoned = true;
    }
    progress_.finished = true;
  }
  Notify();
}

void Exchange::OnClose(std::move_only_function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      on_close_ = std::move(callback);
      return;
    }
  }
  callback();
}

void Exchange::OnDrained(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_drained_ = std::make_shared<const std::function<void()>>(std::move(callback));
}

}  // namespace drachma::net
