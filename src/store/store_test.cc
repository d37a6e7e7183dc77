// What every backend must do: the tests run on the memory store and on the SQLite store.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "json/json.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

using ::testing::ElementsAre;

json::Value Object(std::string_view text) {
  return json::Value::Object({{"kind", "Thing"}, {"data", text}});
}

class StoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  StoreTest() { Open({}); }

  void Open(const StoreOptions& options) {
    store_.reset();
    if (std::string_view(GetParam()) == "memory") {
      store_ = OpenMemoryStore(options);
      return;
    }
    SqliteOptions sqlite;
    static_cast<StoreOptions&>(sqlite) = options;
    sqlite.folder = folder_.path();
    auto opened = OpenSqliteStore(sqlite);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }

  Result<RecordPtr> Put(const std::string& key, std::string_view text, Revision expected) {
    std::promise<Result<RecordPtr>> answer;
    store_->Put(key, Object(text), expected,
                [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }
  Result<RecordPtr> Delete(const std::string& key, Revision expected) {
    std::promise<Result<RecordPtr>> answer;
    store_->Delete(key, expected,
                   [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }
  std::vector<std::string> Keys(std::string_view scope, const ListOptions& options = {}) {
    std::vector<std::string> keys;
    const Page page = store_->List(scope, options).value();
    for (const RecordPtr& record : page.records) {
      keys.push_back(record->key);
    }
    return keys;
  }
  std::unique_ptr<Watch> Subscribe(std::string_view scope, Revision after) {
    return store_->Subscribe(scope, after, [] {}).value();
  }

  TestFolder folder_;
  std::unique_ptr<Store> store_;
};

std::vector<std::string> Describe(const std::vector<EventPtr>& events) {
  std::vector<std::string> texts;
  for (const EventPtr& event : events) {
    static constexpr const char* kNames[] = {"created", "modified", "deleted"};
    texts.push_back(std::string(kNames[static_cast<int>(event->type)]) + " " + event->key() + " " +
                    std::string(event->record->Object()["data"].AsString()) +
                    (event->previous == nullptr
                         ? ""
                         : " was " + std::string(event->previous->Object()["data"].AsString())));
  }
  return texts;
}

INSTANTIATE_TEST_SUITE_P(Backends, StoreTest, ::testing::Values("memory", "sqlite"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(StoreTest, TheEmptyStoreStandsAtOne) { EXPECT_EQ(store_->Current(), 1); }

TEST_P(StoreTest, AWriteStampsItsRevisionIntoTheObject) {
  const RecordPtr record = Put("/a/x", "1", kMustNotExist).value();
  EXPECT_EQ(record->revision, 2);
  EXPECT_EQ(record->Object().At({"metadata", "resourceVersion"}).AsString(), "2");
  EXPECT_EQ(store_->Get("/a/x"), record);
}

TEST_P(StoreTest, AnUpdateKeepsTheRevisionOfTheCreation) {
  (void)Put("/a/x", "1", kMustNotExist);
  EXPECT_EQ(Put("/a/x", "2", 2).value()->created, 2);
}

TEST_P(StoreTest, CreatingWhatExistsIsAlreadyExists) {
  (void)Put("/a/x", "1", kMustNotExist);
  EXPECT_EQ(Put("/a/x", "2", kMustNotExist).error().code, Code::kAlreadyExists);
}

TEST_P(StoreTest, WritingOverAnotherRevisionIsAConflict) {
  (void)Put("/a/x", "1", kMustNotExist);
  (void)Put("/a/x", "2", 2);
  EXPECT_EQ(Put("/a/x", "3", 2).error().code, Code::kConflict);
  EXPECT_EQ(Delete("/a/x", 2).error().code, Code::kConflict);
  EXPECT_EQ(store_->Get("/a/x")->Object()["data"].AsString(), "2");
}

TEST_P(StoreTest, UpdatingOrDeletingWhatIsNotThereIsNotFound) {
  EXPECT_EQ(Put("/a/x", "1", 7).error().code, Code::kNotFound);
  EXPECT_EQ(Delete("/a/x", kAnyRevision).error().code, Code::kNotFound);
}

TEST_P(StoreTest, ADeletionAnswersTheLastStateWithItsOwnRevision) {
  (void)Put("/a/x", "1", kMustNotExist);
  const RecordPtr last = Delete("/a/x", 2).value();
  EXPECT_EQ(last->Object()["data"].AsString(), "1");
  EXPECT_EQ(last->Object().At({"metadata", "resourceVersion"}).AsString(), "3");
  EXPECT_EQ(store_->Get("/a/x"), nullptr);
}

TEST_P(StoreTest, KeysAreNotEmptyNorLongNorScopes) {
  EXPECT_EQ(Put("", "1", 0).error().code, Code::kBadRequest);
  EXPECT_EQ(Put("/a/", "1", 0).error().code, Code::kBadRequest);
  EXPECT_EQ(Put(std::string(kKeyBytesMax + 1, 'k'), "1", 0).error().code, Code::kBadRequest);
}

TEST_P(StoreTest, AScopeIsAFolderOrExactlyOneKey) {
  for (const char* key : {"/a/x", "/a/xy", "/ab", "/a/b/c"}) (void)Put(key, "1", kMustNotExist);
  EXPECT_THAT(Keys("/a/"), ElementsAre("/a/b/c", "/a/x", "/a/xy"));
  EXPECT_THAT(Keys("/a/x"), ElementsAre("/a/x"));
  EXPECT_THAT(Keys(""), ElementsAre("/a/b/c", "/a/x", "/a/xy", "/ab"));
  EXPECT_EQ(store_->Count("/a/"), 3u);
}

TEST_P(StoreTest, ALimitCutsTheListAndTellsWhatIsLeft) {
  for (const char* key : {"/a/1", "/a/2", "/a/3", "/b/4"}) (void)Put(key, "1", kMustNotExist);
  const Page page = store_->List("/a/", {.limit = 2}).value();
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.remaining, 1);
  EXPECT_THAT(Keys("/a/", {.after_key = page.records.back()->key, .limit = 2}),
              ElementsAre("/a/3"));
  EXPECT_FALSE(store_->List("/a/", {.limit = 3}).value().more);
}

TEST_P(StoreTest, AListLeavesOutWhatIsMarkedOtherwise) {
  for (const char* key : {"/a/1", "/a/2", "/a/3", "/a/4"}) (void)Put(key, "1", kMustNotExist);
  store_->Get("/a/1")->SetMark(0b001);
  store_->Get("/a/2")->SetMark(0b111);
  store_->Get("/a/3")->SetMark(0b011);
  EXPECT_THAT(Keys("/a/", {.marks = 0b110}), ElementsAre("/a/2", "/a/4"));
  EXPECT_THAT(Keys("/a/", {.limit = 1, .marks = 0b110}), ElementsAre("/a/2"));
}

TEST_P(StoreTest, AListOfThePastShowsWhatWasThen) {
  (void)Put("/a/1", "old", kMustNotExist);   // 2
  (void)Put("/a/2", "gone", kMustNotExist);  // 3
  (void)Put("/a/1", "new", 2);
  (void)Delete("/a/2", 3);
  (void)Put("/a/3", "new", kMustNotExist);
  const Page page = store_->List("/a/", {.at = 3}).value();
  ASSERT_EQ(page.records.size(), 2u);
  EXPECT_EQ(page.records[0]->Object()["data"].AsString(), "old");
  EXPECT_EQ(page.records[1]->Object()["data"].AsString(), "gone");
  EXPECT_EQ(page.revision, 3);
  EXPECT_THAT(Keys("/a/", {.limit = 1, .at = 3}), ElementsAre("/a/1"));
  EXPECT_THAT(Keys("/a/", {.after_key = "/a/1", .at = 3}), ElementsAre("/a/2"));
  EXPECT_EQ(store_->List("/a/", {.at = 99}).error().code, Code::kTimeout);
}

TEST_P(StoreTest, AWatchSeesTheChangesOfItsScopeInOrder) {
  (void)Put("/a/x", "1", kMustNotExist);
  const auto watch = Subscribe("/a/", 2);
  (void)Put("/a/x", "2", 2);
  (void)Put("/b/x", "9", kMustNotExist);
  (void)Delete("/a/x", 3);
  const WatchBatch batch = watch->Take().value();
  EXPECT_THAT(Describe(batch.events), ElementsAre("modified /a/x 2 was 1", "deleted /a/x 2 was 2"));
  EXPECT_EQ(batch.through, 5);
}

TEST_P(StoreTest, AWatchFromThePastBeginsWithWhatItMissed) {
  (void)Put("/a/x", "1", kMustNotExist);
  (void)Put("/a/y", "2", kMustNotExist);
  const auto watch = Subscribe("/a/", 2);
  EXPECT_THAT(Describe(watch->Take()->events), ElementsAre("created /a/y 2"));
  (void)Put("/a/z", "3", kMustNotExist);
  EXPECT_THAT(Describe(watch->Take()->events), ElementsAre("created /a/z 3"));
}

TEST_P(StoreTest, AWatchOfOneKeySeesOnlyThatKey) {
  const auto watch = Subscribe("/a/x", 1);
  (void)Put("/a/x", "1", kMustNotExist);
  (void)Put("/a/xy", "1", kMustNotExist);
  EXPECT_THAT(Describe(watch->Take()->events), ElementsAre("created /a/x 1"));
}

TEST_P(StoreTest, AWatchWithoutNewsStillTellsHowFarItHasCome) {
  const auto watch = Subscribe("/a/", 1);
  (void)Put("/b/x", "1", kMustNotExist);
  const WatchBatch batch = watch->Take().value();
  EXPECT_TRUE(batch.events.empty());
  EXPECT_EQ(batch.through, 2);
}

TEST_P(StoreTest, AWatchMayBeTakenInParts) {
  const auto watch = Subscribe("/a/", 1);
  for (const char* key : {"/a/1", "/a/2", "/a/3"}) (void)Put(key, "", kMustNotExist);
  const WatchBatch first = watch->Take(2).value();
  EXPECT_EQ(first.events.size(), 2u);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.through, 3);
  const WatchBatch second = watch->Take(2).value();
  EXPECT_EQ(second.events.size(), 1u);
  EXPECT_FALSE(second.more);
}

TEST_P(StoreTest, ReadyIsCalledOncePerTake) {
  std::atomic<int> calls = 0;
  const auto watch = store_->Subscribe("/a/", 1, [&] { ++calls; }).value();
  (void)Put("/a/1", "", kMustNotExist);
  store_->Flush();
  EXPECT_EQ(calls, 0);
  (void)watch->Take();
  (void)Put("/a/2", "", kMustNotExist);
  (void)Put("/a/3", "", kMustNotExist);
  store_->Flush();
  EXPECT_EQ(calls, 1);
}

TEST_P(StoreTest, AWatchThatLagsTooFarIsExpired) {
  const auto watch = store_->Subscribe("/a/", 1, [] {}, {.lag_events_max = 2}).value();
  for (const char* key : {"/a/1", "/a/2", "/a/3"}) (void)Put(key, "", kMustNotExist);
  EXPECT_EQ(watch->Take().error().code, Code::kExpired);
  EXPECT_EQ(watch->Take().error().code, Code::kExpired);
}

TEST_P(StoreTest, AWatchThatLaggedMayResumeFromTheHistory) {
  for (const char* key : {"/a/1", "/a/2", "/a/3"}) (void)Put(key, "", kMustNotExist);
  store_->Flush();
  const auto watch = store_->Subscribe("/a/", 1, [] {}, {.lag_events_max = 2}).value();
  EXPECT_EQ(watch->Take()->events.size(), 3u);
}

TEST_P(StoreTest, AWatchMayEndInsideItsOwnReady) {
  std::unique_ptr<Watch> watch;
  watch = store_->Subscribe("/a/", 1, [&] { watch.reset(); }).value();
  (void)watch->Take();
  (void)Put("/a/1", "", kMustNotExist);
  store_->Flush();
  EXPECT_EQ(watch, nullptr);
  EXPECT_EQ(store_->Stats().watches, 0u);
}

TEST_P(StoreTest, WatchesFromTooFarBackAreExpiredAndFromTheFutureTimeOut) {
  Open({.history_events_max = 2});
  for (const char* key : {"/a/1", "/a/2", "/a/3"}) (void)Put(key, "", kMustNotExist);
  const Result<std::unique_ptr<Watch>> old = store_->Subscribe("/a/", 1, [] {});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::kExpired);
  EXPECT_EQ(old.error().message, "too old resource version: 1 (2)");
  EXPECT_TRUE(store_->Subscribe("/a/", 2, [] {}));
  const Result<std::unique_ptr<Watch>> future = store_->Subscribe("/a/", 9, [] {});
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code, Code::kTimeout);
  EXPECT_EQ(future.error().message, "Too large resource version: 9, current: 4");
}

TEST_P(StoreTest, CompactionForgetsThePast) {
  for (const char* key : {"/a/1", "/a/2", "/a/3"}) (void)Put(key, "", kMustNotExist);
  store_->Compact(3);
  EXPECT_FALSE(store_->Subscribe("/a/", 2, [] {}));
  EXPECT_TRUE(store_->Subscribe("/a/", 3, [] {}));
  EXPECT_EQ(store_->List("", {.at = 2}).error().code, Code::kExpired);
}

TEST_P(StoreTest, AWriteMayBuildOnOneUnderWay) {
  std::promise<Result<RecordPtr>> answer;
  store_->Put("/a/x", Object("1"), kMustNotExist, [](Result<RecordPtr>) {});
  const Revision under_way = store_->Head("/a/x")->revision;
  store_->Put("/a/x", Object("2"), under_way,
              [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
  EXPECT_EQ(answer.get_future().get().value()->Object()["data"].AsString(), "2");
}

TEST_P(StoreTest, CallbacksMayWriteAgain) {
  std::promise<Revision> answer;
  store_->Put("/a/x", Object("1"), kMustNotExist, [&](Result<RecordPtr> first) {
    store_->Put("/a/x", Object("2"), first.value()->revision,
                [&](Result<RecordPtr> second) { answer.set_value(second.value()->revision); });
  });
  EXPECT_EQ(answer.get_future().get(), 3);
}

TEST_P(StoreTest, OfManyThatWriteOverOneStateOneWins) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20;
  (void)Put("/a/x", "0", kMustNotExist);
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds;) {
        const Revision seen = store_->Get("/a/x")->revision;
        if (Put("/a/x", "n", seen)) {
          ++won;
          ++round;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, kThreads * kRounds);
  EXPECT_EQ(store_->Current(), 2 + kThreads * kRounds);
}

// Readers beside writers: what a watch tells, applied to a list, is the store at any later time.
TEST_P(StoreTest, ListAndWatchUnderWritersGiveTheWholeState) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        const std::string key = "/a/" + std::to_string(random() % 20);
        if (random() % 3 == 0) {
          (void)Delete(key, kAnyRevision);
        } else {
          (void)Put(key, std::to_string(random()), kAnyRevision);
        }
      }
    });
  }
  for (int round = 0; round < 10; ++round) {
    std::map<std::string, Revision> state;
    const Page page = store_->List("/a/").value();
    for (const RecordPtr& record : page.records) state[record->key] = record->revision;
    const auto watch = store_->Subscribe("/a/", page.revision, [] {}).value();
    (void)Put("/b/mark", "", kAnyRevision);
    Revision reached = page.revision;
    const WatchBatch batch = watch->Take().value();
    for (const EventPtr& event : batch.events) {
      EXPECT_GT(event->revision(), reached);
      reached = event->revision();
      const auto before = state.find(event->key());
      EXPECT_EQ(before == state.end() ? 0 : before->second,
                event->previous == nullptr ? 0 : event->previous->revision);
      if (event->type == EventType::kDeleted) {
        state.erase(event->key());
      } else {
        state[event->key()] = event->revision();
      }
    }
    const Page then = store_->List("/a/", {.at = reached}).value();
    std::map<std::string, Revision> listed;
    for (const RecordPtr& record : then.records) listed[record->key] = record->revision;
    EXPECT_EQ(listed, state);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

// Random operations give the answers of a plain map.
TEST_P(StoreTest, BehavesAsAMapOfRevisions) {
  std::mt19937 random(7);
  std::map<std::string, Revision> model;
  Revision revision = 1;
  for (int step = 0; step < 300; ++step) {
    const std::string key = "/k/" + std::to_string(random() % 8);
    const auto found = model.find(key);
    const Revision there = found == model.end() ? 0 : found->second;
    const Revision choices[] = {kMustNotExist, kAnyRevision, there, there + 1};
    const Revision expected = choices[random() % 4];
    const bool is_delete = random() % 3 == 0;
    const Result<RecordPtr> result = is_delete ? Delete(key, expected) : Put(key, "v", expected);
    std::optional<Code> want;
    if (there == 0 && (is_delete || expected > 0)) {
      want = Code::kNotFound;
    } else if (there != 0 && expected == kMustNotExist) {
      want = Code::kAlreadyExists;
    } else if (there != 0 && expected != kAnyRevision && expected != there) {
      want = Code::kConflict;
    }
    ASSERT_EQ(result ? std::optional<Code>() : result.error().code, want) << "step " << step;
    if (want) continue;
    ASSERT_EQ((*result)->revision, ++revision);
    if (is_delete) {
      model.erase(key);
    } else {
      model[key] = revision;
    }
  }
  std::vector<std::string> keys;
  for (const auto& [key, unused] : model) keys.push_back(key);
  EXPECT_EQ(Keys("/k/"), keys);
}

TEST(Record, TheTextIsSharedWhileItIsHeld) {
  const auto store = OpenMemoryStore();
  store->Put("/a/x", Object("1"), kMustNotExist, [](Result<RecordPtr>) {});
  const RecordPtr record = store->Get("/a/x");
  const auto text = record->Json();
  EXPECT_EQ(*text, R"({"kind":"Thing","data":"1","metadata":{"resourceVersion":"2"}})");
  EXPECT_EQ(record->Json(), text);
}

}  // namespace
}  // namespace drachma::store
