#include "store/history.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/scope.h"

namespace drachma::store {

EventPtr History::PopOldest() {
  EventPtr oldest = std::move(events_.front());
  events_.pop_front();
  bytes_ -= oldest->bytes;
  forgotten_ = oldest->revision();
  return oldest;
}

std::vector<EventPtr> History::Append(EventPtr event) {
  DRA_CHECK(event->revision() > last_);
  last_ = event->revision();
  bytes_ += event->bytes;
  events_.push_back(std::move(event));
  std::vector<EventPtr> dropped;
  while (events_.size() > 1 && (events_.size() > events_max_ || bytes_ > bytes_max_)) {
    dropped.push_back(PopOldest());
  }
  return dropped;
}

std::vector<EventPtr> History::Forget(Revision revision) {
  std::vector<EventPtr> dropped;
  while (!events_.empty() && events_.front()->revision() <= revision) {
    dropped.push_back(PopOldest());
  }
  forgotten_ = std::max(forgotten_, std::min(revision, last_));
  return dropped;
}

std::expected<std::vector<EventPtr>, HistoryGap> History::Since(Revision revision,
                                                                std::string_view scope) const {
  if (revision > last_) return std::unexpected(HistoryGap::kInTheFuture);
  if (revision < forgotten_) return std::unexpected(HistoryGap::kCompacted);
  const auto first = std::ranges::upper_bound(events_, revision, {}, &Event::revision);
  std::vector<EventPtr> events;
  std::copy_if(first, events_.end(), std::back_inserter(events),
               [scope](const EventPtr& event) { return InScope(scope, event->key()); });
  return events;
}

}  // namespace drachma::store
