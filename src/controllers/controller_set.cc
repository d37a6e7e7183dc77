#include "controllers/controller_set.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controllers/kinds.h"

namespace drachma::controllers {

ControllerSet::ControllerSet(const std::vector<ControllerEntry>& entries, Host& host,
                             client::Client& client, const ClientOfAccount& client_of)
    : host_(host), client_(client) {
  for (const ControllerEntry& entry : entries) {
    client::Client* writes = &client_;
    if (client_of && !entry.account.empty()) {
      const auto [known, added] = clients_.try_emplace(entry.account);
      if (added) known->second = client_of(entry.account);
      writes = known->second.get();
    }
    runners_.push_back(std::make_unique<Runner>(entry, host_, *writes));
  }
  started_.resize(runners_.size(), false);
  for (const auto& [resource, cache] : host_.caches.all()) AddFeed(*cache, Origin::kTable);
  // After the controllers, which ask for the caches of what is defined.
  if (Cache* definitions = host_.caches.Find(kDefinitions)) {
    definitions->Listen([this](const client::Change& change) { OnDefinition(change); });
  }
}

std::shared_ptr<ControllerSet::Feed> ControllerSet::AddFeed(Cache& cache, Origin origin) {
  const client::Resource& resource = cache.resource();
  auto feed = std::make_shared<Feed>(Feed{
      .cache = cache,
      .origin = origin,
      .informer = std::make_unique<client::Informer>(
          client_, client::Informer::Options{.resource = resource}),
  });
  feed->informer->Listen([&cache](const client::Change& change) { cache.Apply(change); });
  cache.SetState(Cache::State::kUnlisted);
  feeds_[resource] = feed;
  return feed;
}

void ControllerSet::Start() {
  for (const auto& [resource, feed] : feeds_) Ask(feed);
}

// A server of another version, or with other APIs switched on, lacks some resources: its answer to
// a list of one object tells, while an informer would try for ever.
void ControllerSet::Ask(const std::shared_ptr<Feed>& feed) {
  client::Request request{.verb = client::Verb::kList, .resource = feed->cache.resource()};
  request.limit = 1;
  client_.Call(std::move(request),
               [this, weak = std::weak_ptr(feed)](const Result<json::Value>& answer) {
                 const std::shared_ptr<Feed> feed = weak.lock();
                 if (!feed) return;
                 const bool absent = !answer && (answer.error().code == Code::kNotFound ||
                                                 answer.error().code == Code::kMethodNotAllowed);
                 if (absent) {
                   OnAbsent(feed);
                   return;
                 }
                 if (!answer) {
                   // Says nothing about whether the resource is there.
                   feed->cache.SetState(Cache::State::kFailed, answer.error().message);
                   client_.executor().PostAfter(kAskAgainFailed, [this, weak] {
                     if (const std::shared_ptr<Feed> feed = weak.lock()) Ask(feed);
                   });
                   return;
                 }
                 feed->informer->Start([this, weak] {
                   if (const std::shared_ptr<Feed> feed = weak.lock()) SetReady(*feed);
                 });
               });
}

void ControllerSet::OnAbsent(const std::shared_ptr<Feed>& feed) {
  Log(LogLevel::kDebug, "controllers", "the server has no {}", feed->cache.resource().plural);
  const bool defined = feed->origin == Origin::kDefinition;
  if (defined) {
    feed->cache.SetState(Cache::State::kFailed, "the server could not find the requested resource");
  } else {
    SetReady(*feed);
  }
  client_.executor().PostAfter(defined ? kAskAgainDefined : kAskAgain,
                               [this, weak = std::weak_ptr(feed)] {
                                 if (const std::shared_ptr<Feed> feed = weak.lock()) Ask(feed);
                               });
}

void ControllerSet::SetReady(Feed& feed) {
  feed.ready = true;
  feed.cache.SetState(Cache::State::kListed);
  StartReadyRunners();
}

void ControllerSet::OnDefinition(const client::Change& change) {
  const bool deleted = change.type == client::Change::Type::kDeleted;
  const std::optional<CollectedKind> kind =
      deleted ? std::nullopt : KindOfDefinition(change.object);
  const json::Value& spec = change.object["spec"];
  std::vector<Cache*> ended;
  std::erase_if(feeds_, [&](const auto& entry) {
    const auto& [resource, feed] = entry;
    const bool ends = feed->origin == Origin::kDefinition &&
                      resource.group == spec["group"].AsString() &&
                      resource.plural == spec["names"]["plural"].AsString() &&
                      !(kind && kind->resource == resource);
    if (ends) ended.push_back(&feed->cache);
    return ends;
  });
  for (Cache* cache : ended) {
    if (deleted) {
      cache->RemoveAll();
    } else {
      cache->Forget();
    }
  }
  if (!kind || feeds_.contains(kind->resource)) return;
  if (Cache* cache = host_.caches.Find(kind->resource)) Ask(AddFeed(*cache, Origin::kDefinition));
}

void ControllerSet::StartReadyRunners() {
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (started_[i]) continue;
    const auto& watched = runners_[i]->controller().watched();
    const bool ready = std::ranges::all_of(feeds_, [&](const auto& entry) {
      return entry.second->ready || std::ranges::find(watched, entry.first) == watched.end();
    });
    if (!ready) continue;
    started_[i] = true;
    runners_[i]->Start();
  }
}

bool ControllerSet::synced() const {
  return std::ranges::all_of(feeds_, [](const auto& entry) { return entry.second->ready; });
}

bool ControllerSet::AtRest() const {
  return synced() && std::ranges::all_of(runners_, [](const auto& r) { return r->AtRest(); });
}

void ControllerSet::Stop() {
  runners_.clear();
  feeds_.clear();
  started_.clear();
}

}  // namespace drachma::controllers
