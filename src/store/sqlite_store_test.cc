// What only the store on disk does. The fault tests are in tests/store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "store/sqlite_log.h"
#include "store/store.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::unique_ptr<Store>> TryOpen(const TestFolder& folder, std::size_t history = 100) {
  SqliteOptions options;
  options.folder = folder.path() + "/data";
  options.history_events_max = history;
  return OpenSqliteStore(options);
}

std::unique_ptr<Store> Open(const TestFolder& folder, std::size_t history = 100) {
  auto opened = TryOpen(folder, history);
  EXPECT_TRUE(opened) << opened.error().message;
  return *std::move(opened);
}

Result<RecordPtr> Put(Store& store, const std::string& key, std::string_view text,
                      Revision expected = kAnyRevision) {
  std::promise<Result<RecordPtr>> answer;
  store.Put(key, json::Value::Object({{"data", text}}), expected,
            [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}
Result<RecordPtr> Delete(Store& store, const std::string& key) {
  std::promise<Result<RecordPtr>> answer;
  store.Delete(key, kAnyRevision,
               [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

// Runs SQL on the database of a store that is closed.
void Execute(const TestFolder& folder, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder.path() + "/data/store.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::int64_t Query(const TestFolder& folder, const std::string& sql) {
  auto database = Database::Open(folder.path() + "/data/store.db", "").value();
  return database.Query(sql.c_str()).value();
}

TEST(SqliteStore, KeepsStateAndRevisionOverARestart) {
  const TestFolder folder;
  {
    const auto store = Open(folder);
    (void)Put(*store, "/a/x", "1");
    (void)Put(*store, "/a/x", "2");
    (void)Put(*store, "/a/y", "3");
    (void)Delete(*store, "/a/y");
  }
  const auto store = Open(folder);
  EXPECT_EQ(store->Current(), 5);
  const RecordPtr record = store->Get("/a/x");
  EXPECT_EQ(record->created, 2);
  EXPECT_EQ(record->revision, 3);
  EXPECT_EQ(*record->Json(), R"({"data":"2","metadata":{"resourceVersion":"3"}})");
  EXPECT_EQ(store->Get("/a/y"), nullptr);
  EXPECT_EQ(Put(*store, "/a/z", "4").value()->revision, 6);
}

TEST(SqliteStore, AWatchResumesOverARestartWithoutAGap) {
  const TestFolder folder;
  {
    const auto store = Open(folder);
    (void)Put(*store, "/a/x", "1");
    (void)Put(*store, "/a/x", "2");
    (void)Delete(*store, "/a/x");
    (void)Put(*store, "/a/x", "3");
  }
  const auto store = Open(folder);
  const auto watch = store->Subscribe("/a/", 2, [] {}).value();
  const WatchBatch batch = watch->Take().value();
  ASSERT_EQ(batch.events.size(), 3u);
  EXPECT_EQ(batch.events[0]->type, EventType::kModified);
  EXPECT_EQ(batch.events[0]->previous->Object()["data"].AsString(), "1");
  EXPECT_EQ(batch.events[1]->type, EventType::kDeleted);
  EXPECT_EQ(*batch.events[1]->record->Json(), R"({"data":"2","metadata":{"resourceVersion":"4"}})");
  EXPECT_EQ(batch.events[2]->type, EventType::kCreated);
  EXPECT_EQ(batch.events[2]->previous, nullptr);
}

TEST(SqliteStore, OnceClosedTheDatabaseAndItsLogHoldAllEach) {
  const TestFolder folder;
  {
    const auto store = Open(folder);
    (void)Put(*store, "/a/x", "1");
  }
  const std::string log = folder.path() + "/data/store.db-wal";
  // Closed SQLite's way, which waits for the disk, it would be gone.
  EXPECT_GT(std::filesystem::file_size(log), 0U);
  std::filesystem::remove(log);
  EXPECT_NE(Open(folder)->Get("/a/x"), nullptr);
}

TEST(SqliteStore, RowsThatNobodyCanAskForAreRemoved) {
  const TestFolder folder;
  constexpr int kWrites = 10'000;
  {
    const auto store = Open(folder, /*history=*/10);
    for (int i = 0; i < kWrites; ++i) {
      store->Put("/a/" + std::to_string(i % 7), json::Value::Object({{"n", i}}), kAnyRevision,
                 [](Result<RecordPtr>) {});
    }
    store->Delete("/a/0", kAnyRevision, [](Result<RecordPtr>) {});
    store->Flush();
  }
  EXPECT_LT(Query(folder, "SELECT count(*) FROM log"), 4096 + 100);
  const auto store = Open(folder, /*history=*/10);
  EXPECT_EQ(store->Count("/a/"), 6u);
  EXPECT_EQ(store->Get("/a/1")->Object()["n"].AsInt(), 9997 - (9997 - 1) % 7);
  EXPECT_EQ(store->Current(), kWrites + 2);
  EXPECT_FALSE(store->Subscribe("/a/", kWrites - 10, [] {}));
  const auto watch = store->Subscribe("/a/", kWrites - 8, [] {}).value();
  EXPECT_EQ(watch->Take()->events.size(), 10u);
}

TEST(SqliteStore, ASecondOneOnTheSameFolderIsRefused) {
  const TestFolder folder;
  const auto store = Open(folder);
  const auto second = TryOpen(folder);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_THAT(second.error().message,
              HasSubstr("is in use by process " + std::to_string(getpid())));
}

TEST(SqliteStore, ANewerSchemaIsRefused) {
  const TestFolder folder;
  Open(folder).reset();
  Execute(folder, "PRAGMA user_version=99");
  const auto store = TryOpen(folder);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kInvalid);
  EXPECT_THAT(store.error().message,
              HasSubstr("was written by a newer drachma (schema 99, this one knows up to 1)"));
}

TEST(SqliteStore, ADatabaseOfAnotherProgramIsRefused) {
  const TestFolder folder;
  Open(folder).reset();
  Execute(folder, "PRAGMA application_id=7");
  EXPECT_THAT(TryOpen(folder).error().message, HasSubstr("belongs to another program"));
}

TEST(SqliteStore, AFileThatIsNoDatabaseIsCorrupt) {
  const TestFolder folder;
  Open(folder).reset();
  std::filesystem::remove(folder.path() + "/data/store.db-wal");  // it would mend all
  std::ofstream(folder.path() + "/data/store.db") << std::string(100'000, 'x');
  const auto store = TryOpen(folder);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kInvalid);
  EXPECT_THAT(store.error().message, HasSubstr("corrupt"));
}

TEST(SqliteStore, AnObjectThatHasRottenIsNoticed) {
  const TestFolder folder;
  (void)Put(*Open(folder), "/a/x", "value");
  Execute(folder, "UPDATE log SET value=replace(value, 'value', 'other')");
  const auto store = TryOpen(folder);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("corrupt (row 2: its checksum is wrong)"));
}

TEST(SqliteStore, AFolderThatCannotBeMadeIsForbidden) {
  SqliteOptions options;
  options.folder = "/proc/1/drachma";
  const auto store = OpenSqliteStore(options);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("cannot write to the data folder"));
}

TEST(SqliteStore, WritesUnderWayAreAnsweredBeforeItCloses) {
  const TestFolder folder;
  int answered = 0;
  {
    const auto store = Open(folder);
    for (int i = 0; i < 100; ++i) {
      store->Put("/a/" + std::to_string(i), {}, kAnyRevision,
                 [&](Result<RecordPtr> result) { answered += result.has_value() ? 1 : 0; });
    }
  }
  EXPECT_EQ(answered, 100);
  EXPECT_EQ(Open(folder)->Count(""), 100u);
}

}  // namespace
}  // namespace drachma::store
