#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace drachma::bench {

// Takes a response of HTTP/1.1 apart as it comes.
class ResponseReader {
 public:
  // Gets the pieces of the body, without the framing.
  std::function<void(std::string_view)> on_body;

  // Reads `bytes`; true when they end the response (nothing may follow it).
  bool Feed(std::string_view bytes);
  [[nodiscard]] int status() const { return status_; }

 private:
  enum class State { kHead, kSized, kChunkSize, kChunk, kChunkEnd, kTrailer };

  void ReadHead();

  State state_ = State::kHead;
  std::string line_;      // the head, or the line being read
  std::size_t left_ = 0;  // of the body or chunk
  int status_ = 0;
};

// One TLS connection to a server on this machine, whose certificate is not checked: the least that
// can load a server, so that what is measured is the server. Not for anything but benchmarks:
// what goes wrong ends the program.
class HttpsWire {
 public:
  // Connects and shakes hands, blocking.
  explicit HttpsWire(int port);
  ~HttpsWire();
  HttpsWire(const HttpsWire&) = delete;
  HttpsWire& operator=(const HttpsWire&) = delete;

  [[nodiscard]] int file() const { return file_; }
  // Sends all of a request and awaits a response.
  void Send(std::string_view request);
  // Reads what has come; true when the response is complete.
  bool ReadSome();
  ResponseReader& response() { return response_; }

 private:
  int file_ = -1;
  SSL* ssl_ = nullptr;
  ResponseReader response_;
};

}  // namespace drachma::bench
