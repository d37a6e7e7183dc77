#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/kubeconfig.h"

struct ssl_ctx_st;
struct ssl_st;

namespace drachma::bench {

// One kept-alive TLS connection to an API server with blocking calls. It does as little as a
// client can, so that on a machine with two cores the load takes little from what is measured.
// For one thread.
class HttpsConnection {
 public:
  struct Response {
    int status = 0;
    std::string body;
  };

  // ERRORS: kUnavailable, kInvalid (certificates).
  [[nodiscard]] static Result<HttpsConnection> Open(const client::KubeConfig& config);
  HttpsConnection(HttpsConnection&& other) noexcept;
  HttpsConnection& operator=(HttpsConnection&&) = delete;
  ~HttpsConnection();

  // Sends a request and reads its answer, whatever status it has. ERRORS: kUnavailable.
  Result<Response> Ask(std::string_view method, std::string_view path, std::string_view body = {});
  // Reads a watch line by line until `on_line` says false or the server ends it.
  // ERRORS: kUnavailable, also for an answer that is not 200.
  Status Stream(std::string_view path, const std::function<bool(std::string_view)>& on_line);

 private:
  struct Head;
  HttpsConnection() = default;

  [[nodiscard]] bool Send(std::string_view bytes);
  // Reads more into the buffer; false at the end.
  [[nodiscard]] bool Fill();
  Result<Head> Exchange(std::string_view method, std::string_view path, std::string_view body);
  // The next chunk of a chunked body; empty at its end.
  Result<std::string> NextChunk();

  struct Free {
    void operator()(ssl_ctx_st* context) const;
    void operator()(ssl_st* ssl) const;
  };
  int file_ = -1;
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string host_;
  std::string authorization_;  // a whole line, or nothing
  std::string input_;          // read and not yet used
};

}  // namespace drachma::bench
