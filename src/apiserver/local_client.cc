#include "apiserver/local_client.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "apiserver/impersonation.h"
#include "apiserver/objects.h"
#include "apiserver/watch.h"

namespace drachma::apiserver {
namespace {

// Makes the user of a request the one whom its client acts as.
Status ActAs(const Core& core, ApiRequest& request) {
  if (request.call.as == nullptr) return {};
  const client::Identity& as = *request.call.as;
  DRA_ASSIGN(request.user,
             Impersonate(core, request.user,
                         {.name = as.user, .uid = {}, .groups = as.groups, .extra = as.extra},
                         Core::AttributesOf(request)));
  return {};
}

// The way back to a client's executor. The server outlives its clients: once one has let go,
// nothing is posted to it, for its executor may be gone.
class ClientLink {
 public:
  explicit ClientLink(Executor& executor) : executor_(&executor) {}

  // From any thread.
  void Post(Task task) {
    const std::lock_guard lock(mutex_);
    if (executor_ != nullptr) executor_->Post(std::move(task));
  }
  // On the client's executor, the only one that changes it.
  void LetGo() {
    const std::lock_guard lock(mutex_);
    executor_ = nullptr;
  }
  // On the client's executor.
  [[nodiscard]] bool held() const { return executor_ != nullptr; }

 private:
  std::mutex mutex_;
  Executor* executor_;
};

// A watch in process. The session lives on the server's executor, the handler is called on the
// client's; between them stands a bounded queue.
class LocalWatchState final : public WatchSink,
                              public std::enable_shared_from_this<LocalWatchState> {
 public:
  LocalWatchState(Core& core, Executor& client, client::WatchHandler& handler)
      : core_(core), link_(client), handler_(&handler) {}

  // --- On the server's executor.

  void Start(ApiRequest request) {
    if (Status acting = ActAs(core_, request); !acting) return OnEnd(acting.error());
    if (Status allowed = core_.Authorize(Core::AttributesOf(request)); !allowed) {
      return OnEnd(allowed.error());
    }
    Result<KindPtr> kind = core_.KindOf(request.resource());
    if (!kind) return OnEnd(kind.error());
    kind_ = *kind;
    api_version_ = kind_->ApiVersion(request.resource().version);
    Result<std::shared_ptr<WatchSession>> session = WatchSession::Start(
        core_, request.call, *kind_, std::chrono::seconds(request.call.timeout_seconds), *this);
    if (!session) return OnEnd(session.error());
    session_ = std::move(*session);
    if (stopped_) Stop();
  }

  void Stop() {
    stopped_ = true;
    if (session_ != nullptr) session_->Stop();
    session_.reset();
  }

  void Resume() {
    if (session_ != nullptr) session_->Resume();
  }

  Flow OnEvent(Type type, const store::RecordPtr& record, const json::Value* object) override {
    using EventType = client::WatchEvent::Type;
    constexpr EventType kTypes[] = {EventType::kAdded, EventType::kModified, EventType::kDeleted};
    Result<json::Value> converted =
        kind_->Convert(object != nullptr ? *object : record->Object(), api_version_);
    if (!converted) return Flow::kMore;
    return Push({.type = kTypes[static_cast<std::size_t>(type)], .object = std::move(*converted)});
  }

  Flow OnBookmark(store::Revision revision, Bookmark bookmark) override {
    return Push(
        {.type = client::WatchEvent::Type::kBookmark,
         .object = BookmarkOf(kind_->info().kind, api_version_, revision,
                              bookmark == Bookmark::kInitialEventsEnd ? InitialEventsEnd::kYes
                                                                      : InitialEventsEnd::kNo)});
  }

  void OnEnd(const std::optional<Error>& error) override {
    {
      const std::lock_guard lock(mutex_);
      end_ = error.value_or(Error{.code = Code::kTimeout});
    }
    Wake();
  }

  // --- On the client's executor.

  void Detach() {
    handler_ = nullptr;
    link_.LetGo();
  }

  void Drain() {
    std::deque<client::WatchEvent> events;
    std::optional<Error> end;
    bool resume = false;
    {
      const std::lock_guard lock(mutex_);
      scheduled_ = false;
      events.swap(queue_);
      end = end_;
      resume = waiting_;
      waiting_ = false;
    }
    const auto self = shared_from_this();  // the handler may end the watch
    for (client::WatchEvent& event : events) {
      if (handler_ == nullptr) return;
      handler_->OnEvent(std::move(event));
    }
    if (handler_ == nullptr) return;
    if (end) {
      std::exchange(handler_, nullptr)->OnClosed(std::move(*end));
    } else if (resume) {
      core_.executor().Post([self] { self->Resume(); });
    }
  }

  Executor& server() { return core_.executor(); }

 private:
  Flow Push(client::WatchEvent event) {
    Flow flow = Flow::kMore;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(event));
      if (queue_.size() >= kLocalWatchQueueMax) {
        waiting_ = true;
        flow = Flow::kWait;
      }
    }
    Wake();
    return flow;
  }

  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(scheduled_, true)) return;
    }
    link_.Post([self = shared_from_this()] { self->Drain(); });
  }

  Core& core_;
  ClientLink link_;
  client::WatchHandler* handler_;  // null once the client has let go

  KindPtr kind_;
  std::string api_version_;
  std::shared_ptr<WatchSession> session_;
  bool stopped_ = false;

  std::mutex mutex_;
  std::deque<client::WatchEvent> queue_;
  std::optional<Error> end_;
  bool scheduled_ = false;
  bool waiting_ = false;
};

class LocalWatch final : public client::Watch {
 public:
  explicit LocalWatch(std::shared_ptr<LocalWatchState> state) : state_(std::move(state)) {}
  ~LocalWatch() override {
    state_->Detach();
    Executor& server = state_->server();
    server.Post([state = std::move(state_)] { state->Stop(); });
  }

 private:
  std::shared_ptr<LocalWatchState> state_;
};

class LocalClient final : public client::Client {
 public:
  LocalClient(Core& core, User user, Executor& executor, std::string user_agent)
      : core_(core),
        user_(std::move(user)),
        executor_(executor),
        user_agent_(std::move(user_agent)),
        link_(std::make_shared<ClientLink>(executor)) {}
  ~LocalClient() override { link_->LetGo(); }

  void Call(client::Request request, client::Callback done) override {
    core_.executor().Post([&core = core_, api = Wrap(std::move(request)), link = link_,
                           done = std::move(done)]() mutable {
      auto answer = [link = std::move(link),
                     done = std::move(done)](Result<Answer> answer) mutable {
        Result<json::Value> object =
            answer ? ObjectOf(*answer) : std::unexpected(std::move(answer.error()));
        link->Post([link, done = std::move(done), object = std::move(object)]() mutable {
          if (link->held()) done(std::move(object));
        });
      };
      if (Status acting = ActAs(core, api); !acting) {
        return answer(std::unexpected(std::move(acting.error())));
      }
      core.Handle(std::move(api), std::move(answer));
    });
  }

  std::unique_ptr<client::Watch> StartWatch(client::Request request,
                                            client::WatchHandler& handler) override {
    request.verb = client::Verb::kWatch;
    auto state = std::make_shared<LocalWatchState>(core_, executor_, handler);
    core_.executor().Post(
        [state, api = Wrap(std::move(request))]() mutable { state->Start(std::move(api)); });
    return std::make_unique<LocalWatch>(std::move(state));
  }

  Executor& executor() override { return executor_; }

 private:
  ApiRequest Wrap(client::Request request) const {
    return {.user = user_,
            .user_agent = user_agent_,
            .call = std::move(request),
            .track_creates = TrackCreates::kNo};
  }

  Core& core_;
  const User user_;
  Executor& executor_;
  const std::string user_agent_;
  const std::shared_ptr<ClientLink> link_;
};

class LocalClientFactory final : public client::ClientFactory {
 public:
  LocalClientFactory(Core& core, User user) : core_(core), user_(std::move(user)) {}

  std::unique_ptr<client::Client> NewClient(Executor& executor, std::string user_agent) override {
    return std::make_unique<LocalClient>(core_, user_, executor, std::move(user_agent));
  }

 private:
  Core& core_;
  const User user_;
};

}  // namespace

std::unique_ptr<client::ClientFactory> MakeLocalClientFactory(Core& core, User user) {
  return std::make_unique<LocalClientFactory>(core, std::move(user));
}

}  // namespace drachma::apiserver
