#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apiserver/core.h"
#include "apiserver/list.h"
#include "base/result.h"
#include "json/value.h"
#include "store/store.h"

namespace drachma::apiserver {

// Where the events of a watch go. All on the server's executor.
class WatchSink {
 public:
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted };
  // Whether the watch shall go on at once, wait until Resume(), or end (the peer has gone).
  enum class Flow : std::uint8_t { kMore, kWait, kStop };

  virtual ~WatchSink() = default;
  // `record` holds the object in its storage version. When `object` is not null it stands for the
  // record's (an object that left the selection shows its last state with the newer version).
  virtual Flow OnEvent(Type type, const store::RecordPtr& record, const json::Value* object) = 0;
  // Everything up to `revision` has been sent. `initial` marks the end of the initial events.
  enum class Bookmark : std::uint8_t { kPlain, kInitialEventsEnd };
  virtual Flow OnBookmark(store::Revision revision, Bookmark bookmark) = 0;
  // The last call: an error that ends the watch, or nothing when its time is over.
  virtual void OnEnd(const std::optional<Error>& error) = 0;
};

// One watch of one client: the initial events, then what the store says, filtered by the
// selectors. An object that enters the selection is an addition, one that leaves it a deletion.
class WatchSession : public std::enable_shared_from_this<WatchSession> {
 public:
  // A bookmark about this often, and this long before the watch ends by itself.
  static constexpr Duration kBookmarkInterval = std::chrono::seconds(60);
  static constexpr Duration kBookmarkBeforeEnd = std::chrono::seconds(2);
  // Events taken from the store at once.
  static constexpr std::size_t kBatchMax = 1024;

  // Starts a watch. `timeout` of zero never ends it. The sink must outlive the session, or Stop()
  // must be called before it goes.
  // ERRORS: kBadRequest, kInvalid for options; kExpired (410) when the resourceVersion was
  // forgotten, kTimeout (504) when it has not been reached.
  [[nodiscard]] static Result<std::shared_ptr<WatchSession>> Start(
      Core& core, const client::Request& call, const Kind& kind, Duration timeout, WatchSink& sink);
  ~WatchSession();

  // The sink can take more after Flow::kWait.
  void Resume();
  // Ends the watch without a further call of the sink.
  void Stop();

 private:
  WatchSession(Core& core, Selection selection, WatchSink& sink);
  Status Open(const client::Request& call);
  void Begin(bool bookmarks, Duration timeout);
  void Pump();
  bool Deliver(const store::Event& event);
  bool Obey(WatchSink::Flow flow);
  void ScheduleBookmark(Duration delay);
  void End(const std::optional<Error>& error);

  Core& core_;
  const Selection selection_;
  WatchSink* sink_;  // null once the watch is over
  std::unique_ptr<store::Watch> watch_;
  std::vector<store::RecordPtr> initial_;  // records that are still to be sent as additions
  std::size_t initial_sent_ = 0;
  bool initial_bookmark_ = false;
  store::Revision through_ = 0;
  store::WatchBatch batch_;  // what was taken and not yet sent
  std::size_t batch_sent_ = 0;
  bool waiting_ = false;  // for Resume()
  bool bookmark_due_ = false;
  TimerId bookmark_timer_ = 0;
  TimerId end_timer_ = 0;
};

}  // namespace drachma::apiserver
