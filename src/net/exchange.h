#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "net/event_loop.h"
#include "net/http_server.h"

namespace drachma::net {

// One request and its response, between the handler (any thread) and the connection (the loop's
// thread). What the handler does is collected here and fetched by the connection in one go.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // What the handler has done since the last Collect().
  struct Progress {
    std::optional<HttpResponse> head;  // of the whole response, or of a stream (without body)
    bool is_stream = false;
    std::vector<Chunk> chunks;
    bool finished = false;   // nothing more will come
    bool abandoned = false;  // the handler dropped a stream without finishing it
  };

  // `slow_streams` counts streams that were closed because their queue was full.
  Exchange(std::shared_ptr<EventLoop> loop, std::size_t queue_bytes_max,
           std::shared_ptr<std::atomic<std::uint64_t>> slow_streams);

  // --- Connection's side, on the loop's thread.

  // `on_progress` is called on the loop's thread when there is something to collect.
  void SetProgressCallback(std::function<void()> on_progress);
  [[nodiscard]] Progress Collect();
  // `bytes` of the chunks collected have been sent.
  void Sent(std::size_t bytes);
  // The queue is empty.
  void Drained();
  // The peer has gone or the server stops: calls the handler's callback.
  void Close();
  // The response is complete: forgets the callbacks.
  void Complete();
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  [[nodiscard]] bool has_close_callback() const;

  // --- Handler's side, any thread; see HttpResponder.
  void Respond(HttpResponse response);
  void StartStream(int status, Headers headers);
  bool Write(Chunk chunk);
  void Finish();
  void Abandon();
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  [[nodiscard]] bool closed() const { return closed_; }
  void OnClose(std::move_only_function<void()> callback);
  void OnDrained(std::function<void()> callback);

 private:
  using Callback = std::shared_ptr<const std::function<void()>>;

  // Has the connection collect. REQUIRES: mutex_ is not held.
  void Notify();
  void NotifyOfChunk();
  [[nodiscard]] Task ProgressTask();

  const std::shared_ptr<EventLoop> loop_;
  const std::size_t queue_bytes_max_;
  const std::shared_ptr<std::atomic<std::uint64_t>> slow_streams_;

  mutable std::mutex mutex_;
  Callback on_progress_;  // only called on the loop's thread
  Progress progress_;
  bool answered_ = false;
  bool ended_ = false;
  bool notified_ = false;
  Duration chunks_collected_at_{};  // last, by the monotonic clock
  std::move_only_function<void()> on_close_;
  Callback on_drained_;

  std::atomic<std::size_t> queued_bytes_ = 0;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> overflowed_ = false;
};

// What a handler holds: tells the exchange when the last reference goes.
std::shared_ptr<HttpResponder> MakeResponder(std::shared_ptr<Exchange> exchange);

}  // namespace drachma::net
