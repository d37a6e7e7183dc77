#pragma once

#include "controllers/controller.h"

namespace drachma::controllers {

// A controller that follows ComputeDomains and ComputeDomainCliques, which a server has only once
// their definitions are there.
class ComputeDomainFollower : public Controller {
 protected:
  explicit ComputeDomainFollower(Host& host);

  // The copies; null while they are not whole.
  [[nodiscard]] const Cache* domains() const { return WholeOrNull(domains_); }
  [[nodiscard]] const Cache* cliques() const { return WholeOrNull(cliques_); }

 private:
  virtual void OnDomain(const client::Change& change) = 0;
  virtual void OnClique(const client::Change& change) = 0;
  // One of the copies has become whole.
  virtual void OnListed() = 0;

  [[nodiscard]] static const Cache* WholeOrNull(const Cache* cache) {
    return cache != nullptr && cache->state() == Cache::State::kListed ? cache : nullptr;
  }
  void OnDefinition(const client::Change& change);
  // The copy of a kind that is defined from now on.
  Cache& Begin(const client::Resource& resource,
               void (ComputeDomainFollower::*on)(const client::Change&));

  Cache* domains_ = nullptr;
  Cache* cliques_ = nullptr;
};

}  // namespace drachma::controllers
