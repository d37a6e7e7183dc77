#pragma once

#include <memory>

#include "apiserver/core.h"
#include "apiserver/user.h"
#include "client/client.h"

namespace drachma::apiserver {

// Events of a watch in process that wait for their client; then the watch waits.
inline constexpr std::size_t kLocalWatchQueueMax = 4096;

// Clients of `core` in this process that act as `user`: requests and objects are handed over as
// values, on the executors of both sides. `core` must outlive the factory and its clients.
[[nodiscard]] std::unique_ptr<client::ClientFactory> MakeLocalClientFactory(Core& core, User user);

}  // namespace drachma::apiserver
