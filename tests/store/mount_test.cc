// The store on real file systems that are full or read-only. Needs the right to mount; where there
// is none (a container without privileges) fault_test.cc still covers the same by simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>

#include "base/log.h"
#include "store/store.h"
#include "store/test_folder.h"

namespace drachma::store {
namespace {

using ::testing::HasSubstr;

class MountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));
    // A mount namespace of its own, so that nobody else sees the file system.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
      GTEST_SKIP() << "cannot mount: " << std::strerror(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    store_.reset();
    if (mounted_) umount(folder_.path().c_str());
  }

  Status Open() {
    SqliteOptions options;
    options.folder = folder_.path() + "/data";
    DRA_ASSIGN(store_, OpenSqliteStore(options));
    return {};
  }
  Result<RecordPtr> Put(const std::string& key, std::size_t bytes) {
    std::promise<Result<RecordPtr>> answer;
    store_->Put(key, json::Value::Object({{"data", std::string(bytes, 'x')}}), kAnyRevision,
                [&](Result<RecordPtr> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }
  [[nodiscard]] bool Remount(unsigned long flags) const {
    return mount("none", folder_.path().c_str(), nullptr, MS_REMOUNT | flags, "size=2m") == 0;
  }

  TestFolder folder_;
  bool mounted_ = false;
  std::unique_ptr<Store> store_;
};

TEST_F(MountTest, AFullDiskFailsWritesUntilThereIsSpaceAgain) {
  ASSERT_TRUE(Open());
  ASSERT_TRUE(Put("/k/old", 1000));
  const std::string filler = folder_.path() + "/filler";
  std::ofstream(filler) << std::string(4 << 20, 'x');
  const auto full = Put("/k/new", 200'000);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kUnavailable);
  EXPECT_THAT(full.error().message, HasSubstr("the store cannot write: the disk is full"));
  EXPECT_NE(store_->Get("/k/old"), nullptr);
  std::filesystem::remove(filler);
  EXPECT_TRUE(Put("/k/new", 200'000));
  store_.reset();
  ASSERT_TRUE(Open());
  EXPECT_NE(store_->Get("/k/new"), nullptr);
}

TEST_F(MountTest, AReadOnlyFolderIsRefusedWithItsReason) {
  ASSERT_TRUE(Remount(MS_RDONLY));
  const Status opened = Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kForbidden);
  EXPECT_THAT(opened.error().message, HasSubstr("Read-only file system"));
  ASSERT_TRUE(Remount(0));
  EXPECT_TRUE(Open());
}

TEST_F(MountTest, AFullDiskIsToldWhenOpening) {
  std::ofstream(folder_.path() + "/filler") << std::string(4 << 20, 'x');
  const Status opened = Open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace drachma::store
