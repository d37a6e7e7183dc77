#include "client/informer.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/random.h"

namespace drachma::client {
namespace {

// Objects of one page of a LIST (client-go's pager uses 500; ours are cheap to decode).
constexpr std::int64_t kPageSize = 1000;
// The bookmark that ends the initial events of a watch-list (apimachinery's
// InitialEventsAnnotationKey).
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";
// A watch that ends cleanly sooner than this counts as a failure, so that a server that ends every
// watch at once is not asked in a loop.
constexpr Duration kShortWatch = std::chrono::seconds(1);

std::string_view ResourceVersionOf(const json::Value& object) {
  return object["metadata"]["resourceVersion"].AsString();
}
std::string_view UidOf(const json::Value& object) { return object["metadata"]["uid"].AsString(); }

// A resourceVersion so that pairs compare as the numbers do.
using Version = std::pair<std::size_t, std::string>;
Version VersionOf(const json::Value& object) {
  const std::string_view text = ResourceVersionOf(object);
  return {text.size(), std::string(text)};
}

// Items of built-in lists carry neither apiVersion nor kind; objects of watches do.
void AddTypeOfList(const json::Value& list, json::Value& item) {
  if (item.Has("kind")) return;
  std::string_view kind = list["kind"].AsString();
  if (kind.ends_with("List")) kind.remove_suffix(4);
  item.Set("kind", kind);
  item.Set("apiVersion", list["apiVersion"]);
}

}  // namespace

std::string KeyOf(const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  const std::string_view ns = metadata["namespace"].AsString();
  const std::string_view name = metadata["name"].AsString();
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) {
    key += ns;
    key += '/';
  }
  key += name;
  return key;
}

// The reflector: a list in one of two forms, then watches. Every answer and timer carries the
// `round_` it was asked in; what belongs to an earlier round is dropped.
class Informer::Impl final : public WatchHandler {
 public:
  Impl(Client& client, Options options)
      : client_(client),
        options_(std::move(options)),
        random_(std::hash<std::string>{}(options_.resource.plural + options_.field_selector)) {}
  ~Impl() override { client_.executor().Cancel(timer_); }

  void Listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  void Start(std::function<void()> on_synced) {
    on_synced_ = std::move(on_synced);
    List();
  }

  void OnEvent(WatchEvent event) override {
    if (phase_ == Phase::kInitialEvents) {
      OnInitialEvent(std::move(event));
    } else {
      ApplyEvent(std::move(event));
    }
  }

  void OnClosed(Error error) override {
    DropWatch();
    const bool clean = error.code == Code::kTimeout && error.message.empty();
    if (phase_ == Phase::kInitialEvents) {
      incoming_.clear();
      if (error.code == Code::kInvalid || error.code == Code::kBadRequest) watch_list_ = false;
      Retry(error, Phase::kIdle);
      return;
    }
    const bool lost = error.code == Code::kExpired || error.code == Code::kGone ||
                      (error.code == Code::kTimeout && !clean) || error.code == Code::kInvalid;
    if (lost) {
      List();
    } else if (clean && client_.executor().clock().Monotonic() - watch_began_ >= kShortWatch) {
      failures_ = 0;
      StartWatchFrom(resource_version_);
    } else {
      Retry(error, Phase::kWatching);
    }
  }

  bool synced_ = false;
  std::unordered_map<std::string, json::Value> objects_;
  std::string resource_version_;

 private:
  enum class Phase : std::uint8_t { kIdle, kInitialEvents, kPages, kWatching };

  Request NewRequest(Verb verb) const {
    Request request{.verb = verb, .resource = options_.resource, .ns = options_.ns};
    request.label_selector = options_.label_selector;
    request.field_selector = options_.field_selector;
    return request;
  }

  void List() {
    ++round_;
    incoming_.clear();
    if (watch_list_) {
      phase_ = Phase::kInitialEvents;
      Request request = NewRequest(Verb::kWatch);
      request.send_initial_events = true;
      request.allow_watch_bookmarks = true;
      request.resource_version_match = "NotOlderThan";
      BeginWatch(std::move(request));
    } else {
      phase_ = Phase::kPages;
      ListPage({});
    }
  }

  void ListPage(std::string continue_token) {
    Request request = NewRequest(Verb::kList);
    request.limit = kPageSize;
    request.continue_token = std::move(continue_token);
    client_.Call(std::move(request),
                 [this, alive = std::weak_ptr(alive_), round = round_](Result<json::Value> list) {
                   if (alive.expired() || round != round_) return;
                   if (!list) {
                     Retry(list.error(), Phase::kIdle);
                     return;
                   }
                   for (json::Value item : (*list)["items"].Items()) {
                     AddTypeOfList(*list, item);
                     std::string key = KeyOf(item);
                     incoming_.insert_or_assign(std::move(key), std::move(item));
                   }
                   const json::Value& metadata = (*list)["metadata"];
                   if (const auto token = metadata["continue"].AsString(); !token.empty()) {
                     ListPage(std::string(token));
                     return;
                   }
                   Replace(std::string(metadata["resourceVersion"].AsString()));
                   StartWatchFrom(resource_version_);
                 });
  }

  void OnInitialEvent(WatchEvent event) {
    const json::Value& metadata = event.object["metadata"];
    if (event.type == WatchEvent::Type::kBookmark) {
      if (metadata["annotations"][kInitialEventsEnd].AsString() != "true") return;
      phase_ = Phase::kWatching;
      Replace(std::string(metadata["resourceVersion"].AsString()));
      return;
    }
    std::string key = KeyOf(event.object);
    if (event.type == WatchEvent::Type::kDeleted) {
      incoming_.erase(key);
    } else {
      incoming_.insert_or_assign(std::move(key), std::move(event.object));
    }
  }

  void StartWatchFrom(const std::string& resource_version) {
    ++round_;
    phase_ = Phase::kWatching;
    Request request = NewRequest(Verb::kWatch);
    request.resource_version = resource_version;
    request.allow_watch_bookmarks = true;
    BeginWatch(std::move(request));
  }

  void BeginWatch(Request request) {
    watch_began_ = client_.executor().clock().Monotonic();
    watch_ = client_.StartWatch(std::move(request), *this);
  }

  // The watch that is over may be the caller: it is destroyed by a task of its own.
  void DropWatch() {
    if (!watch_) return;
    closed_.push_back(std::move(watch_));
    client_.executor().Post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) closed_.clear();
    });
  }

  // Tries again after the back-off: the watch where it stood, or else the list.
  void Retry(const Error& error, Phase phase) {
    ++round_;
    if (options_.optional && error.code == Code::kNotFound) {
      incoming_.clear();
      Replace({});
      RetryAfter(kAbsentRetry, Phase::kIdle);
      return;
    }
    const Duration limit = std::min<Duration>(kRetryMax, kRetryMin * (1 << std::min(failures_, 7)));
    ++failures_;
    if (!error.message.empty()) {
      Log(failures_ > 3 ? LogLevel::kWarning : LogLevel::kDebug, "client", "watch {}: {}",
          options_.resource.plural, error.message);
    }
    const Duration delay(
        1 + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(limit.count()))));
    RetryAfter(delay, phase);
  }

  void RetryAfter(Duration delay, Phase phase) {
    timer_ = client_.executor().PostAfter(
        delay, [this, alive = std::weak_ptr(alive_), round = round_, phase] {
          if (alive.expired() || round != round_) return;
          if (phase == Phase::kWatching) {
            StartWatchFrom(resource_version_);
          } else {
            List();
          }
        });
  }

  // Takes `incoming_` as the whole truth at `resource_version`.
  void Replace(std::string resource_version) {
    failures_ = 0;
    resource_version_ = std::move(resource_version);
    std::vector<std::string> gone;
    for (const auto& [key, object] : objects_) {
      if (!incoming_.contains(key)) gone.push_back(key);
    }
    std::ranges::sort(gone);
    for (const std::string& key : gone) Remove(key, {});
    // Listeners hear of objects in the order of their last change, which for new ones is that of
    // their creation, whatever order the map has.
    std::vector<std::pair<Version, std::string>> order;
    order.reserve(incoming_.size());
    for (const auto& [key, object] : incoming_) order.emplace_back(VersionOf(object), key);
    std::ranges::sort(order);
    auto incoming = std::move(incoming_);
    incoming_ = {};
    for (const auto& [version, key] : order) Put(key, std::move(incoming.find(key)->second));
    if (!synced_) {
      synced_ = true;
      if (on_synced_) std::exchange(on_synced_, nullptr)();
    }
  }

  void ApplyEvent(WatchEvent event) {
    failures_ = 0;
    if (const auto version = ResourceVersionOf(event.object); !version.empty()) {
      resource_version_ = version;
    }
    // Before the object is moved from: the order in which arguments are made is not defined.
    const std::string key = KeyOf(event.object);
    switch (event.type) {
      case WatchEvent::Type::kBookmark:
        return;
      case WatchEvent::Type::kDeleted:
        Remove(key, std::move(event.object));
        return;
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified:
        Put(key, std::move(event.object));
        return;
    }
  }

  void Put(const std::string& key, json::Value object) {
    const auto [entry, added] = objects_.try_emplace(key);
    if (!added) {
      if (ResourceVersionOf(entry->second) == ResourceVersionOf(object)) return;
      if (UidOf(entry->second) != UidOf(object)) {
        // Another object of the same name: its predecessor's end was missed.
        const json::Value old = std::exchange(entry->second, json::Value());
        objects_.erase(entry);
        Tell({.type = Change::Type::kDeleted, .old_object = old, .object = old});
        Put(key, std::move(object));
        return;
      }
    }
    Change change{.type = added ? Change::Type::kAdded : Change::Type::kUpdated,
                  .old_object = std::move(entry->second),
                  .object = object};
    entry->second = std::move(object);
    Tell(change);
  }

  // `last` is the state the server deleted; null when only the absence is known.
  void Remove(const std::string& key, json::Value last) {
    const auto entry = objects_.find(key);
    if (entry == objects_.end()) return;
    json::Value old = std::move(entry->second);
    objects_.erase(entry);
    if (last.IsNull()) last = old;
    Tell({.type = Change::Type::kDeleted, .old_object = std::move(old), .object = std::move(last)});
  }

  void Tell(const Change& change) {
    for (const Listener& listener : listeners_) listener(change);
  }

  Client& client_;
  const Options options_;
  Random random_;
  std::vector<Listener> listeners_;
  std::function<void()> on_synced_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  Phase phase_ = Phase::kIdle;
  bool watch_list_ = true;  // until a server refuses it
  std::uint64_t round_ = 0;
  int failures_ = 0;
  TimerId timer_ = 0;
  Duration watch_began_{};
  std::unordered_map<std::string, json::Value> incoming_;
  std::vector<std::unique_ptr<Watch>> closed_;
  std::unique_ptr<Watch> watch_;  // last: nothing is called once the rest is gone
};

Informer::Informer(Client& client, Options options)
    : impl_(std::make_unique<Impl>(client, std::move(options))) {}
Informer::~Informer() = default;

void Informer::Listen(Listener listener) { impl_->Listen(std::move(listener)); }
void Informer::Start(std::function<void()> on_synced) { impl_->Start(std::move(on_synced)); }
bool Informer::synced() const { return impl_->synced_; }

const json::Value* Informer::Get(std::string_view key) const {
  const auto found = impl_->objects_.find(std::string(key));
  return found == impl_->objects_.end() ? nullptr : &found->second;
}

const json::Value* Informer::Get(std::string_view ns, std::string_view name) const {
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) {
    key += ns;
    key += '/';
  }
  key += name;
  return Get(key);
}

const std::unordered_map<std::string, json::Value>& Informer::objects() const {
  return impl_->objects_;
}
const std::string& Informer::resource_version() const { return impl_->resource_version_; }

}  // namespace drachma::client
