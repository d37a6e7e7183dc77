#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <string_view>
#include <vector>

#include "store/record.h"

namespace drachma::store {

// Why a watch cannot start at a revision. An API server answers both with 410 Expired
// or 504, so that clients list again (apimachinery's ResourceExpired, TooLargeResourceVersion).
enum class HistoryGap { kCompacted, kInTheFuture };

// The most recent events, so that a watch may start a little in the past.
//
// Watchers that fall behind by more than the history holds must list again; bounding it here, by
// number and by bytes, is what bounds the memory of a store under a stalled client. Not
// thread-safe: the engine guards it.
class History {
 public:
  // Nothing before `start` is known. REQUIRES: events_max > 0.
  History(Revision start, std::size_t events_max, std::size_t bytes_max)
      : events_max_(events_max), bytes_max_(bytes_max), forgotten_(start), last_(start) {}

  // Remembers `event` and returns the events that it pushed out, oldest first. The newest event
  // is never pushed out.
  // REQUIRES: event.revision is greater than every revision appended before.
  std::vector<EventPtr> Append(EventPtr event);
  // Forgets all events up to `revision` and returns them.
  std::vector<EventPtr> Forget(Revision revision);

  // The events of a scope after `revision`, oldest first; empty when nothing happened since.
  // ERRORS: kCompacted when an event after `revision` may have been forgotten, kInTheFuture when
  // `revision` has not been reached.
  [[nodiscard]] std::expected<std::vector<EventPtr>, HistoryGap> Since(
      Revision revision, std::string_view scope) const;

  [[nodiscard]] Revision last() const { return last_; }
  // The newest revision that is no longer held.
  [[nodiscard]] Revision forgotten() const { return forgotten_; }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  EventPtr PopOldest();

  const std::size_t events_max_;
  const std::size_t bytes_max_;
  std::deque<EventPtr> events_;
  std::size_t bytes_ = 0;
  Revision forgotten_;
  Revision last_;
};

}  // namespace drachma::store
