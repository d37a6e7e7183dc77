#include "controllers/controller.h"

#include <algorithm>
#include <utility>

namespace drachma::controllers {

bool Host::Enabled(const std::string& gate, bool by_default) const {
  const auto found = feature_gates.find(gate);
  return found == feature_gates.end() ? by_default : found->second;
}

Cache& Controller::Watch(const client::Resource& resource,
                         std::function<void(const client::Change&)> changed) {
  Cache& cache = host_.caches.Of(resource);
  if (changed) cache.Listen(std::move(changed));
  if (std::ranges::find(watched_, resource) == watched_.end()) watched_.push_back(resource);
  return cache;
}

}  // namespace drachma::controllers
