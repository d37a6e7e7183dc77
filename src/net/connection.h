#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "net/event_loop.h"
#include "net/exchange.h"
#include "net/http_server.h"
#include "net/request_parser.h"
#include "net/tls.h"

namespace drachma::net {

// What all connections of a server share.
struct ServerShared {
  ServerOptions options;
  HttpHandler handler;
  std::shared_ptr<TlsContext> tls;  // null: plain
  const Clock* clock = nullptr;

  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> requests_in_flight = 0;
  std::atomic<std::uint64_t> connections_accepted = 0;
  std::atomic<std::uint64_t> connections_refused = 0;
  std::atomic<std::uint64_t> requests = 0;
  // Apart, since handlers may hold responders longer than the server lives.
  const std::shared_ptr<std::atomic<std::uint64_t>> slow_streams =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<bool> draining = false;  // shutting down: no further request per connection
};

// One connection of a server: reads a request, hands it to the handler, sends the response, and
// again. All on its loop's thread.
class Connection final : public Pollable, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerShared> server, std::shared_ptr<EventLoop> loop, int file,
             bool tls, std::string peer);
  ~Connection() override;

  // Registers with the loop and begins.
  void Start();
  void OnEvents(std::uint32_t events) override;
  // Ends what takes too long.
  void CheckDeadlines(Duration now);
  // The server shuts down: closes when idle, tells a stream to end.
  void Drain();
  // Closes at once.
  void Abort();
  [[nodiscard]] bool closed() const { return state_ == State::kClosed; }

 private:
  enum class State {
    kHandshake,
    kIdle,      // between requests, nothing of the next one has come
    kReading,   // a request is coming in
    kHandling,  // the handler has it, the response has not been sent in full
    kClosing,   // sends what is left, then waits a little for the peer to close
    kClosed,
  };

  void ContinueHandshake();
  void ReadMore();
  void ParseMore();
  void Dispatch();
  void Refuse(int status, const std::string& message);
  // Fetches what the handler did, for the exchange it was done for.
  void OnProgress(const std::shared_ptr<Exchange>& exchange);
  // Queues a response, or the head of a stream.
  void SendHead(HttpResponse response, bool is_stream);
  void Queue(Slice bytes, std::size_t stream_bytes = 0);
  void WriteMore();
  // Sends from `scratch`; false when it has to wait or the connection is closed.
  bool WriteOnce(std::string& scratch);
  [[nodiscard]] bool AllSent() const { return output_.empty() && !transport_.HasUnsent(); }
  void ResponseSent();
  void PeerEnded();
  void BeginClosing();
  void CloseNow();
  void UpdateInterest();
  [[nodiscard]] Duration Now() const { return server_->clock->Monotonic(); }
  void Enter(State state, Duration timeout);

  const std::shared_ptr<ServerShared> server_;
  const std::shared_ptr<EventLoop> loop_;
  Transport transport_;
  const std::string peer_;
  EventLoop::Id id_ = 0;
  std::uint32_t interest_ = 0;

  State state_ = State::kHandshake;
  Duration deadline_ = Duration::max();  // of the state
  bool read_wants_write_ = false;        // TLS has to write before it can read, and the reverse
  bool write_wants_read_ = false;
  bool peer_ended_ = false;  // nothing more will come

  std::string input_;  // what came and was not parsed
  std::unique_ptr<RequestParser> parser_;
  bool continue_sent_ = false;
  std::optional<PeerIdentity> identity_;
  std::string certificate_error_;

  std::shared_ptr<Exchange> exchange_;
  bool is_head_ = false;    // of the request being handled: HEAD, so no body
  bool is_http11_ = true;   // and it understands chunks
  bool keep_alive_ = true;  // and the connection goes on after it
  bool streaming_ = false;
  bool response_queued_ = false;  // all of the response is in output_
  bool break_off_ = false;        // close without finishing: the peer is to notice

  struct Output {
    Slice bytes;
    std::size_t stream_bytes = 0;  // to be told to the exchange once they are sent
  };
  std::deque<Output> output_;
  std::size_t output_offset_ = 0;  // of the first one
  Duration write_deadline_ = Duration::max();
  std::size_t discarded_ = 0;  // while closing
};

}  // namespace drachma::net
