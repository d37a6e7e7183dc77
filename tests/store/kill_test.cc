// kill -9 under a load of writes, again and again on one data folder: every answered write is
// there, the revision does not go back, and a watch resumes without a gap.
//
// DRACHMA_KILL_ROUNDS sets the number of rounds (50).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "ledger.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

constexpr int kRoundsDefault = 50;
constexpr int kWritersPerRound = 64;  // writes under way at any time
constexpr int kKeys = 200;
constexpr int kAliveMsMax = 120;

// An answer, as the child tells it through the pipe (less than PIPE_BUF: written whole or not).
struct Answer {
  Revision revision;
  std::int32_t key;
  std::int32_t deleted;
};

std::string KeyOf(int key) { return "/registry/things/default/" + std::to_string(key); }

SqliteOptions OptionsFor(const TestFolder& folder) {
  SqliteOptions options;
  options.folder = folder.path();
  options.history_events_max = 100'000;
  return options;
}

// The program that is killed: keeps kWritersPerRound writes under way and tells each answer.
class Child {
 public:
  Child(std::unique_ptr<Store> store, int pipe, unsigned seed)
      : store_(std::move(store)), pipe_(pipe), random_(seed) {}

  [[noreturn]] void Run() {
    for (int i = 0; i < kWritersPerRound; ++i) WriteOne();
    for (;;) pause();
  }

 private:
  // Called for the first writes by the main thread, then by the store's thread only; the store
  // does not call back before the lock is free.
  void WriteOne() {
    const std::lock_guard lock(mutex_);
    const int key = static_cast<int>(random_() % kKeys);
    const bool is_delete = random_() % 10 == 0;
    auto done = [this, key, is_delete](Result<RecordPtr> result) {
      if (result) {
        const Answer answer{(*result)->revision, key, is_delete ? 1 : 0};
        if (write(pipe_, &answer, sizeof(answer)) != sizeof(answer)) _exit(1);
      }
      WriteOne();
    };
    if (is_delete) {
      store_->Delete(KeyOf(key), kAnyRevision, done);
    } else {
      store_->Put(KeyOf(key), json::Value::Object({{"data", std::string(random_() % 3000, 'x')}}),
                  kAnyRevision, done);
    }
  }

  const std::unique_ptr<Store> store_;
  const int pipe_;
  std::mutex mutex_;
  std::mt19937 random_;
};

// Starts the child, lets it live for a while, kills it and notes all it told.
void RunAndKill(const TestFolder& folder, std::mt19937& random, Ledger& ledger) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const unsigned seed = random();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    auto store = OpenSqliteStore(OptionsFor(folder));
    if (!store) _exit(2);
    Child(*std::move(store), ends[1], seed).Run();
  }
  close(ends[1]);
  const auto lifetime = std::chrono::milliseconds(random() % kAliveMsMax);
  std::thread killer([&] {
    std::this_thread::sleep_for(lifetime);
    kill(child, SIGKILL);
  });
  Answer answer{};
  while (read(ends[0], &answer, sizeof(answer)) == sizeof(answer)) {
    ledger.Answered(KeyOf(answer.key), answer.revision, answer.deleted != 0);
  }
  killer.join();
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
}

TEST(Kill, NothingThatWasAnsweredIsLost) {
  const char* wanted = std::getenv("DRACHMA_KILL_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : kRoundsDefault;
  const TestFolder folder;
  std::mt19937 random(std::random_device{}());
  Ledger ledger;
  for (int round = 0; round < rounds; ++round) {
    const Revision resume = ledger.newest_revision();
    RunAndKill(folder, random, ledger);
    auto store = OpenSqliteStore(OptionsFor(folder));
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_EQ(ledger.FaultsOf(**store, resume), "") << "round " << round;
  }
  EXPECT_GT(ledger.size(), static_cast<std::size_t>(rounds));
  RecordProperty("answered_writes", static_cast<int>(ledger.size()));
}

}  // namespace
}  // namespace drachma::store
