#include "rpc/sockets.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "net/signing.h"

namespace drachma::rpc {
namespace {

constexpr std::size_t kDigestLength = 16;  // hexadecimal digits of a uid that is too long

// Whether a process listens at `path`.
Result<bool> SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return Fail(Code::kUnavailable,
                fmt::format("cannot make a socket: {}", std::generic_category().message(errno)));
  }
  const int failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = failed == 0 ? 0 : errno;
  close(fd);
  // EAGAIN: its queue of connections is full.
  return error == 0 || error == EAGAIN;
}

}  // namespace

PluginSockets SocketsOf(std::string_view kubelet_dir, std::string_view driver,
                        std::string_view pod_uid) {
  const std::string own = pod_uid.empty() ? std::string() : fmt::format("-{}", pod_uid);
  PluginSockets sockets{
      .registration = fmt::format("{}/plugins_registry/{}{}-reg.sock", kubelet_dir, driver, own),
      .service = fmt::format("{}/plugins/{}/dra{}.sock", kubelet_dir, driver, own)};
  if (sockets.registration.size() > kSocketPathMax && !pod_uid.empty()) {
    sockets.registration = fmt::format("{}/plugins_registry/{}-{}-reg.sock", kubelet_dir, driver,
                                       net::Sha256Hex(pod_uid).substr(0, kDigestLength));
  }
  return sockets;
}

Status FreeSocketPath(const std::string& path) {
  if (path.size() > kSocketPathMax) {
    return Fail(Code::kInvalid,
                fmt::format("{}: the path of a socket has at most {} bytes", path, kSocketPathMax));
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return Fail(Code::kUnavailable, fmt::format("{}: {}", path, error.message()));
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_socket(status)) {
    return Fail(Code::kInvalid, fmt::format("{}: is in the way and not a socket", path));
  }
  DRA_ASSIGN(const bool taken, SomebodyListens(path));
  if (taken) return Fail(Code::kConflict, fmt::format("{}: another process serves it", path));
  std::filesystem::remove(path, error);
  if (error) return Fail(Code::kUnavailable, fmt::format("{}: {}", path, error.message()));
  return {};
}

}  // namespace drachma::rpc
