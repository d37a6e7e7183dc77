#pragma once

#include <vector>

#include "api/kinds.h"
#include "client/client.h"

namespace drachma::controllers {

// A resource that garbage collection and the deletion of namespaces care about.
struct CollectedKind {
  const api::KindInfo* info = nullptr;
  client::Resource resource;  // in its preferred version
};

// Every resource that can be listed, watched and deleted, but Events: they have no owners, are
// many, and go by their age.
[[nodiscard]] const std::vector<CollectedKind>& CollectedKinds();

}  // namespace drachma::controllers
