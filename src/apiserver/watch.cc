#include "apiserver/watch.h"

#include <fmt/format.h>

#include <utility>

namespace drachma::apiserver {

WatchSession::WatchSession(Core& core, Selection selection, WatchSink& sink)
    : core_(core), selection_(std::move(selection)), sink_(&sink) {
  core_.sessions().insert(this);
}

WatchSession::~WatchSession() { Stop(); }

Result<std::shared_ptr<WatchSession>> WatchSession::Start(Core& core, const client::Request& call,
                                                          const Kind& kind, Duration timeout,
                                                          WatchSink& sink) {
  DRA_TRY(CheckListOptions(call));
  DRA_ASSIGN(Selection selection, SelectionOf(kind, call));
  std::shared_ptr<WatchSession> session(new WatchSession(core, std::move(selection), sink));
  if (Status opened = session->Open(call); !opened) {
    session->Stop();
    return std::unexpected(std::move(opened.error()));
  }
  session->Begin(call.allow_watch_bookmarks, timeout);
  return session;
}

namespace {

Error TooOld(store::Revision wanted, const store::Store& store) {
  return {
      .code = Code::kExpired,
      .message = fmt::format("too old resource version: {} ({})", wanted, store.Stats().compacted)};
}

}  // namespace

// Without a version, or with 0, the present objects come first; the same when the client asks for
// the initial events whatever version it has seen.
Status WatchSession::Open(const client::Request& call) {
  store::Store& store = core_.store();
  DRA_ASSIGN(const store::Revision wanted, ParseResourceVersion(call.resource_version));
  store::Revision from = wanted;
  if (wanted > store.Current()) {
    return std::unexpected(TooLargeResourceVersion(wanted, store.Current()));
  }
  const bool initial = call.send_initial_events ? *call.send_initial_events : wanted == 0;
  if (initial) {
    DRA_ASSIGN(store::Page page, store.List(selection_.scope));
    from = page.revision;
    for (store::RecordPtr& record : page.records) {
      if (selection_.Matches(*record)) initial_.push_back(std::move(record));
    }
    initial_bookmark_ = call.send_initial_events.value_or(false) && call.allow_watch_bookmarks;
  } else if (wanted == 0) {
    from = store.Current();
  }
  through_ = from;
  auto watch = store.Subscribe(selection_.scope, from,
                               [weak = weak_from_this(), &executor = core_.executor()] {
                                 executor.Post([weak] {
                                   if (const auto session = weak.lock()) session->Pump();
                                 });
                               },
                               {.lag_events_max = core_.watch_lag_events_max()});
  if (!watch) {
    if (watch.error().code == Code::kExpired) return std::unexpected(TooOld(from, store));
    return std::unexpected(std::move(watch.error()));
  }
  watch_ = std::move(*watch);
  return {};
}

void WatchSession::Begin(bool bookmarks, Duration timeout) {
  Executor& executor = core_.executor();
  executor.Post([weak = weak_from_this()] {
    if (const auto session = weak.lock()) session->Pump();
  });
  if (timeout > Duration::zero()) {
    end_timer_ = executor.PostAfter(timeout, [weak = weak_from_this()] {
      if (const auto session = weak.lock()) session->End(std::nullopt);
    });
  }
  if (!bookmarks) return;
  const bool short_watch = timeout > Duration::zero() && timeout < kBookmarkInterval;
  ScheduleBookmark(!short_watch                   ? kBookmarkInterval
                   : timeout > kBookmarkBeforeEnd ? timeout - kBookmarkBeforeEnd
                                                  : timeout);
}

void WatchSession::ScheduleBookmark(Duration delay) {
  bookmark_timer_ = core_.executor().PostAfter(delay, [weak = weak_from_this()] {
    const auto session = weak.lock();
    if (session == nullptr || session->sink_ == nullptr) return;
    session->bookmark_due_ = true;
    session->ScheduleBookmark(kBookmarkInterval);
    session->Pump();
  });
}

bool WatchSession::Obey(WatchSink::Flow flow) {
  if (flow == WatchSink::Flow::kMore) return true;
  if (flow == WatchSink::Flow::kStop) {
    Stop();
  } else {
    waiting_ = true;
  }
  return false;
}

void WatchSession::Resume() {
  if (!waiting_) return;
  waiting_ = false;
  Pump();
}

void WatchSession::Pump() {
  const auto self = shared_from_this();  // the sink may drop the last reference
  while (sink_ != nullptr && !waiting_ && initial_sent_ < initial_.size()) {
    const store::RecordPtr& record = initial_[initial_sent_++];
    if (!Obey(sink_->OnEvent(WatchSink::Type::kAdded, record, nullptr))) return;
  }
  if (sink_ == nullptr || waiting_) return;
  initial_.clear();
  initial_sent_ = 0;
  if (initial_bookmark_) {
    initial_bookmark_ = false;
    if (!Obey(sink_->OnBookmark(through_, WatchSink::Bookmark::kInitialEventsEnd))) return;
  }
  for (;;) {
    while (batch_sent_ < batch_.events.size()) {
      if (!Deliver(*batch_.events[batch_sent_++])) return;
    }
    if (batch_.through > through_) through_ = batch_.through;
    Result<store::WatchBatch> batch = watch_->Take(kBatchMax);
    if (!batch) return End(TooOld(through_, core_.store()));
    batch_ = std::move(*batch);
    batch_sent_ = 0;
    if (!batch_.events.empty()) continue;
    if (batch_.through > through_) through_ = batch_.through;
    if (!bookmark_due_) return;
    bookmark_due_ = false;
    if (!Obey(sink_->OnBookmark(through_, WatchSink::Bookmark::kPlain))) return;
  }
}

bool WatchSession::Deliver(const store::Event& event) {
  using Type = WatchSink::Type;
  const bool deleted = event.type == store::EventType::kDeleted;
  const bool now = !deleted && selection_.Matches(*event.record);
  const bool before =
      event.type != store::EventType::kCreated &&
      (selection_.everything ||
       selection_.Matches(event.previous != nullptr ? *event.previous : *event.record));
  if (!now && !before) return true;
  if (now) {
    return Obey(sink_->OnEvent(before ? Type::kModified : Type::kAdded, event.record, nullptr));
  }
  if (deleted) return Obey(sink_->OnEvent(Type::kDeleted, event.record, nullptr));
  json::Value last = event.previous->Object();
  store::StampResourceVersion(last, event.revision());
  return Obey(sink_->OnEvent(Type::kDeleted, event.record, &last));
}

void WatchSession::Stop() {
  if (sink_ == nullptr) return;
  sink_ = nullptr;
  core_.sessions().erase(this);
  watch_.reset();
  if (end_timer_ != 0) core_.executor().Cancel(end_timer_);
  if (bookmark_timer_ != 0) core_.executor().Cancel(bookmark_timer_);
}

void WatchSession::End(const std::optional<Error>& error) {
  if (sink_ == nullptr) return;
  WatchSink* sink = sink_;
  Stop();
  sink->OnEnd(error);
}

}  // namespace drachma::apiserver
