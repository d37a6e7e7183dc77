#include "bench/system/https_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace drachma::bench {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

std::unexpected<Error> Broken(std::string_view what) {
  return Fail(Code::kUnavailable, fmt::format("connection to the API server: {}", what));
}

template <typename T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, std::integral_constant<void (*)(T*), kFree>>;

BIO* OpenText(const std::string& text) {
  return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

bool UseCertificate(SSL_CTX* context, const client::KubeConfig& config) {
  if (config.certificate_pem.empty()) return true;
  const Owned<BIO, BIO_free_all> certificate_text(OpenText(config.certificate_pem));
  const Owned<X509, X509_free> certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Owned<BIO, BIO_free_all> key_text(OpenText(config.key_pem));
  const Owned<EVP_PKEY, EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  return certificate && key && SSL_CTX_use_certificate(context, certificate.get()) == 1 &&
         SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

// A socket connected to "https://host:port"; -1 when nobody answers.
int Connect(const std::string& server) {
  const std::size_t begin = server.find("://") + 3;
  const std::size_t colon = server.rfind(':');
  const std::string host = server.substr(begin, colon - begin);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  if (getaddrinfo(host.c_str(), server.c_str() + colon + 1, &hints, &raw) != 0) return -1;
  const Owned<addrinfo, freeaddrinfo> found(raw);
  const int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(file, found->ai_addr, found->ai_addrlen) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

struct HttpsConnection::Head {
  int status = 0;
  bool chunked = false;
  std::size_t length = 0;
};

void HttpsConnection::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void HttpsConnection::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

// The server's certificate is not checked: what it costs to create is measured, not who it is.
Result<HttpsConnection> HttpsConnection::Open(const client::KubeConfig& config) {
  HttpsConnection connection;
  connection.context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!UseCertificate(connection.context_.get(), config)) {
    return Fail(Code::kInvalid, "the kubeconfig's client certificate cannot be used");
  }
  connection.file_ = Connect(config.server);
  if (connection.file_ < 0) return Broken("nobody answers at " + config.server);
  connection.ssl_.reset(SSL_new(connection.context_.get()));
  SSL_set_fd(connection.ssl_.get(), connection.file_);
  if (SSL_connect(connection.ssl_.get()) != 1) return Broken("no TLS");
  connection.host_ = config.server.substr(config.server.find("://") + 3);
  if (!config.token.empty()) {
    connection.authorization_ = "Authorization: Bearer " + config.token + "\r\n";
  }
  return connection;
}

HttpsConnection::HttpsConnection(HttpsConnection&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      context_(std::move(other.context_)),
      ssl_(std::move(other.ssl_)),
      host_(std::move(other.host_)),
      authorization_(std::move(other.authorization_)),
      input_(std::move(other.input_)) {}

HttpsConnection::~HttpsConnection() {
  ssl_.reset();
  if (file_ >= 0) close(file_);
}

bool HttpsConnection::Send(std::string_view bytes) {
  std::size_t sent = 0;
  return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1;
}

bool HttpsConnection::Fill() {
  const std::size_t size = input_.size();
  input_.resize(size + kReadBytes);
  std::size_t got = 0;
  const bool more = SSL_read_ex(ssl_.get(), input_.data() + size, kReadBytes, &got) == 1;
  input_.resize(size + (more ? got : 0));
  return more;
}

Result<HttpsConnection::Head> HttpsConnection::Exchange(std::string_view method,
                                                        std::string_view path,
                                                        std::string_view body) {
  std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\n{}User-Agent: drachma-bench\r\nAccept: application/json\r\n",
      method, path, host_, authorization_);
  if (!body.empty()) {
    request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  request += "\r\n";
  request += body;
  if (!Send(request)) return Broken("cannot write");
  std::size_t end = 0;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return Broken("closed before an answer");
  }
  const std::string text = input_.substr(0, end + 2);
  input_.erase(0, end + 4);
  Head head{.status = std::atoi(text.c_str() + text.find(' '))};
  head.chunked = text.find("Transfer-Encoding: chunked") != std::string::npos;
  constexpr std::string_view kLength = "Content-Length: ";
  if (const std::size_t length = text.find(kLength); length != std::string::npos) {
    head.length = std::strtoul(text.c_str() + length + kLength.size(), nullptr, 10);
  }
  return head;
}

Result<std::string> HttpsConnection::NextChunk() {
  std::size_t line = 0;
  while ((line = input_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return Broken("closed inside an answer");
  }
  const std::size_t size = std::strtoul(input_.c_str(), nullptr, 16);
  const std::size_t begin = line + 2;
  while (input_.size() < begin + size + 2) {
    if (!Fill()) return Broken("closed inside an answer");
  }
  std::string chunk = input_.substr(begin, size);
  input_.erase(0, begin + size + 2);
  return chunk;
}

Result<HttpsConnection::Response> HttpsConnection::Ask(std::string_view method,
                                                       std::string_view path,
                                                       std::string_view body) {
  DRA_ASSIGN(const Head head, Exchange(method, path, body));
  Response response{.status = head.status, .body = {}};
  if (head.chunked) {
    for (;;) {
      DRA_ASSIGN(const std::string chunk, NextChunk());
      if (chunk.empty()) return response;
      response.body += chunk;
    }
  }
  while (input_.size() < head.length) {
    if (!Fill()) return Broken("closed inside an answer");
  }
  response.body = input_.substr(0, head.length);
  input_.erase(0, head.length);
  return response;
}

Status HttpsConnection::Stream(std::string_view path,
                               const std::function<bool(std::string_view)>& on_line) {
  DRA_ASSIGN(const Head head, Exchange("GET", path, {}));
  if (head.status != 200) return Broken(fmt::format("{} answers {}", path, head.status));
  std::string text;
  for (;;) {
    DRA_ASSIGN(const std::string chunk, NextChunk());
    if (chunk.empty()) return {};
    text += chunk;
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (!on_line(std::string_view(text).substr(begin, end - begin))) return {};
    }
    text.erase(0, begin);
  }
}

}  // namespace drachma::bench
