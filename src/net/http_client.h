#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "net/http.h"

namespace drachma::net {

struct ClientRequest {
  std::string method = "GET";
  // "https://127.0.0.1:6443/api/v1/pods?watch=1". With `unix_socket` the host is only a name.
  std::string url;
  Headers headers;
  SharedBytes body;  // null: none
  // For the whole exchange; for a stream until the head of the response arrives. 0: no limit.
  Duration timeout = std::chrono::seconds(60);
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;  // decoded when it came compressed
};

struct ClientOptions {
  std::string ca_pem;           // empty: the system's certificates
  std::string certificate_pem;  // the client's; empty: none
  std::string key_pem;
  std::string server_name;  // the name that the certificate must have; empty: the URL's host
  enum class Verify { kYes, kNo } verify = Verify::kYes;
  std::string unix_socket;  // connect there whatever the URL says
  std::string proxy;        // empty: none (the environment is not asked)
  std::string user_agent = "drachma";
  Duration connect_timeout = std::chrono::seconds(10);
  // Requests under way at a time, hence connections; more wait their turn. Streams do not count.
  std::size_t requests_max = 128;
  std::size_t response_bytes_max = 512 * 1024 * 1024;  // kTooLarge
  std::size_t line_bytes_max = 64 * 1024 * 1024;       // of a stream: kTooLarge
  // Lines of a stream that its executor has not had time for: then reading pauses.
  std::size_t backlog_bytes_max = 32 * 1024 * 1024;
};

// What a stream tells. All on the executor given.
struct StreamCallbacks {
  // Once, first, unless the connection fails before. When the status is not 2xx no lines follow:
  // `response.body` holds the whole body.
  std::move_only_function<void(ClientResponse response)> on_head;
  // Each line, without its end.
  std::move_only_function<void(std::string line)> on_line;
  // Once, last, and never after Cancel(). ERRORS: as HttpClient::Send; no error when the server
  // ended the response in good order.
  std::move_only_function<void(Status status)> on_end;
};

// An HTTP(S) client: one thread drives all transfers (libcurl), connections are kept and reused.
// Any thread may call. Callbacks are posted to the executor given, in order per request; the
// executor must outlive the client or the request's end. A stream whose executor falls behind is
// not read any further until it catches up. Callbacks may be destroyed on the client's thread.
class HttpClient {
 public:
  using RequestId = std::uint64_t;
  using Done = std::move_only_function<void(Result<ClientResponse>)>;

  // ERRORS: kInvalid when certificate or key cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> Make(ClientOptions options);
  // Cancels everything under way; no callback is posted once it has returned.
  virtual ~HttpClient() = default;

  // Sends a request. An answer of any status is a result.
  // ERRORS: kUnavailable (cannot connect, connection lost), kTimeout, kUnauthorized (certificates
  // do not fit), kTooLarge, kBadRequest (URL).
  virtual RequestId Send(ClientRequest request, Executor& executor, Done done) = 0;
  // Sends a request whose response is read line by line (watches, logs).
  virtual RequestId Stream(ClientRequest request, Executor& executor,
                           StreamCallbacks callbacks) = 0;
  // Gives a request up. Called on the executor of the request, none of its callbacks runs after
  // this; from elsewhere one may be running.
  virtual void Cancel(RequestId id) = 0;
};

}  // namespace drachma::net
