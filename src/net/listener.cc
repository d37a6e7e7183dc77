#include "net/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace drachma::net {
namespace {

constexpr int kBacklog = 1024;
constexpr std::string_view kUnixPrefix = "unix:";

std::unexpected<Error> ListenError(const std::string& address) {
  return Fail(Code::kUnavailable, "cannot listen on " + address + ": " +
                                      std::error_code(errno, std::generic_category()).message());
}

// "127.0.0.1:443", "[::1]:443".
std::string Describe(const sockaddr_storage& address, int* port = nullptr) {
  char host[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
    if (port != nullptr) *port = ntohs(v6.sin6_port);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  if (address.ss_family != AF_INET) return "unix";
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
  if (port != nullptr) *port = ntohs(v4.sin_port);
  return std::string(host) + ":" + std::to_string(ntohs(v4.sin_port));
}

// Whether somebody answers at a unix socket; a file that nobody answers at is left from a crash.
bool IsAlive(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool alive =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(probe);
  return alive;
}

}  // namespace

Result<Listener> Listener::Open(const std::string& address) {
  if (address.starts_with(kUnixPrefix)) return OpenUnix(address.substr(kUnixPrefix.size()));
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return Fail(Code::kInvalid, "\"" + address + "\" is no address to listen on: HOST:PORT");
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return OpenTcp(host, address.substr(colon + 1));
}

Result<Listener> Listener::OpenUnix(const std::string& path) {
  Listener listener;
  listener.address_ = std::string(kUnixPrefix) + path;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(Code::kInvalid, "the path of a unix socket has 1 to " +
                                    std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  struct stat info{};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    if (IsAlive(address)) {
      errno = EADDRINUSE;
      return ListenError(listener.address_);
    }
    unlink(path.c_str());
  }
  listener.file_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(listener.file_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ListenError(listener.address_);
  }
  listener.unix_path_ = path;
  if (chmod(path.c_str(), 0600) != 0 || listen(listener.file_, kBacklog) != 0) {
    return ListenError(listener.address_);
  }
  return listener;
}

Result<Listener> Listener::OpenTcp(const std::string& host, const std::string& port) {
  const std::string name = host + ":" + port;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int failure =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &raw);
  if (failure != 0) {
    return Fail(Code::kInvalid, "cannot listen on " + name + ": " + gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, freeaddrinfo);
  Listener listener;
  listener.file_ = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener.file_ < 0) return ListenError(name);
  const int on = 1;
  setsockopt(listener.file_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.file_, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener.file_, kBacklog) != 0) {
    return ListenError(name);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(listener.file_, reinterpret_cast<sockaddr*>(&bound), &size);
  listener.address_ = Describe(bound, &listener.port_);
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      address_(std::move(other.address_)),
      unix_path_(std::exchange(other.unix_path_, {})),
      port_(other.port_) {}

Listener::~Listener() {
  if (file_ < 0) return;
  if (!unix_path_.empty()) unlink(unix_path_.c_str());
  close(file_);
}

int Listener::Accept(std::string& peer) const {
  sockaddr_storage from{};
  socklen_t size = sizeof(from);
  const int file =
      accept4(file_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (file < 0) return -1;
  peer = Describe(from);
  if (!is_unix()) {
    const int on = 1;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  return file;
}

}  // namespace drachma::net
