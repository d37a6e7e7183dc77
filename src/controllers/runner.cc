#include "controllers/runner.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/random_names.h"
#include "client/objects.h"

namespace drachma::controllers {

using client::Request;
using client::Verb;
using json::Value;

// The actions of one Sync under way.
struct Runner::Batch {
  std::string key;
  std::vector<Action> actions;
  std::optional<Duration> again;
  std::optional<Error> error;
  std::size_t next = 0;     // the first action that was not sent
  std::size_t size = 1;     // of the batch that is sent next
  std::size_t waiting = 0;  // answers and confirmations of the current batch
  client::WorkQueue::Done done;
};

namespace {

// Other writers and deletions in between are everyday: the next look settles it.
bool IsEveryday(const Error& error) {
  return error.code == Code::kConflict || error.code == Code::kNotFound ||
         error.code == Code::kAlreadyExists;
}

Status DefaultSettle(const Request& request, const Result<Value>& answer) {
  if (answer) return {};
  const bool gone = answer.error().code == Code::kNotFound && request.verb == Verb::kDelete;
  if (gone) return {};
  return std::unexpected(answer.error());
}

}  // namespace

Runner::Runner(const ControllerEntry& entry, Host& host, client::Client& client)
    : name_(entry.name),
      host_(host),
      client_(client),
      recorder_(client, std::string(entry.component)),
      controller_(entry.make(host)) {
  queue_ = std::make_unique<client::WorkQueue>(
      client.executor(), client::WorkQueue::Options{.concurrency = entry.concurrency},
      [this](const std::string& key, client::WorkQueue::Done done) {
        Handle(key, std::move(done));
      });
  controller_->Connect(
      [this](std::string key, Duration delay) {
        if (started_) {
          queue_->AddAfter(std::move(key), delay);
        } else {
          early_.emplace_back(std::move(key), delay);
        }
      },
      [this](const EventToRecord& event) { Record(event); });
}

void Runner::Start() {
  started_ = true;
  for (auto& [key, delay] : std::exchange(early_, {})) queue_->AddAfter(std::move(key), delay);
}

bool Runner::AtRest() const {
  return started_ && handling_ == 0 && queue_->depth() == 0 && recorder_.idle();
}

void Runner::Record(const EventToRecord& event) {
  recorder_.Record(event.object, event.type, event.reason, event.message);
}

void Runner::Handle(const std::string& key, client::WorkQueue::Done done) {
  ++handling_;
  Work work = controller_->Sync(key);
  for (const EventToRecord& event : work.events) Record(event);
  auto batch = std::make_shared<Batch>(Batch{.key = key,
                                             .actions = std::move(work.actions),
                                             .again = work.again,
                                             .error = std::move(work.error),
                                             .done = std::move(done)});
  RunNext(batch);
}

void Runner::RunNext(const std::shared_ptr<Batch>& batch) {
  if (batch->next == batch->actions.size() || batch->error) {
    Finish(batch);
    return;
  }
  const std::size_t first = batch->next;
  batch->next = std::min(batch->actions.size(), first + batch->size);
  batch->size *= 2;
  batch->waiting = batch->next - first;
  // Answers may come at once and start the next batch: the bounds are read before.
  for (std::size_t index = first, end = batch->next; index < end; ++index) Call(batch, index);
}

void Runner::Call(const std::shared_ptr<Batch>& batch, std::size_t index) {
  Request request = batch->actions[index].request;
  client_.Call(request,
               [this, alive = std::weak_ptr(alive_), batch, index, request](Result<Value> answer) {
                 if (!alive.expired()) OnAnswer(batch, index, request, std::move(answer));
               });
}

void Runner::OnAnswer(const std::shared_ptr<Batch>& batch, std::size_t index,
                      const Request& request, Result<Value> answer) {
  Action& action = batch->actions[index];
  const Status settled = action.settle ? std::exchange(action.settle, nullptr)(answer)
                                       : DefaultSettle(request, answer);
  if (!settled && !batch->error) batch->error = settled.error();
  if (!settled || !answer) {
    OneLess(batch);
    return;
  }
  if (action.then) {
    if (std::optional<Request> second = std::exchange(action.then, nullptr)(*answer)) {
      if (second->as == nullptr) second->as = request.as;
      action.request = std::move(*second);
      Call(batch, index);
      return;
    }
  }
  AwaitSeen(batch, request, *answer);
}

// Waits until the cache of the written resource holds the write.
void Runner::AwaitSeen(const std::shared_ptr<Batch>& batch, const Request& request,
                       const Value& answer) {
  Cache* cache = host_.caches.Find(request.resource);
  const bool reads = request.verb == Verb::kGet || request.verb == Verb::kList ||
                     request.verb == Verb::kDeleteCollection;
  if (cache == nullptr || reads || request.dry_run) {
    OneLess(batch);
    return;
  }
  struct Once {
    bool seen = false;
    TimerId timer = 0;
  };
  auto once = std::make_shared<Once>();
  auto seen = [this, alive = std::weak_ptr(alive_), batch, once] {
    if (alive.expired() || std::exchange(once->seen, true)) return;
    client_.executor().Cancel(once->timer);
    OneLess(batch);
  };
  const std::int64_t revision = RevisionOf(answer);
  if (request.verb == Verb::kDelete) {
    const std::string key = request.ns.empty() ? request.name : request.ns + "/" + request.name;
    std::string uid(request.body["preconditions"]["uid"].AsString());
    cache->WhenDeleted(key, uid, seen);
  } else {
    cache->WhenReached(revision, seen);
  }
  if (!once->seen) once->timer = client_.executor().PostAfter(kSeenTimeout, seen);
}

void Runner::OneLess(const std::shared_ptr<Batch>& batch) {
  if (--batch->waiting == 0) RunNext(batch);
}

void Runner::LogOutcome(const Batch& batch) {
  if (!batch.error) {
    logged_.erase(batch.key);
    return;
  }
  if (IsEveryday(*batch.error)) return;
  // Each try invents a new name for what it wants to make.
  std::string text = WithoutRandomEndings(batch.error->message);
  std::string& last = logged_[batch.key];
  if (text == last) return;
  last = std::move(text);
  Log(LogLevel::kWarning, "controllers", "{}: {}: {}", name_, batch.key, batch.error->message);
}

void Runner::Finish(const std::shared_ptr<Batch>& batch) {
  --handling_;
  LogOutcome(*batch);
  if (batch->again) queue_->AddAfter(batch->key, *batch->again);
  batch->done(batch->error ? client::WorkQueue::Outcome::kRetry
                           : client::WorkQueue::Outcome::kDone);
}

}  // namespace drachma::controllers
