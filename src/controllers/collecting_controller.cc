#include "controllers/collecting_controller.h"

#include <algorithm>

#include "client/objects.h"

namespace drachma::controllers {

using client::Change;

CollectingController::CollectingController(Host& host, Which which)
    : Controller(host), which_(which) {
  for (const CollectedKind& info : CollectedKinds()) {
    if (which_ == Which::kAll || info.namespaced) AddKind(info, Watch(info.resource));
  }
  Watch(kDefinitions, [this](const Change& change) { OnDefinition(change); });
}

void CollectingController::AddKind(const CollectedKind& info, Cache& cache) {
  const std::size_t index = kinds_.size();
  kinds_.push_back({.info = info, .cache = &cache});
  cache.Listen([this, index](const Change& change) { OnChange(index, change); });
  cache.ListenListed([this, index] { OnListed(index); });
}

void CollectingController::OnDefinition(const Change& change) {
  const std::optional<CollectedKind> info =
      change.type == Change::Type::kDeleted ? std::nullopt : KindOfDefinition(change.object);
  const json::Value& spec = change.object["spec"];
  bool known = false;
  for (Kind& kind : kinds_) {
    const client::Resource& resource = kind.info.resource;
    if (resource.group != spec["group"].AsString() ||
        resource.plural != spec["names"]["plural"].AsString()) {
      continue;
    }
    kind.defined = info && info->resource == resource;
    known = known || kind.defined;
  }
  if (!info || known || (which_ == Which::kNamespaced && !info->namespaced)) return;
  AddKind(*info, host().caches.Of(info->resource));
}

std::optional<std::size_t> CollectingController::FindKind(std::string_view group,
                                                          std::string_view kind) const {
  const auto found = std::ranges::find_if(kinds_, [&](const Kind& known) {
    return known.defined && known.info.kind == kind && known.info.resource.group == group;
  });
  if (found == kinds_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kinds_.begin());
}

bool CollectingController::AwaitsCopies() const {
  return std::ranges::any_of(kinds_, [](const Kind& kind) {
    return kind.defined && kind.cache->state() == Cache::State::kUnlisted;
  });
}

}  // namespace drachma::controllers
