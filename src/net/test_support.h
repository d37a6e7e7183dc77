#pragma once

// A plain socket and a server with certificates for the tests of this folder.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "net/certificates.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace drachma::net {

// A client that sends exactly the bytes it is told to.
class RawClient {
 public:
  explicit RawClient(int port) : file_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(file_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(file_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void EndSending() const { shutdown(file_, SHUT_WR); }
  void Close() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }
  // What comes until `end` has come `times` times or the server closes.
  std::string ReadUntil(std::string_view end, int times = 1) const {
    std::string text;
    for (;;) {
      int seen = 0;
      for (std::size_t at = text.find(end); at != std::string::npos;
           at = text.find(end, at + end.size())) {
        if (++seen == times) return text;
      }
      char buffer[4096];
      const ssize_t size = recv(file_, buffer, sizeof(buffer), 0);
      if (size <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(size));
    }
  }
  std::string ReadAll() const { return ReadUntil("<never comes>"); }

 private:
  int file_;
  bool connected_ = false;
};

// An authority with a server's certificate, made once: keys take time under sanitizers.
struct TestCertificates {
  CertificateAndKey authority;
  CertificateAndKey server;

  static const TestCertificates& Get() {
    static const TestCertificates certificates = [] {
      TestCertificates made;
      made.authority = MakeAuthority("test-ca", RealClock().Now()).value();
      made.server =
          IssueServerCertificate(made.authority, "server", ApiServerNames(), RealClock().Now())
              .value();
      return made;
    }();
    return certificates;
  }
};

inline ServerOptions TlsOptions() {
  const TestCertificates& certificates = TestCertificates::Get();
  return {.listen = {"127.0.0.1:0"},
          .tls = std::make_shared<TlsServerOptions>(
              TlsServerOptions{.certificate_pem = certificates.server.certificate_pem,
                               .key_pem = certificates.server.key_pem,
                               .client_ca_pem = certificates.authority.certificate_pem})};
}

}  // namespace drachma::net
