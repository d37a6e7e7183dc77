#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/http_server.h"

namespace drachma::net {

// Reads one HTTP/1.x request from bytes as they come.
class RequestParser {
 public:
  enum class Step {
    kNeedMore,  // all is well so far
    kComplete,  // Take() has the request; what follows is the next one's
    kRefused,   // the connection cannot go on: status() and message() say why
  };

  explicit RequestParser(const ServerLimits& limits);
  ~RequestParser();

  // Reads from `bytes`, the whole of what has come and was not consumed yet. `consumed` is how much
  // of it need not be shown again.
  Step Feed(std::string_view bytes, std::size_t& consumed);

  [[nodiscard]] bool header_done() const;
  // Whether the peer waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const;
  // Whether the connection may be used again after this request (by the peer's wish).
  [[nodiscard]] bool keep_alive() const;
  // Whether the peer understands chunked responses (HTTP/1.1).
  [[nodiscard]] bool is_http11() const;
  // Method, target, headers and body. Once, after kComplete.
  [[nodiscard]] HttpRequest Take();

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
  std::size_t body_bytes_max_;
  int status_ = 0;
  std::string message_;
};

}  // namespace drachma::net
