#include "apiserver/event_expiry.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

void Put(store::Store& store, const char* key, const char* event) {
  store.Put(key, json::Read(event).value(), store::kMustNotExist,
            [](const Result<store::RecordPtr>&) {});
}

TEST(ExpireEvents, RemovesWhatWasLastSeenMoreThanAnHourAgo) {
  const auto store = store::OpenMemoryStore();
  Put(*store, "/registry/events/default/old", R"({"lastTimestamp":"2026-11-30T01:00:00Z"})");
  Put(*store, "/registry/events/default/new", R"({"lastTimestamp":"2026-11-30T01:00:01Z"})");
  EXPECT_EQ(ExpireEvents(*store, ParseTime("2026-11-30T02:00:01Z").value()), 1U);
  EXPECT_EQ(store->Get("/registry/events/default/old"), nullptr);
  EXPECT_NE(store->Get("/registry/events/default/new"), nullptr);
}

TEST(ExpireEvents, AnEventThatGoesOnHappeningStays) {
  const auto store = store::OpenMemoryStore();
  Put(*store, "/registry/events/default/e",
      R"({"eventTime":"2026-11-30T01:00:00.000000Z",
          "series":{"count":2,"lastObservedTime":"2026-11-30T03:00:00.000000Z"}})");
  EXPECT_EQ(ExpireEvents(*store, ParseTime("2026-11-30T03:30:00Z").value()), 0U);
}

}  // namespace
}  // namespace drachma::apiserver
