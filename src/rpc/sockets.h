#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::rpc {

// Where a kubelet finds a driver.
struct PluginSockets {
  std::string registration;  // KUBELET/plugins_registry/DRIVER-reg.sock
  std::string service;       // KUBELET/plugins/DRIVER/dra.sock
};

// Bytes of a path that a socket's address holds (sun_path without its end).
inline constexpr std::size_t kSocketPathMax = 107;

// With `pod_uid`, names that no other pod of the driver has, so that the next version of a driver
// can start before the last one has ended. Source: kubeletplugin's RollingUpdate.
[[nodiscard]] PluginSockets SocketsOf(std::string_view kubelet_dir, std::string_view driver,
                                      std::string_view pod_uid = {});

// Makes the way free for a socket at `path`: its folder is made where it is missing, and what a
// process that died has left there is removed. ERRORS: kInvalid for a path that is too long or is
// not a socket; kConflict when somebody listens there; kUnavailable when the system refuses.
[[nodiscard]] Status FreeSocketPath(const std::string& path);

}  // namespace drachma::rpc
