#include "node/open_plugin.h"

namespace drachma::node {

void OpenPlugin::Prepare(std::span<const json::Value> claims, PrepareDone done) {
  PrepareAnswer answer;
  for (const json::Value& claim : claims) {
    std::vector<PreparedDevice> devices;
    for (const json::Value* result : ResultsOf(claim, driver_)) {
      devices.push_back({.requests = {std::string(BaseRequest((*result)["request"].AsString()))},
                         .pool = std::string((*result)["pool"].AsString()),
                         .device = std::string((*result)["device"].AsString()),
                         .share_id = std::string((*result)["shareID"].AsString())});
    }
    answer.emplace(claim.At({"metadata", "uid"}).AsString(), std::move(devices));
  }
  done(std::move(answer));
}

void OpenPlugin::Unprepare(std::span<const ClaimRef> claims, UnprepareDone done) {
  UnprepareAnswer answer;
  for (const ClaimRef& claim : claims) answer.emplace(claim.uid, Status());
  done(std::move(answer));
}

}  // namespace drachma::node
