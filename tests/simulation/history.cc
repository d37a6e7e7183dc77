#include "history.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/informer.h"
#include "client/objects.h"

namespace drachma::simulation {

std::int64_t RevisionOf(const json::Value& object) {
  const std::string_view text = client::ResourceVersionOf(object);
  std::int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

// A watch from the beginning, again where it ended.
class History::Follower final : public client::WatchHandler {
 public:
  Follower(History& history, client::Resource resource)
      : history_(history), resource_(std::move(resource)) {}

  [[nodiscard]] const std::string& plural() const { return resource_.plural; }

  void Begin() {
    client::Request request{.verb = client::Verb::kWatch, .resource = resource_};
    if (last_ == 0) {
      request.send_initial_events = true;
      request.resource_version_match = "NotOlderThan";
    } else {
      request.resource_version = std::to_string(last_);
    }
    request.allow_watch_bookmarks = true;
    watch_ = history_.client_.StartWatch(std::move(request), *this);
  }

  void OnEvent(client::WatchEvent event) override {
    const std::int64_t revision = RevisionOf(event.object);
    last_ = std::max(last_, revision);
    if (event.type == client::WatchEvent::Type::kBookmark) return;
    history_.seen_ = std::max(history_.seen_, revision);
    history_.pending_.emplace(revision, Seen{resource_.plural, std::move(event)});
    history_.AdvanceLater();
  }

  void OnClosed(Error /*error*/) override {
    history_.client_.executor().Post([this, ended = std::move(watch_)] { Begin(); });
  }

 private:
  History& history_;
  const client::Resource resource_;
  std::unique_ptr<client::Watch> watch_;
  std::int64_t last_ = 0;
};

History::History(client::Client& client, std::vector<client::Resource> resources,
                 std::function<void(const Write&)> on_write)
    : client_(client), on_write_(std::move(on_write)) {
  for (client::Resource& resource : resources) {
    followers_.push_back(std::make_unique<Follower>(*this, std::move(resource)));
  }
}
History::~History() = default;

void History::Start() {
  for (const auto& follower : followers_) follower->Begin();
}

bool History::Follows(std::string_view plural) const {
  return std::ranges::any_of(followers_,
                             [&](const auto& follower) { return follower->plural() == plural; });
}

// A write that one watch has shown has been given to all of them, so what it was given together
// with has arrived by the next call.
void History::Advance() {
  scheduled_ = false;
  while (!pending_.empty() && pending_.begin()->first <= complete_) {
    auto node = pending_.extract(pending_.begin());
    Tell(node.key(), std::move(node.mapped()));
  }
  complete_ = seen_;
  if (!pending_.empty()) AdvanceLater();
}

void History::AdvanceLater() {
  if (std::exchange(scheduled_, true)) return;
  client_.executor().PostAfter(kAdvanceInterval, [this] { Advance(); });
}

void History::Tell(std::int64_t revision, Seen seen) {
  Write write{.revision = revision,
              .plural = seen.plural,
              .key = client::KeyOf(seen.event.object),
              .before = Get(seen.plural, client::KeyOf(seen.event.object)),
              .object = {}};
  Objects& objects = objects_[std::string(seen.plural)];
  if (seen.event.type == client::WatchEvent::Type::kDeleted) {
    objects.erase(write.key);
  } else {
    write.object = std::move(seen.event.object);
    objects.insert_or_assign(write.key, write.object);
  }
  on_write_(write);
}

const History::Objects& History::Of(std::string_view plural) const {
  static const Objects kNone;
  const auto found = objects_.find(plural);
  return found == objects_.end() ? kNone : found->second;
}

const json::Value& History::Get(std::string_view plural, std::string_view key) const {
  static const json::Value kNull;
  const Objects& objects = Of(plural);
  const auto found = objects.find(key);
  return found == objects.end() ? kNull : found->second;
}

}  // namespace drachma::simulation
