#pragma once

#include "client/client.h"

namespace drachma::cluster {

// Makes the service account of the simulated nodes' DRA drivers and what it may do, where they are
// missing: a foreign API server knows neither. What may not be made is left out, since our own
// server grants it anyway. Returns at once; `client` must live until the answers have come.
void GrantDriverRights(client::Client& client);

}  // namespace drachma::cluster
