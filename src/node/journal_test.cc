#include "node/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_folder.h"

namespace drachma::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kDriver = "gpu.example.com";

JournalRecord Completed(std::string uid) {
  return {.claim = {.ns = "default", .name = "c-" + uid, .uid = uid},
          .state = ClaimState::kPrepareCompleted,
          .devices = {{.requests = {"gpu"},
                       .pool = "node-1",
                       .device = "gpu-0",
                       .cdi_device_ids = {"v/c=a"},
                       .share_id = "s",
                       .report = json::Value::Object({{"uuid", "GPU-1"}})}},
          .detail = json::Value::Object({{"minor", 0}})};
}

class JournalTest : public testing::Test {
 protected:
  Result<Journal> Open(std::string boot = "boot-1") {
    return Journal::Open(OpenFolder(folder_.path()).value(), kDriver, std::move(boot));
  }
  [[nodiscard]] std::string Text() const { return folder_.ReadFile(kFile); }
  void SetText(const std::string& text) const { folder_.WriteFile(kFile, text); }

  static constexpr const char* kFile = "gpu.example.com.journal";
  TestFolder folder_;
};

TEST_F(JournalTest, ANewJournalRemembersWhatTheOldOneWasTold) {
  ASSERT_TRUE(Open()->Put(Completed("a")));
  const Journal again = Open().value();
  const JournalRecord* record = again.Find("a");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->claim, Completed("a").claim);
  EXPECT_EQ(record->state, ClaimState::kPrepareCompleted);
  ASSERT_EQ(record->devices.size(), 1U);
  EXPECT_THAT(record->devices[0].requests, ElementsAre("gpu"));
  EXPECT_THAT(record->devices[0].cdi_device_ids, ElementsAre("v/c=a"));
  EXPECT_EQ(record->devices[0].share_id, "s");
  EXPECT_EQ(record->devices[0].report["uuid"].AsString(), "GPU-1");
  EXPECT_TRUE(record->detail.Has("minor"));
  EXPECT_FALSE(again.lost());
}

TEST_F(JournalTest, AnErasedClaimIsForgotten) {
  Journal journal = Open().value();
  ASSERT_TRUE(journal.Put(Completed("a")));
  ASSERT_TRUE(journal.Erase("a"));
  EXPECT_THAT(Open()->records(), IsEmpty());
}

TEST_F(JournalTest, AnotherBootStartsEmpty) {
  ASSERT_TRUE(Open("boot-1")->Put(Completed("a")));
  EXPECT_THAT(Open("boot-2")->records(), IsEmpty());
  EXPECT_FALSE(Open("boot-2")->lost());
}

TEST_F(JournalTest, AFlippedBitPutsTheFileAside) {
  ASSERT_TRUE(Open()->Put(Completed("a")));
  const std::string good = Text();
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    SetText(bad);
    const Result<Journal> journal = Open();
    ASSERT_TRUE(journal) << "byte " << i << ": " << journal.error().message;
    ASSERT_TRUE(journal->lost()) << "byte " << i;
    ASSERT_THAT(journal->records(), IsEmpty());
    ASSERT_EQ(folder_.ReadFile(std::string(kFile) + ".damaged"), bad);
    ASSERT_EQ(Text(), "");
  }
}

TEST_F(JournalTest, AFileCutShortIsPutAside) {
  ASSERT_TRUE(Open()->Put(Completed("a")));
  const std::string good = Text();
  for (std::size_t size = 0; size < good.size(); size += 11) {
    SetText(good.substr(0, size));
    ASSERT_TRUE(Open()->lost()) << size;
  }
}

TEST_F(JournalTest, ANewerVersionIsNotTouched) {
  // The checksum is that of "2\n{}\n".
  const std::string newer =
      "drachma-journal 2 cd9d35dd48ee6b41e72ae380512ad2b8cc5be6b765be24829068db12d03a7d92\n{}\n";
  SetText(newer);
  const Result<Journal> journal = Open();
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message, HasSubstr("is of version 2"));
  EXPECT_EQ(Text(), newer);
}

// The form of version 1 as it is on disks: a program that changes it must go on reading this.
TEST_F(JournalTest, TheFirstVersionStaysReadable) {
  SetText(R"(drachma-journal 1 14a87d0aeb83d39fe40cee14b573b3601efd41a2b463dcb8d40785d5e96e2a6d
{"bootID":"boot-1","claims":[{"namespace":"ns","name":"c","uid":"u","state":"PrepareStarted","devices":[],"detail":null}]}
)");
  const Result<Journal> journal = Open();
  ASSERT_TRUE(journal) << journal.error().message;
  ASSERT_NE(journal->Find("u"), nullptr);
  EXPECT_EQ(journal->Find("u")->state, ClaimState::kPrepareStarted);
  EXPECT_EQ(journal->Find("u")->claim.ns, "ns");
}

TEST_F(JournalTest, WhatCouldNotBeWrittenWasNotDone) {
  class FullDisk final : public Folder {
   public:
    Result<std::optional<std::string>> Read(const std::string&) override { return std::nullopt; }
    Status Write(const std::string&, const std::string&) override {
      if (writes-- > 0) return {};
      return Fail(Code::kUnavailable, "the disk is full");
    }
    Status Rename(const std::string&, const std::string&) override { return {}; }
    Status Remove(const std::string&) override { return {}; }
    Result<std::vector<std::string>> List() override { return std::vector<std::string>(); }
    int writes = 1;
  };
  Journal journal = Journal::Open(std::make_shared<FullDisk>(), kDriver, "b").value();
  ASSERT_TRUE(journal.Put(Completed("a")));
  EXPECT_FALSE(journal.Put(Completed("b")));
  JournalRecord started = Completed("a");
  started.state = ClaimState::kPrepareStarted;
  EXPECT_FALSE(journal.Put(started));
  EXPECT_FALSE(journal.Erase("a"));
  EXPECT_EQ(journal.Find("b"), nullptr);
  ASSERT_NE(journal.Find("a"), nullptr);
  EXPECT_EQ(journal.Find("a")->state, ClaimState::kPrepareCompleted);
}

TEST_F(JournalTest, WithoutAFolderItLivesInMemory) {
  Journal journal = Journal::Open(nullptr, kDriver, "b").value();
  ASSERT_TRUE(journal.Put(Completed("a")));
  EXPECT_NE(journal.Find("a"), nullptr);
}

}  // namespace
}  // namespace drachma::node
