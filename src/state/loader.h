#pragma once

#include <functional>

#include "client/client.h"
#include "state/cluster_state.h"

namespace drachma::state {

// Fills `state` once from lists of every kind it is made of, for commands that look and end.
// Kinds that the server does not serve count as empty. `done` gets the resourceVersion of the last
// list. Both references must live until then. ERRORS: those of the lists.
void LoadOnce(client::Client& client, ClusterState& state,
              std::move_only_function<void(Result<std::string>)> done);

}  // namespace drachma::state
