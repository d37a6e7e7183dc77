#include "apiserver/event_expiry.h"

#include <algorithm>

namespace drachma::apiserver {
namespace {

Time LastSeen(const json::Value& event) {
  Time latest = Time::min();
  for (const json::Value* value : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                                   &event["eventTime"], &event["metadata"]["creationTimestamp"]}) {
    if (const Result<Time> time = ParseTime(value->AsString())) latest = std::max(latest, *time);
  }
  return latest;
}

}  // namespace

std::size_t ExpireEvents(store::Store& store, Time now) {
  const Result<store::Page> page = store.List("/registry/events/");
  if (!page) return 0;
  std::size_t due = 0;
  for (const store::RecordPtr& record : page->records) {
    const Time seen = LastSeen(record->Object());
    if (seen == Time::min() || now - seen <= kEventTtl) continue;
    ++due;
    store.Delete(record->key, record->revision, [](const Result<store::RecordPtr>&) {});
  }
  return due;
}

}  // namespace drachma::apiserver
