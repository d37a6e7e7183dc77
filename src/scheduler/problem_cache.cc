#include "scheduler/problem_cache.h"

#include <algorithm>
#include <utility>

namespace drachma::scheduler {

void ProblemEntry::Remember(const std::vector<allocator::SelectorFault>& new_faults) {
  for (const allocator::SelectorFault& fault : new_faults) {
    if (faults.size() >= ProblemCache::kFaultsMax) return;
    const bool known = std::ranges::any_of(faults, [&fault](const allocator::SelectorFault& f) {
      return f.expression == fault.expression && f.device == fault.device;
    });
    if (!known) faults.push_back(fault);
  }
}

std::shared_ptr<ProblemEntry> ProblemCache::Get(const std::string& key,
                                                const std::vector<api::ResourceClaim>& claims) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= kProblemsMax) entries_.clear();
  auto entry = std::make_shared<ProblemEntry>(allocator::Problem(inventory_, claims));
  entry->has_alternatives = std::ranges::any_of(claims, [](const api::ResourceClaim& claim) {
    return std::ranges::any_of(claim.requests, [](const api::DeviceRequest& request) {
      return !request.first_available.empty();
    });
  });
  return entries_.emplace(key, std::move(entry)).first->second;
}

}  // namespace drachma::scheduler
