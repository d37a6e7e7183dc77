#include "store/engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "store/scope.h"

namespace drachma::store {
namespace {

// What an event takes beside its object, about.
constexpr std::size_t kEventOverheadBytes = 256;

EventPtr MakeEvent(std::string key, std::optional<json::Value> object, const RecordPtr& head,
                   Revision revision, std::size_t object_bytes,
                   void (*stamp)(json::Value&, Revision)) {
  auto event = std::make_shared<Event>();
  event->type = !object           ? EventType::kDeleted
                : head == nullptr ? EventType::kCreated
                                  : EventType::kModified;
  event->previous = head;
  event->bytes = object_bytes + key.size() + kEventOverheadBytes;
  if (object) {
    stamp(*object, revision);
    event->record = Record::OfObject(std::move(key), head != nullptr ? head->created : revision,
                                     revision, std::move(*object));
  } else {
    event->record = Record::OfDeletion(head, revision, stamp);
  }
  return event;
}

}  // namespace

Engine::Engine(const StoreOptions& options, Contents contents)
    : options_(options),
      next_(contents.history.last() + 1),
      table_(std::move(contents.table)),
      current_(contents.history.last()),
      hub_(std::move(contents.history)) {}

void Engine::Put(std::string key, json::Value object, Revision expected, Done done) {
  Submit(std::move(key), std::move(object), expected, std::move(done));
}

void Engine::Delete(std::string key, Revision expected, Done done) {
  Submit(std::move(key), std::nullopt, expected, std::move(done));
}

void Engine::Submit(std::string key, std::optional<json::Value> object, Revision expected,
                    Done done) {
  const std::size_t bytes = object ? object->HeapBytes() : 0;
  {
    const std::lock_guard lock(head_mutex_);
    const RecordPtr head = HeadLocked(key);
    Write write{.rejection = Check(key, head, !object, expected), .done = std::move(done)};
    if (!write.rejection) {
      write.event =
          MakeEvent(std::move(key), std::move(object), head, next_++, bytes, options_.stamp);
      bytes_under_way_ += write.event->bytes;
      if (const auto found = head_.find(write.event); found != head_.end()) head_.erase(found);
      head_.insert(write.event);
    }
    ++under_way_;
    queue_.push_back(std::move(write));
  }
  Wake();
}

std::optional<Error> Engine::Check(std::string_view key, const RecordPtr& head, bool is_delete,
                                   Revision expected) const {
  const auto error = [&](Code code, std::string message) {
    return Error{.code = code, .message = std::move(message)};
  };
  if (closed_) return error(Code::kUnavailable, "the store is closing");
  if (key.empty() || key.size() > kKeyBytesMax || IsPrefix(key)) {
    return error(Code::kBadRequest, "a key has 1 to " + std::to_string(kKeyBytesMax) +
                                        " bytes and does not end in '/'");
  }
  if (under_way_ >= kPendingWritesMax || bytes_under_way_ >= kPendingBytesMax) {
    Error too_many = error(Code::kTooManyRequests, "too many writes wait for the disk");
    too_many.retry_after_seconds = 1;
    return too_many;
  }
  if (head == nullptr) {
    if (expected > 0 || is_delete) {
      return error(Code::kNotFound, "\"" + std::string(key) + "\" not found");
    }
    return std::nullopt;
  }
  if (expected == kMustNotExist) {
    return error(Code::kAlreadyExists, "\"" + std::string(key) + "\" already exists");
  }
  if (expected != kAnyRevision && expected != head->revision) {
    return error(Code::kConflict, "\"" + std::string(key) + "\" is at revision " +
                                      std::to_string(head->revision) + ", not " +
                                      std::to_string(expected));
  }
  return std::nullopt;
}

RecordPtr Engine::HeadLocked(std::string_view key) const {
  if (const auto found = head_.find(key); found != head_.end()) {
    return (*found)->type == EventType::kDeleted ? nullptr : (*found)->record;
  }
  return Get(key);
}

RecordPtr Engine::Get(std::string_view key) const {
  const std::shared_lock lock(table_mutex_);
  return table_.Find(key);
}

RecordPtr Engine::Head(std::string_view key) const {
  const std::lock_guard lock(head_mutex_);
  return HeadLocked(key);
}

Result<Page> Engine::List(std::string_view scope, const ListOptions& options) const {
  if (options.at != 0) return ListPast(scope, options);
  const std::shared_lock lock(table_mutex_);
  Page page = table_.List(scope, options.after_key, options.limit, options.marks);
  page.revision = current_;
  return page;
}

// Takes the present and undoes what happened since.
Result<Page> Engine::ListPast(std::string_view scope, const ListOptions& options) const {
  Result<Page> result;
  hub_.Read([&](const History& history) {
    auto since = history.Since(options.at, scope);
    if (!since) {
      result = std::unexpected(GapError(since.error(), options.at, history));
      return;
    }
    // The state then of every key that has changed: that before the first change.
    std::map<std::string_view, RecordPtr> then;
    for (const EventPtr& event : *since) then.emplace(event->key(), event->previous);
    const std::shared_lock lock(table_mutex_);
    Page page = table_.List(scope, options.after_key, 0);
    for (RecordPtr& record : page.records) {
      const auto changed = then.find(record->key);
      if (changed == then.end()) continue;
      record = changed->second;
      then.erase(changed);
    }
    std::erase(page.records, nullptr);
    for (auto& [key, record] : then) {
      if (record != nullptr && key > options.after_key) page.records.push_back(record);
    }
    std::ranges::sort(page.records, {}, &Record::key);
    if (options.limit != 0 && page.records.size() > options.limit) {
      page.remaining = static_cast<std::int64_t>(page.records.size() - options.limit);
      page.more = true;
      page.records.resize(options.limit);
    }
    page.revision = options.at;
    result = std::move(page);
  });
  return result;
}

std::size_t Engine::Count(std::string_view scope) const {
  const std::shared_lock lock(table_mutex_);
  return table_.Count(scope);
}

Revision Engine::Current() const {
  const std::shared_lock lock(table_mutex_);
  return current_;
}

Result<std::unique_ptr<Watch>> Engine::Subscribe(std::string_view scope, Revision after,
                                                 std::move_only_function<void()> ready,
                                                 const WatchOptions& options) {
  return hub_.Subscribe(scope, after, std::move(ready), options);
}

StoreStats Engine::Stats() const {
  StoreStats stats;
  {
    const std::lock_guard lock(head_mutex_);
    stats.pending_writes = under_way_;
  }
  {
    const std::shared_lock lock(table_mutex_);
    stats.revision = current_;
    stats.keys = table_.size();
  }
  hub_.Read([&](const History& history) {
    stats.compacted = history.forgotten();
    stats.history_events = history.size();
  });
  stats.watches = hub_.watches();
  stats.commits = commits_;
  stats.failed_commits = failed_commits_;
  return stats;
}

void Engine::Compact(Revision revision) { Forgotten(hub_.Forget(revision)); }

void Engine::Close() {
  const std::lock_guard lock(head_mutex_);
  closed_ = true;
}

bool Engine::HasQueued() const {
  const std::lock_guard lock(head_mutex_);
  return !queue_.empty();
}

bool Engine::CommitQueued() {
  std::vector<Write> batch;
  {
    const std::lock_guard lock(head_mutex_);
    batch = std::exchange(queue_, {});
  }
  if (batch.empty()) return false;
  std::vector<EventPtr> events;
  events.reserve(batch.size());
  for (const Write& write : batch) {
    if (write.event != nullptr) events.push_back(write.event);
  }
  const Status appended = events.empty() ? Status() : Append(events);
  if (appended) {
    Publish(batch, events);
  } else {
    ++failed_commits_;
    GiveUp(batch, appended.error());
  }
  return true;
}

void Engine::Publish(std::vector<Write>& batch, const std::vector<EventPtr>& events) {
  if (!events.empty()) {
    ++commits_;
    std::vector<EventPtr> dropped;
    hub_.Publish(
        events,
        [&] {
          const std::unique_lock lock(table_mutex_);
          for (const EventPtr& event : events) table_.Apply(*event);
          current_ = events.back()->revision();
        },
        dropped);
    if (!dropped.empty()) Forgotten(dropped);
  }
  {
    // After the table shows them: a writer that does not find a key here looks there.
    const std::lock_guard lock(head_mutex_);
    for (const EventPtr& event : events) {
      bytes_under_way_ -= event->bytes;
      const auto found = head_.find(event);
      if (found != head_.end() && *found == event) head_.erase(found);
    }
    under_way_ -= batch.size();
  }
  for (Write& write : batch) {
    if (write.rejection) {
      write.done(std::unexpected(std::move(*write.rejection)));
    } else {
      write.done(write.event->record);
    }
  }
}

void Engine::GiveUp(std::vector<Write>& batch, const Error& error) {
  {
    // What was queued meanwhile builds on what has failed.
    const std::lock_guard lock(head_mutex_);
    std::ranges::move(queue_, std::back_inserter(batch));
    queue_.clear();
    head_.clear();
    under_way_ = 0;
    bytes_under_way_ = 0;
  }
  for (Write& write : batch) write.done(std::unexpected(error));
}

}  // namespace drachma::store
