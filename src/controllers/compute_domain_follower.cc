#include "controllers/compute_domain_follower.h"

#include "controllers/compute_domain_kinds.h"
#include "controllers/kinds.h"

namespace drachma::controllers {

using client::Change;

ComputeDomainFollower::ComputeDomainFollower(Host& host) : Controller(host) {
  Watch(kDefinitions, [this](const Change& change) { OnDefinition(change); });
}

Cache& ComputeDomainFollower::Begin(const client::Resource& resource,
                                    void (ComputeDomainFollower::*on)(const Change&)) {
  Cache& cache = host().caches.Of(resource);
  cache.Listen([this, on](const Change& change) { (this->*on)(change); });
  cache.ListenListed([this] { OnListed(); });
  return cache;
}

void ComputeDomainFollower::OnDefinition(const Change& change) {
  if (change.type == Change::Type::kDeleted) return;
  const std::optional<CollectedKind> kind = KindOfDefinition(change.object);
  if (!kind) return;
  if (kind->resource == compute_domain::kDomains && domains_ == nullptr) {
    domains_ = &Begin(kind->resource, &ComputeDomainFollower::OnDomain);
  }
  if (kind->resource == compute_domain::kCliques && cliques_ == nullptr) {
    cliques_ = &Begin(kind->resource, &ComputeDomainFollower::OnClique);
  }
}

}  // namespace drachma::controllers
