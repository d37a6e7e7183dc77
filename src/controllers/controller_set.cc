#include "controllers/controller_set.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

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
  for (const auto& [resource, cache] : host_.caches.all()) {
    feeds_.push_back({.resource = resource,
                      .informer = std::make_unique<client::Informer>(
                          client_, client::Informer::Options{.resource = resource})});
    feeds_.back().informer->Listen(
        [&cache = *cache](const client::Change& change) { cache.Apply(change); });
  }
}

void ControllerSet::Start() {
  for (std::size_t i = 0; i < feeds_.size(); ++i) Ask(i);
}

// A server of another version, or with other APIs switched on, lacks some resources: its answer to
// a list of one object tells, while an informer would try for ever.
void ControllerSet::Ask(std::size_t index) {
  client::Request request{.verb = client::Verb::kList, .resource = feeds_[index].resource};
  request.limit = 1;
  client_.Call(std::move(request), [this, alive = std::weak_ptr(alive_),
                                    index](const Result<json::Value>& answer) {
    if (alive.expired()) return;
    Feed& feed = feeds_[index];
    const bool absent = !answer && (answer.error().code == Code::kNotFound ||
                                    answer.error().code == Code::kMethodNotAllowed);
    if (absent) {
      Log(LogLevel::kDebug, "controllers", "the server has no {}", feed.resource.plural);
      feed.ready = true;
      StartReadyRunners();
      client_.executor().PostAfter(kAskAgain, [this, alive, index] {
        if (!alive.expired()) Ask(index);
      });
      return;
    }
    feed.informer->Start([this, index] {
      feeds_[index].ready = true;
      StartReadyRunners();
    });
  });
}

void ControllerSet::StartReadyRunners() {
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (started_[i]) continue;
    const auto& watched = runners_[i]->controller().watched();
    const bool ready = std::ranges::all_of(feeds_, [&](const Feed& feed) {
      return feed.ready || std::ranges::find(watched, feed.resource) == watched.end();
    });
    if (!ready) continue;
    started_[i] = true;
    runners_[i]->Start();
  }
}

bool ControllerSet::synced() const { return std::ranges::all_of(feeds_, &Feed::ready); }

bool ControllerSet::AtRest() const {
  return synced() && std::ranges::all_of(runners_, [](const auto& r) { return r->AtRest(); });
}

void ControllerSet::Stop() {
  alive_ = std::make_shared<int>();
  runners_.clear();
  feeds_.clear();
  started_.clear();
}

}  // namespace drachma::controllers
