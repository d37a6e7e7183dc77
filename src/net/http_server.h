#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"

namespace drachma::net {

// Where a response goes. The handler answers exactly once: Respond(), or StartStream() followed by
// any number of Write() and one Finish(). Any thread. Dropping the last reference without an answer
// answers 500; dropping a stream that was not finished breaks the connection, so that the client
// knows it did not get all.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;

  virtual void Respond(HttpResponse response) = 0;
  // Sends the head of a response whose length is not known (chunked).
  virtual void StartStream(int status, Headers headers) = 0;
  // Queues a chunk of a stream. False when the peer has gone or had more than
  // ServerLimits::stream_queue_bytes_max waiting: then the stream is closed and nothing will be
  // sent any more.
  virtual bool Write(Chunk chunk) = 0;
  // Ends a stream in good order.
  virtual void Finish() = 0;

  // Bytes of this stream that wait for the peer.
  [[nodiscard]] virtual std::size_t QueuedBytes() const = 0;
  // True once the peer has gone, was too slow, or the server stops.
  [[nodiscard]] virtual bool closed() const = 0;
  // Called once, when the peer goes away before the response is complete or when the server shuts
  // down (so that a watch ends; calling Finish() then ends it in good order). At once when it has
  // happened already. From an I/O thread; must be short.
  virtual void OnClose(std::move_only_function<void()> callback) = 0;
  // Called each time the queue of a stream has become empty after a Write(). From an I/O thread;
  // must be short.
  virtual void OnDrained(std::function<void()> callback) = 0;
};

using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<HttpResponder>)>;

// What a server can be made to bear. Beyond each limit the peer gets the answer named.
struct ServerLimits {
  std::size_t connections_max = 4096;                     // more are closed at once
  std::size_t header_bytes_max = 64 * 1024;               // 431
  std::size_t body_bytes_max = 3 * 1024 * 1024;           // 413 (the API server's limit)
  std::size_t stream_queue_bytes_max = 16 * 1024 * 1024;  // the stream is closed
  Duration handshake_timeout = std::chrono::seconds(10);  // closed
  Duration header_timeout = std::chrono::seconds(30);     // 408, closed
  Duration body_timeout = std::chrono::seconds(60);       // 408, closed
  Duration idle_timeout = std::chrono::seconds(180);      // closed
  Duration write_timeout = std::chrono::seconds(60);      // no byte taken for so long: closed
};

struct TlsServerOptions {
  std::string certificate_pem;  // the chain, the server's own first
  std::string key_pem;
  std::string client_ca_pem;  // empty: client certificates are not asked for
};

struct ServerOptions {
  // "127.0.0.1:6443", "[::1]:0", "localhost:8080", "unix:/run/x.sock" (made 0600). Port 0 takes a
  // free one.
  std::vector<std::string> listen;
  std::shared_ptr<const TlsServerOptions> tls;  // null: plain HTTP. Unix sockets are always plain.
  ServerLimits limits;
  int io_threads = 1;
  // The answer to a request that never reaches the handler (400, 408, 413, 431, 500, 503); plain
  // text when absent.
  std::function<HttpResponse(int status, const std::string& message)> error_response;
  const Clock* clock = nullptr;  // null: the real one
};

struct ServerStats {
  std::size_t connections = 0;
  std::size_t requests_in_flight = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;
  std::uint64_t requests = 0;
  std::uint64_t slow_streams_closed = 0;
};

// An HTTP/1.1 server over TLS, TCP and unix sockets with threads of its own. Requests of one
// connection are handled one after the other (pipelining is safe).
class HttpServer {
 public:
  // Listens and serves. `handler` is called on an I/O thread and must be short. Raises the
  // process's limit of open files as far as it may.
  // ERRORS: kInvalid for certificates and addresses that make no sense, kUnavailable when an
  // address cannot be bound.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Start(ServerOptions options,
                                                                 HttpHandler handler);
  // Shuts down without grace. Must not come from an I/O thread.
  virtual ~HttpServer() = default;

  // The addresses it listens on, in the order of the options, with the ports that were taken.
  [[nodiscard]] virtual std::vector<std::string> addresses() const = 0;
  // The port of the first TCP address; 0 without any.
  [[nodiscard]] virtual int port() const = 0;
  [[nodiscard]] virtual ServerStats Stats() const = 0;
  // Stops accepting, lets the requests under way finish, tells the streams to end, and closes what
  // is left after `grace`. Returns when all connections are closed. Must not come from an I/O
  // thread.
  virtual void Shutdown(Duration grace) = 0;
};

}  // namespace drachma::net
