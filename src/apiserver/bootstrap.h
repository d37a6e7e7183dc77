#pragma once

#include "apiserver/core.h"
#include "base/result.h"

namespace drachma::apiserver {

// Creates the objects that upstream's API server makes at its start and that are missing: the four
// namespaces, the system's PriorityClasses, the RBAC policy, flow control, the Service
// "kubernetes". Writes to the store at once, on the server's executor or before it runs. ERRORS:
// kInternal when an object of ours does not pass our own rules; those of the store.
[[nodiscard]] Status Bootstrap(Core& core);

}  // namespace drachma::apiserver
