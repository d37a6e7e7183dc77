#include "https_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace drachma::bench {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
// Room for several records of TLS, so that they are read from the kernel at once.
constexpr std::size_t kRecordsBytes = 128 * 1024;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

SSL_CTX* Context() {
  static SSL_CTX* const context = [] {
    SSL_CTX* made = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(made, 1);
    SSL_CTX_set_default_read_buffer_len(made, kRecordsBytes);
    return made;
  }();
  return context;
}

// The value of a header field in a head; empty when there is none.
std::string_view FieldOf(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    const std::string_view rest = head.substr(at + 2);
    if (rest.size() <= name.size() || rest[name.size()] != ':' ||
        strncasecmp(rest.data(), name.data(), name.size()) != 0) {
      continue;
    }
    std::string_view value = rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
  }
  return {};
}

std::size_t NumberOf(std::string_view text, int base) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

}  // namespace

void ResponseReader::ReadHead() {
  status_ = static_cast<int>(NumberOf(std::string_view(line_).substr(9, 3), 10));
  const bool chunked = FieldOf(line_, "Transfer-Encoding") == "chunked";
  state_ = chunked ? State::kChunkSize : State::kSized;
  left_ = NumberOf(FieldOf(line_, "Content-Length"), 10);
  line_.clear();
}

bool ResponseReader::Feed(std::string_view bytes) {
  for (;;) {
    if (state_ == State::kSized || state_ == State::kChunk) {
      const std::string_view part = bytes.substr(0, left_);
      if (on_body && !part.empty()) on_body(part);
      left_ -= part.size();
      bytes.remove_prefix(part.size());
      if (left_ > 0) return false;
      if (state_ == State::kSized) {
        state_ = State::kHead;
        return true;
      }
      state_ = State::kChunkEnd;
    }
    const std::string_view end = state_ == State::kHead ? "\r\n\r\n" : "\r\n";
    const std::size_t had = line_.size();
    line_ += bytes;
    const std::size_t found = line_.find(end, had < end.size() ? 0 : had - end.size());
    if (found == std::string::npos) return false;
    bytes.remove_prefix(found + end.size() - had);
    line_.resize(found);
    switch (state_) {
      case State::kHead:
        ReadHead();
        break;
      case State::kChunkSize:
        left_ = NumberOf(line_, 16);
        state_ = left_ > 0 ? State::kChunk : State::kTrailer;
        break;
      case State::kChunkEnd:
        state_ = State::kChunkSize;
        break;
      default:
        state_ = State::kHead;
        line_.clear();
        return true;
    }
    line_.clear();
  }
}

HttpsWire::HttpsWire(int port) {
  file_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address{.sin_family = AF_INET,
                            .sin_port = htons(static_cast<std::uint16_t>(port)),
                            .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                            .sin_zero = {}};
  if (connect(file_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    Die("connect");
  }
  const int on = 1;
  setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ssl_ = SSL_new(Context());
  SSL_set_fd(ssl_, file_);
  if (SSL_connect(ssl_) != 1) Die("TLS handshake");
  fcntl(file_, F_SETFL, fcntl(file_, F_GETFL) | O_NONBLOCK);
}

HttpsWire::~HttpsWire() {
  SSL_free(ssl_);
  close(file_);
}

void HttpsWire::Send(std::string_view request) {
  for (;;) {
    const int sent = SSL_write(ssl_, request.data(), static_cast<int>(request.size()));
    if (sent > 0) return;
    if (SSL_get_error(ssl_, sent) != SSL_ERROR_WANT_WRITE) Die("send");
    pollfd ready{.fd = file_, .events = POLLOUT, .revents = 0};
    poll(&ready, 1, -1);
  }
}

bool HttpsWire::ReadSome() {
  static thread_local std::array<char, kReadBytes> buffer;
  for (;;) {
    const int got = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) {
      if (response_.Feed({buffer.data(), static_cast<std::size_t>(got)})) return true;
      if (SSL_has_pending(ssl_) == 0) return false;  // the poller knows when more has come
      continue;
    }
    const int error = SSL_get_error(ssl_, got);
    if (error == SSL_ERROR_WANT_READ) return false;
    std::fputs(
        fmt::format("the server closed a connection (status {})\n", response_.status()).c_str(),
        stderr);
    std::exit(1);
  }
}

}  // namespace drachma::bench
