#include "records/dataset/indexer.h"

#include <chrono>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/chunk_size.h"
#include "records/dataset/kept_manifests.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(IndexerTest, IndexingAgainKeepsWhatIsHeldOut) {
  WriteShards(2);
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult first, Index());
  EXPECT_FALSE(first.kept_holdout);
  options_.holdout.reset();
  ASSERT_OK_AND_ASSIGN(IndexResult again, Index());
  EXPECT_TRUE(again.kept_holdout);
  EXPECT_EQ(again.read_shards, 2u);
  EXPECT_EQ(again.manifest.Serialize().value(), first.manifest.Serialize().value());
  options_.holdout = HoldoutInfo{};
  ASSERT_OK_AND_ASSIGN(IndexResult none, Index());
  EXPECT_EQ(none.manifest.num_records(Split::kHoldout), 0u);
}

// A repaired shard may have the old size and time: `cp -p` and `rsync -t` keep them.
TEST_F(IndexerTest, UpdateReadsAShardAgainOfWhichSomeWasLeftOut) {
  ShardBuilder shard = ChessShard(100);
  const std::string whole = shard.text();
  shard.FlipBitInPayload(3);
  const std::string path = folder_.Write("s.tfrecord", shard.text());
  const auto time = std::filesystem::last_write_time(path);
  options_.exclude_corrupt = true;
  ASSERT_OK(Index());
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult still, Index());
  EXPECT_EQ(still.damage.listed().size(), 1u);
  options_.exclude_corrupt = false;
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("s.tfrecord")));
  folder_.Write("s.tfrecord", whole);
  std::filesystem::last_write_time(path, time);
  ASSERT_OK_AND_ASSIGN(const IndexResult mended, Index());
  EXPECT_EQ(mended.manifest.num_records(Split::kAll), 100u);
}

TEST_F(IndexerTest, UpdateReadsAShardAgainThatWasFoundDamagedSince) {
  WriteShards(3);
  ASSERT_OK(Index());
  ShardBuilder rotten = ChessShard(100, 100);  // It gets the size and time that s1 had.
  rotten.FlipBitInPayload(3);
  const auto time = std::filesystem::last_write_time(folder_.File("s1.tfrecord"));
  folder_.Write("s1.tfrecord", rotten.text());
  std::filesystem::last_write_time(folder_.File("s1.tfrecord"), time);
  for (const bool verify : {true, false}) {
    options_.update = options_.exclude_corrupt = false;
    options_.verify = verify;
    options_.threads = 1;
    const absl::StatusOr<IndexResult> found = Index();
    EXPECT_EQ(found.ok(), verify) << found.status();
    options_.verify = false;
    options_.update = options_.exclude_corrupt = true;
    const std::string manifest = folder_.Read("manifest.pb");
    ASSERT_OK_AND_ASSIGN(const IndexResult mended, Index());
    EXPECT_EQ(mended.read_shards, 1u);
    EXPECT_EQ(mended.damage.listed().size(), 1u);
    EXPECT_EQ(mended.manifest.num_records(Split::kAll), 299u);
    folder_.Write("manifest.pb", manifest);
  }
}

// A training that began before the update resumes with the manifest of that time.
TEST_F(IndexerTest, UpdateKeepsTheManifestThatItReplaces) {
  WriteShards(2);
  ASSERT_OK_AND_ASSIGN(const IndexResult first, Index());
  const std::string before = folder_.Read("manifest.pb");
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult same, Index());
  EXPECT_EQ(same.kept_manifest, "");
  WriteShards(3);
  ASSERT_OK_AND_ASSIGN(const IndexResult more, Index());
  EXPECT_EQ(more.kept_manifest,
            KeptManifestPath(folder_.File("manifest.pb"), first.manifest.content_fingerprint()));
  EXPECT_EQ(folder_.Read(std::filesystem::path(more.kept_manifest).filename()), before);
  WriteShards(4);
  ASSERT_OK_AND_ASSIGN(const IndexResult most, Index());
  EXPECT_THAT(ListKeptManifests(folder_.path()),
              UnorderedElementsAre(more.kept_manifest, most.kept_manifest));
  folder_.Write("manifest.pb.0123456789ABCDEF", "");
  folder_.Write("manifest.pb.bak", "");
  folder_.Write("other.pb.0123456789abcdef", "");
  EXPECT_THAT(RemoveKeptManifests(folder_.File("manifest.pb")), IsOkAndHolds(2u));
  EXPECT_THAT(ListKeptManifests(folder_.path()), IsEmpty());
  EXPECT_EQ(folder_.Read("manifest.pb"), most.manifest.Serialize().value());
}

// A run that finds damage replaces no manifest.
TEST_F(IndexerTest, UpdateThatSavesNothingKeepsNothing) {
  WriteShards(2);
  ASSERT_OK(Index());
  ShardBuilder rotten = ChessShard(100, 200);
  rotten.FlipBitInPayload(3);
  folder_.Write("s2.tfrecord", rotten.text());
  options_.update = options_.verify = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult damaged, Index());
  EXPECT_FALSE(damaged.saved);
  EXPECT_THAT(ListKeptManifests(folder_.path()), IsEmpty());
}

TEST_F(IndexerTest, AShardThatIsWholeAgainIsKept) {
  WriteShards(2);
  ASSERT_OK(Index());
  const std::string whole = folder_.Read("s1.tfrecord");
  ShardBuilder rotten = ChessShard(100, 100);
  rotten.FlipBitInPayload(3);
  folder_.Write("s1.tfrecord", rotten.text());
  folder_.Write("s9.tfrecord", "only words");
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult failed, Index());
  EXPECT_EQ(failed.damage.listed().size(), 2u);
  folder_.Write("s1.tfrecord", whole);
  ASSERT_OK(Index());  // Finishes s1. s9 is still damaged.
  options_.verify = false;
  options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult rest, Index());
  EXPECT_EQ(rest.read_shards, 1u);
}

TEST_F(IndexerTest, UpdateReadsOnlyNewAndChangedShards) {
  WriteShards(3);
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult first, Index());
  folder_.Write("s1.tfrecord", ChessShard(50).text());
  folder_.Write("s9.tfrecord", ChessShard(7, 900).text());
  options_.update = true;
  options_.holdout.reset();  // The old manifest's rule is kept.
  ASSERT_OK_AND_ASSIGN(IndexResult second, Index());
  EXPECT_EQ(second.read_shards, 2u);
  EXPECT_EQ(second.reused_shards, 2u);
  EXPECT_EQ(second.manifest.num_records(Split::kAll), 257u);
  options_.update = false;
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult anew, Index());
  EXPECT_EQ(anew.manifest.content_fingerprint(), second.manifest.content_fingerprint());
  EXPECT_EQ(second.manifest.features().features.size(), 2u);
}

TEST_F(IndexerTest, UpdateReadsAShardAgainThatWasRewrittenWithTheSameSize) {
  options_.format = RecordFormat::kRaw;
  folder_.Write("s0.tfrecord", ShardBuilder({"one", "two"}).text());
  const std::string path = folder_.Write("s1.tfrecord", ShardBuilder({"one", "two"}).text());
  ASSERT_OK(Index());
  const auto time = std::filesystem::last_write_time(path);
  folder_.Write("s1.tfrecord", ShardBuilder({"two", "one"}).text());
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult updated, Index());
  EXPECT_EQ(updated.read_shards, 1u);
  options_.update = false;
  ASSERT_OK_AND_ASSIGN(const IndexResult anew, Index());
  EXPECT_EQ(updated.manifest.content_fingerprint(), anew.manifest.content_fingerprint());
}

ShardBuilder LargeShard(int records) {
  ShardBuilder shard;
  for (int i = 0; i < records; ++i) shard.Add(std::string(4096, 'x'));
  return shard;
}

TEST_F(IndexerTest, UpdatingCutsNewShardsByTheSizeOfAllData) {
  folder_.Write("s0.tfrecord", LargeShard(10).text());
  ASSERT_OK_AND_ASSIGN(const IndexResult small, Index());
  ASSERT_EQ(small.manifest.num_chunks(), 10u);
  folder_.Write("s1.tfrecord", LargeShard(10'000).text());
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult grown, Index());
  EXPECT_EQ(grown.reused_shards, 1u);
  const auto [begin, end] = grown.manifest.shard_chunks(1);
  EXPECT_EQ(begin, 10u);
  EXPECT_LE(end - begin, 5'000u);
  EXPECT_EQ(grown.manifest.chunk_target(), ChunkTarget(10'010 * (4096 + 16)));
  std::filesystem::remove(folder_.File("s1.tfrecord"));
  ASSERT_OK_AND_ASSIGN(const IndexResult shrunk, Index());
  EXPECT_EQ(shrunk.manifest.chunk_target(), grown.manifest.chunk_target());
}

TEST_F(IndexerTest, UpdatingForChunksOfAnotherSizeReadsAll) {
  WriteShards(2);
  ASSERT_OK(Index());
  options_.update = true;
  options_.chunk_bytes = 8192;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.read_shards, 2u);
}

TEST_F(IndexerTest, VerifyingReadsWhatAnUpdateWouldKeep) {
  ShardBuilder shard = ChessShard(100);
  const std::string path = folder_.Write("s0.tfrecord", shard.text());
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK(Index());
  const auto time = std::filesystem::last_write_time(path);
  shard.FlipBitInPayload(7);
  folder_.Write("s0.tfrecord", shard.text());
  std::filesystem::last_write_time(path, time);
  options_.holdout.reset();
  options_.update = true;
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_EQ(result.read_shards, 1u);
  EXPECT_FALSE(result.saved);
  ASSERT_EQ(result.damage.listed().size(), 1u);
  EXPECT_EQ(result.damage.listed()[0].record, 7u);
  EXPECT_EQ(result.manifest.holdout(), (HoldoutInfo{"d", 1u << 30}));
}

TEST_F(IndexerTest, UpdatingDoesNotKeepChunksThatServersRefuse) {
  WriteShards(1);
  ASSERT_OK(Index());
  options_.update = true;
  options_.max_raw_chunk_bytes = 100;  // Less than one record.
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("s0.tfrecord: record 0 at offset 0: has ")));
}

}  // namespace
}  // namespace penstock
