#include "records/dataset/indexer.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// A run that `progress` ends after the third shard.
class InterruptedIndexTest : public IndexerTest {
 protected:
  InterruptedIndexTest() {
    WriteShards(5);
    options_.threads = 1;
    IndexAndInterrupt(3);
  }
  // Ends a run after `shards` shards.
  void IndexAndInterrupt(int shards) {
    options_.progress = [shards, calls = 0](uint64_t) mutable {
      return ++calls > shards ? absl::CancelledError("interrupted") : absl::OkStatus();
    };
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    options_.progress = nullptr;
  }
  std::string Journal() { return folder_.File(".manifest.pb.partial"); }
};

TEST_F(InterruptedIndexTest, ContinuesWhereItWas) {
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 3u);
  EXPECT_EQ(rest.read_shards, 2u);
  EXPECT_FALSE(std::filesystem::exists(Journal()));
  ASSERT_OK_AND_ASSIGN(IndexResult anew, Index());
  EXPECT_EQ(anew.reused_shards, 0u);
  EXPECT_EQ(anew.manifest.Serialize().value(), rest.manifest.Serialize().value());
}

TEST_F(InterruptedIndexTest, ATornJournalLosesOnlyItsEnd) {
  const auto size = std::filesystem::file_size(Journal());
  std::filesystem::resize_file(Journal(), size - 5);
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 2u);
  EXPECT_EQ(rest.manifest.num_records(Split::kAll), 500u);
}

TEST_F(InterruptedIndexTest, WhatFollowsATornEndIsNotLost) {
  const auto size = std::filesystem::file_size(Journal());
  std::filesystem::resize_file(Journal(), size - 5);
  IndexAndInterrupt(2);
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 4u);
}

TEST_F(InterruptedIndexTest, OtherOptionsStartAnew) {
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 0u);
}

TEST_F(InterruptedIndexTest, AShardThatChangedSinceIsReadAgain) {
  folder_.Write("s0.tfrecord", ChessShard(10).text());
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 2u);
  EXPECT_EQ(rest.manifest.num_records(Split::kAll), 410u);
}

TEST_F(IndexerTest, AKilledRunIsContinued) {
  WriteShards(5);
  options_.threads = 1;
  const pid_t child = ::fork();
  if (child == 0) {
    int calls = 0;
    options_.progress = [calls](uint64_t) mutable {
      if (++calls > 3) ::kill(::getpid(), SIGKILL);
      return absl::OkStatus();
    };
    (void)Index();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_OK_AND_ASSIGN(IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 3u);
  EXPECT_EQ(rest.manifest.num_records(Split::kAll), 500u);
}

TEST_F(IndexerTest, WhatAFailedVerifyHasReadIsNotReadAgain) {
  WriteShards(5);
  ShardBuilder bad = ChessShard(100);
  bad.FlipBitInPayload(3);
  folder_.Write("s3.tfrecord", bad.text());
  options_.verify = true;
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(const IndexResult failed, Index());
  ASSERT_FALSE(failed.saved);
  options_.exclude_corrupt = true;
  for (const bool verify : {false, true}) {
    options_.verify = verify;
    std::filesystem::copy(folder_.File(".manifest.pb.partial"), folder_.File(".kept"));
    ASSERT_OK_AND_ASSIGN(const IndexResult rest, Index());
    EXPECT_TRUE(rest.saved);
    EXPECT_EQ(rest.read_shards, 1u);
    EXPECT_EQ(rest.damage.listed().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(folder_.File(".manifest.pb.partial")));
    std::filesystem::rename(folder_.File(".kept"), folder_.File(".manifest.pb.partial"));
  }
}

TEST_F(IndexerTest, VerifyingTrustsNoRunThatDidNot) {
  WriteShards(2);
  folder_.Write("s1.tfrecord", ShardBuilder({"no example"}).text());
  folder_.Write("s2.tfrecord", "only words");
  options_.threads = 1;
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("s2.tfrecord")));
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult all, Index());
  EXPECT_EQ(all.read_shards, 3u);
  EXPECT_EQ(all.damage.listed().size(), 2u);
}

TEST_F(IndexerTest, OtherOptionsInBetweenLoseNothing) {
  WriteShards(3);
  folder_.Write("s9.tfrecord", "only words");
  options_.threads = 1;
  const HoldoutInfo holdouts[] = {{"d", 1u << 30}, {}, {"d", 1u << 30}};
  for (const HoldoutInfo& holdout : holdouts) {
    options_.holdout = holdout;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("s9.tfrecord")));
  }
  std::filesystem::remove(folder_.File("s9.tfrecord"));
  ASSERT_OK_AND_ASSIGN(const IndexResult rest, Index());
  EXPECT_EQ(rest.reused_shards, 3u);
  options_.holdout = HoldoutInfo{};
  ASSERT_OK_AND_ASSIGN(const IndexResult anew, Index());
  EXPECT_EQ(anew.reused_shards, 0u);
}

}  // namespace
}  // namespace penstock
