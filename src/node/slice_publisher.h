#pragma once

#include <string_view>
#include <vector>

#include "client/client.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::node {

// The writes that turn the ResourceSlices `existing`, all of `driver` on `node` (a Node object),
// into the wanted pools: obsolete ones go, changed ones are updated in place, missing ones are
// made, in this order. A pool's generation goes up when more than one of its slices changes, so
// that nobody takes a half-written pool for a whole one. Empty when everything is as wanted.
// Source: k8s.io/dynamic-resource-allocation/resourceslice's controller.
[[nodiscard]] std::vector<client::Request> PublishRequests(
    std::string_view driver, const json::Value& node, const std::vector<Pool>& pools,
    const std::vector<const json::Value*>& existing);

}  // namespace drachma::node
