// The store on a disk that fails: power cuts, no space, read-only, syncs that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>

#include "base/log.h"
#include "fault_vfs.h"
#include "ledger.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

using ::testing::HasSubstr;

constexpr int kKeys = 20;

// Nightly runs try twenty times as many power cuts.
int Runs(int usual) { return std::getenv("DRACHMA_NIGHTLY") != nullptr ? 20 * usual : usual; }

class FaultTest : public ::testing::Test {
 protected:
  FaultTest() { SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1)); }

  Result<std::unique_ptr<Store>> Open(FaultVfs& vfs, std::size_t history = 5000) {
    SqliteOptions options;
    options.folder = folder_.path();
    options.vfs = vfs.name();
    options.history_events_max = history;
    return OpenSqliteStore(options);
  }
  static Result<RecordPtr> Put(Store& store, const std::string& key, std::size_t bytes = 100) {
    std::promise<Result<RecordPtr>> answer;
    store.Put(key, json::Value::Object({{"data", std::string(bytes, 'x')}}), kAnyRevision,
              [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }

  TestFolder folder_;
};

// Cuts the power after transactions that SQLite was told to sync or not. Counts how often a
// transaction that it reported as done is gone.
int TransactionsLost(const char* synchronous, int runs) {
  int lost = 0;
  for (int run = 0; run < runs; ++run) {
    FaultVfs vfs("disk", run);
    const auto open = [&] {
      sqlite3* database = nullptr;
      EXPECT_EQ(
          sqlite3_open_v2("/x.db", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "disk"),
          SQLITE_OK);
      sqlite3_exec(database, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;", nullptr,
                   nullptr, nullptr);
      return database;
    };
    sqlite3* database = open();
    sqlite3_exec(database, "PRAGMA synchronous=FULL; CREATE TABLE t (n INTEGER);", nullptr, nullptr,
                 nullptr);
    const std::string mode = std::string("PRAGMA synchronous=") + synchronous;
    sqlite3_exec(database, mode.c_str(), nullptr, nullptr, nullptr);
    EXPECT_EQ(sqlite3_exec(database, "INSERT INTO t VALUES (1)", nullptr, nullptr, nullptr),
              SQLITE_OK);
    vfs.CutPowerAfter(0);
    sqlite3_close(database);
    vfs.PowerOn();
    database = open();
    sqlite3_stmt* rows = nullptr;
    sqlite3_prepare_v2(database, "SELECT n FROM t", -1, &rows, nullptr);
    lost += sqlite3_step(rows) == SQLITE_ROW ? 0 : 1;
    sqlite3_finalize(rows);
    sqlite3_close(database);
  }
  return lost;
}

// What the other tests rest upon: this disk does forget.
TEST(FaultVfs, TakesBackWhatWasNotSyncedAndNothingElse) {
  constexpr int kRuns = 50;
  EXPECT_GT(TransactionsLost("OFF", kRuns), kRuns / 4);
  EXPECT_EQ(TransactionsLost("FULL", kRuns), 0);
}

// Writes random batches until one fails; notes what was answered.
void WriteUntilFailure(Store& store, std::mt19937_64& random, Ledger& ledger, int batches_max) {
  bool failed = false;
  std::mutex mutex;
  for (int batch = 0; batch < batches_max; ++batch) {
    const int writes = 1 + static_cast<int>(random() % 20);
    for (int i = 0; i < writes; ++i) {
      const std::string key = "/k/" + std::to_string(random() % kKeys);
      const bool is_delete = random() % 5 == 0;
      auto done = [&, key, is_delete](Result<RecordPtr> result) {
        const std::lock_guard lock(mutex);
        if (result) {
          ledger.Answered(key, (*result)->revision, is_delete);
        } else if (result.error().code != Code::kNotFound) {
          failed = true;
        }
      };
      if (is_delete) {
        store.Delete(key, kAnyRevision, done);
      } else {
        store.Put(key, json::Value::Object({{"data", std::string(random() % 9000, 'x')}}),
                  kAnyRevision, done);
      }
    }
    store.Flush();
    if (failed) return;
  }
}

// Every point of a run at which the power may fail, in ever new runs.
TEST_F(FaultTest, APowerCutTakesBackNothingThatWasAnswered) {
  const int runs = Runs(500);
  int cuts = 0;
  for (int run = 0; run < runs; ++run) {
    FaultVfs vfs("fault", /*seed=*/run);
    std::mt19937_64 random(run);
    Ledger ledger;
    Revision resume = 1;
    for (int life = 0; life < 3; ++life) {
      vfs.CutPowerAfter(static_cast<std::int64_t>(random() % (life == 0 ? 300 : 100)));
      if (auto store = Open(vfs)) {
        ASSERT_EQ(ledger.FaultsOf(**store, resume), "") << "run " << run << " life " << life;
        WriteUntilFailure(**store, random, ledger, /*batches_max=*/60);
      }
      cuts += vfs.power_is_cut() ? 1 : 0;
      vfs.PowerOn();
    }
    auto store = Open(vfs);
    ASSERT_TRUE(store) << "run " << run << ": " << store.error().message;
    ASSERT_EQ(ledger.FaultsOf(**store, resume), "") << "run " << run;
    // It goes on from there.
    const auto next = Put(**store, "/k/next");
    ASSERT_TRUE(next);
    ASSERT_GT((*next)->revision, ledger.newest_revision());
  }
  EXPECT_GT(cuts, runs);
}

// A short history under a steady load has rows removed and the log copied, which a power cut may
// hit as well.
TEST_F(FaultTest, APowerCutWhileTidyingUpTakesBackNothing) {
  const int runs = Runs(6);
  for (int run = 0; run < runs; ++run) {
    FaultVfs vfs("fault", run);
    std::mt19937_64 random(run);
    Ledger ledger;
    {
      auto store = Open(vfs, /*history=*/50);
      ASSERT_TRUE(store);
      WriteUntilFailure(**store, random, ledger, /*batches_max=*/400);
      vfs.CutPowerAfter(static_cast<std::int64_t>(random() % 4000));
      WriteUntilFailure(**store, random, ledger, /*batches_max=*/1500);
    }
    vfs.PowerOn();
    auto store = Open(vfs, /*history=*/50);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_EQ(ledger.FaultsOf(**store, (*store)->Stats().compacted), "") << "run " << run;
  }
}

TEST_F(FaultTest, AFullDiskFailsWritesAndNothingElse) {
  FaultVfs vfs("fault", 1);
  auto store = Open(vfs);
  ASSERT_TRUE(store);
  ASSERT_TRUE(Put(**store, "/k/old"));
  const Revision before = (*store)->Current();
  vfs.SetCapacity(vfs.bytes_used());
  const auto full = Put(**store, "/k/new", 100'000);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kUnavailable);
  EXPECT_THAT(full.error().message, HasSubstr("the store cannot write: the disk is full"));
  EXPECT_EQ((*store)->Get("/k/new"), nullptr);
  EXPECT_NE((*store)->Get("/k/old"), nullptr);
  EXPECT_EQ((*store)->Current(), before);

  vfs.SetCapacity(INT64_MAX);
  const auto again = Put(**store, "/k/new", 100'000);
  ASSERT_TRUE(again);
  EXPECT_GT((*again)->revision, before);
  store->reset();
  store = Open(vfs);
  ASSERT_TRUE(store);
  EXPECT_NE((*store)->Get("/k/new"), nullptr);
}

TEST_F(FaultTest, ADiskThatFillsUpAgainAndAgainLosesNothing) {
  FaultVfs vfs("fault", 1);
  std::mt19937_64 random(1);
  Ledger ledger;
  auto store = Open(vfs);
  ASSERT_TRUE(store);
  for (int round = 0; round < 30; ++round) {
    vfs.SetCapacity(vfs.bytes_used() + static_cast<std::int64_t>(random() % 300'000));
    WriteUntilFailure(**store, random, ledger, 20);
    ASSERT_EQ(ledger.FaultsOf(**store, 1), "") << "round " << round;
  }
  store->reset();
  vfs.SetCapacity(INT64_MAX);
  store = Open(vfs);
  ASSERT_TRUE(store);
  EXPECT_EQ(ledger.FaultsOf(**store, 1), "");
}

TEST_F(FaultTest, AFolderThatBecomesReadOnlyFailsWritesUntilItIsWritableAgain) {
  FaultVfs vfs("fault", 1);
  auto store = Open(vfs);
  ASSERT_TRUE(store);
  ASSERT_TRUE(Put(**store, "/k/old"));
  vfs.SetReadOnly(true);
  const auto refused = Put(**store, "/k/new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("the data folder is read-only"));
  EXPECT_NE((*store)->Get("/k/old"), nullptr);
  vfs.SetReadOnly(false);
  EXPECT_TRUE(Put(**store, "/k/new"));
}

TEST_F(FaultTest, WritesThatBuildOnAFailedOneFailWithIt) {
  FaultVfs vfs("fault", 1);
  auto store = Open(vfs);
  ASSERT_TRUE(store);
  ASSERT_TRUE(Put(**store, "/k/x"));
  vfs.SetReadOnly(true);
  std::vector<Code> codes;
  for (int i = 0; i < 3; ++i) {
    (*store)->Put("/k/x", {}, (*store)->Head("/k/x")->revision, [&](Result<RecordPtr> result) {
      codes.push_back(result ? Code::kUnknown : result.error().code);
    });
  }
  (*store)->Flush();
  EXPECT_EQ(codes, std::vector<Code>(3, Code::kUnavailable));
  EXPECT_EQ((*store)->Head("/k/x"), (*store)->Get("/k/x"));
}

TEST_F(FaultTest, ASyncThatFailsIsAnErrorAndTheNextWriteGoesOn) {
  FaultVfs vfs("fault", 1);
  auto store = Open(vfs);
  ASSERT_TRUE(store);
  ASSERT_TRUE(Put(**store, "/k/x"));
  vfs.FailSyncs(1);
  EXPECT_EQ(Put(**store, "/k/y").error().code, Code::kInternal);
  EXPECT_EQ((*store)->Get("/k/y"), nullptr);
  EXPECT_TRUE(Put(**store, "/k/y"));
}

}  // namespace
}  // namespace drachma::store
