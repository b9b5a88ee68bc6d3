#include "records/dataset/indexer.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Every second record, beginning with the first, has a payload that does not match its checksum.
ShardBuilder AlternatelyDamaged(int records) {
  ShardBuilder shard = ChessShard(records);
  for (int i = 0; i < records; i += 2) shard.FlipBitInPayload(static_cast<size_t>(i));
  return shard;
}

TEST_F(IndexerTest, StopsAtDamageAndSavesNothing) {
  WriteShards(2);
  ShardBuilder bad = ChessShard(10);
  bad.FlipBitInPayload(3);
  folder_.Write("s1.tfrecord", bad.text());
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("s1.tfrecord"), HasSubstr("record 3 at offset"),
                                      HasSubstr("penstock index --verify lists all damage"))));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(IndexerTest, VerifyListsAllDamageAndSavesNothing) {
  ShardBuilder bad = ChessShard(100);
  bad.FlipBitInPayload(3);
  bad.FlipBitInLength(50);
  folder_.Write("bad.tfrecord", bad.text());
  folder_.Write("text.tfrecord", "only words");
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_FALSE(result.saved);
  ASSERT_EQ(result.damage.listed().size(), 3u);
  EXPECT_EQ(result.damage.listed()[1].offset, bad.OffsetOf(50));
  EXPECT_EQ(result.damage.listed()[2].file, folder_.File("text.tfrecord"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(IndexerTest, ListsTheFirstDamageAndCountsAll) {
  for (const int i : {5, 6, 7, 8}) {
    const std::string name = absl::StrCat("s", i, ".tfrecord");
    folder_.Write(name, AlternatelyDamaged(4000).text());
  }
  options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.damage.loss().places, 8000u);
  EXPECT_EQ(result.damage.loss().records, 8000u);
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 8000u);
  ASSERT_EQ(result.damage.listed().size(), 4000u);
  EXPECT_EQ(result.damage.listed()[999].record, 1998u);
  EXPECT_EQ(result.damage.listed()[1000].file, folder_.File("s6.tfrecord"));
}

// Shards finish in any order.
TEST_F(IndexerTest, WhatIsListedIsTheFirstDamageOfAll) {
  for (int i = 10; i < 35; ++i) {
    folder_.Write(absl::StrCat("s", i, ".tfrecord"), AlternatelyDamaged(2000).text());
  }
  options_.verify = true;
  options_.threads = 8;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.damage.loss().places, 25'000u);
  ASSERT_EQ(result.damage.listed().size(), 10'000u);
  EXPECT_EQ(result.damage.listed().back().file, folder_.File("s19.tfrecord"));
  EXPECT_EQ(result.damage.listed().back().record, 1998u);
}

TEST_F(IndexerTest, ExcludingLeavesDamageOut) {
  ShardBuilder bad = ChessShard(100);
  bad.FlipBitInPayload(3);
  folder_.Write("bad.tfrecord", bad.text());
  options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_TRUE(result.saved);
  EXPECT_EQ(result.damage.listed().size(), 1u);
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 99u);
  EXPECT_EQ(result.manifest.shards()[0].excluded_records, 1u);
  auto [chunk, index] = result.manifest.Locate(3);
  EXPECT_EQ(result.manifest.chunk(chunk).first_record + index, 4u);
}

TEST_F(IndexerTest, NothingIsSavedWhereExcludingLeavesNothing) {
  WriteShards(2);
  ASSERT_OK(Index());
  options_.exclude_corrupt = true;
  options_.spec = "of other data";
  options_.find_check = [](const std::string& spec) -> PayloadCheckMaker {
    return [spec] {
      return PayloadCheck(
          [spec](std::span<const uint8_t>) { return absl::InvalidArgumentError(spec); });
    };
  };
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_FALSE(result.saved);
  EXPECT_EQ(result.damage.listed()[0].reason, "of other data");
  ASSERT_OK_AND_ASSIGN(const Manifest kept, Manifest::Load(options_.output));
  EXPECT_EQ(kept.num_records(Split::kAll), 200u);
}

TEST_F(IndexerTest, ADamagedManifestIsReplacedOnceItIsSaidWhatToHoldOut) {
  WriteShards(1);
  ASSERT_OK(Index());
  std::string bytes = folder_.Read("manifest.pb");
  bytes.back() ^= 1;
  folder_.Write("manifest.pb", bytes);
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("give --holdout again to keep it (0 for none)"),
                                      Not(HasSubstr("--exclude-corrupt")))));
  options_.holdout = HoldoutInfo{};
  options_.update = true;
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("manifest.pb: "), HasSubstr("leave out --update"),
                                      Not(HasSubstr("--exclude-corrupt")))));
  options_.update = false;
  EXPECT_OK(Index());
}

TEST_F(IndexerTest, AShardRewrittenWhileItIsReadIsNotCalledDamaged) {
  ShardBuilder shard = ChessShard(10'000);  // More than is read at once.
  folder_.Write("s0.tfrecord", shard.text());
  shard.FlipBitInPayload(9'999);
  options_.progress = [&](uint64_t) {
    folder_.Write("s0.tfrecord", shard.text());
    return absl::OkStatus();
  };
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("s0.tfrecord: changed after this run began")));
}

TEST_F(IndexerTest, RefusesAShardThatGrowsWhileItIsRead) {
  WriteShards(1);
  options_.progress = [&](uint64_t) {
    folder_.Write("s0.tfrecord", ChessShard(101).text());
    return absl::OkStatus();
  };
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("s0.tfrecord: changed after this run began")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

}  // namespace
}  // namespace penstock
