#include "records/dataset/indexer.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "records/dataset/chunk_size.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Each second record, from the first on, has another payload than its checksum says.
ShardBuilder AlternatelyDamaged(int records) {
  ShardBuilder shard = ChessShard(records);
  for (int i = 0; i < records; i += 2) shard.FlipBitInPayload(static_cast<size_t>(i));
  return shard;
}

class IndexerTest : public ::testing::Test {
 protected:
  IndexerTest() { options_.output = folder_.File("manifest.pb"); }

  void WriteShards(int count) {
    for (int i = 0; i < count; ++i) {
      folder_.Write(absl::StrCat("s", i, ".tfrecord"), ChessShard(100, i * 100).text());
    }
  }
  absl::StatusOr<IndexResult> Index() { return BuildIndex({folder_.path()}, options_); }

  TempFolder folder_;
  IndexOptions options_;
};

TEST_F(IndexerTest, FindsShardsBeneathTheFolderInOrder) {
  folder_.Write("sub/b.tfrecord", ChessShard(3).text());
  folder_.Write("a.tfrecord-00000-of-00001", ChessShard(2).text());
  folder_.Write("notes.txt", "not a shard");
  folder_.Write(".hidden.tfrecord", "not a shard");
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  ASSERT_EQ(result.manifest.shards().size(), 2u);
  EXPECT_EQ(result.manifest.shards()[0].path, "a.tfrecord-00000-of-00001");
  EXPECT_EQ(result.manifest.shards()[1].path, "sub/b.tfrecord");
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 5u);
  EXPECT_TRUE(result.saved);
}

TEST_F(IndexerTest, TheSavedManifestIsTheResult) {
  WriteShards(3);
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  ASSERT_OK_AND_ASSIGN(Manifest loaded, Manifest::Load(options_.output));
  EXPECT_EQ(loaded.Serialize().value(), result.manifest.Serialize().value());
  EXPECT_GT(loaded.num_records(Split::kHoldout), 0u);
  EXPECT_EQ(loaded.features().size(), 2u);
  EXPECT_EQ(folder_.NumEntries(), 4u);  // No journal is left.
}

TEST_F(IndexerTest, ThreadsDoNotChangeTheManifest) {
  WriteShards(5);
  options_.threads = 1;
  ASSERT_OK_AND_ASSIGN(IndexResult one, Index());
  options_.threads = 4;
  ASSERT_OK_AND_ASSIGN(IndexResult four, Index());
  EXPECT_EQ(one.manifest.Serialize().value(), four.manifest.Serialize().value());
}

TEST_F(IndexerTest, NamesShardsAbsolutelyOnRequest) {
  WriteShards(1);
  options_.absolute = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_TRUE(result.manifest.shards()[0].absolute);
  EXPECT_EQ(result.manifest.ShardPath(0), folder_.File("s0.tfrecord"));
}

TEST_F(IndexerTest, RefusesShardsThatTheManifestCannotName) {
  WriteShards(1);
  options_.output = folder_.Write("elsewhere/x", "") + ".pb";
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("s0.tfrecord"), HasSubstr("--absolute"))));
}

TEST_F(IndexerTest, ReplacesManifestsAlone) {
  WriteShards(2);
  const std::string shard = folder_.Read("s0.tfrecord");
  options_.progress = [](uint64_t) { return absl::InternalError("a shard was read"); };
  options_.output = folder_.File("s0.tfrecord");
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("s0.tfrecord: "), HasSubstr("no manifest"))));
  EXPECT_EQ(folder_.Read("s0.tfrecord"), shard);
  options_.output = folder_.path();
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("is a folder"), HasSubstr("/manifest.pb"))));
  EXPECT_EQ(folder_.NumEntries(), 2u);  // No journal is left.
  options_.progress = nullptr;
  options_.output = folder_.Write("made_by_mktemp", "");
  EXPECT_OK(Index());
  EXPECT_OK(Index());
}

TEST_F(IndexerTest, AManifestIsNotNamedAsAShard) {
  WriteShards(1);
  options_.output = folder_.File("s.tfrecord.pb");
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("s.tfrecord.pb: is named as shards are"),
                                      HasSubstr("without .tfrecord"))));
  EXPECT_EQ(folder_.NumEntries(), 1u);
}

TEST_F(IndexerTest, WritesNothingWhereItIsToStayInMemory) {
  WriteShards(2);
  options_.in_memory = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_FALSE(result.saved);
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 200u);
  EXPECT_EQ(result.manifest.ShardPath(1), folder_.File("s1.tfrecord"));
  EXPECT_EQ(folder_.NumEntries(), 2u);
}

TEST_F(IndexerTest, SaysWhatToDoWhereNothingCanBeWritten) {
  WriteShards(1);
  options_.absolute = true;
  options_.output = "/sys/manifest.pb";  // Also root may not.
  EXPECT_THAT(std::string(Index().status().message()),
              AllOf(HasSubstr("/sys/.manifest.pb.partial: "), HasSubstr("penstock index -o F")));
}

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

TEST_F(IndexerTest, ADamagedManifestIsReplacedOnceItIsSaidWhatToHoldOut) {
  WriteShards(1);
  ASSERT_OK(Index());
  std::string bytes = folder_.Read("manifest.pb");
  bytes.back() ^= 1;
  folder_.Write("manifest.pb", bytes);
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("give --holdout again, 0 for none"),
                                      Not(HasSubstr("--exclude-corrupt")))));
  options_.holdout = HoldoutInfo{};
  options_.update = true;
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("manifest.pb: "), HasSubstr("leave out --update"),
                                      Not(HasSubstr("--exclude-corrupt")))));
  options_.update = false;
  EXPECT_OK(Index());
}

TEST_F(IndexerTest, RefusesAShardThatGrowsWhileItIsRead) {
  WriteShards(1);
  options_.progress = [&](uint64_t) {
    folder_.Write("s0.tfrecord", ChessShard(101).text());
    return absl::OkStatus();
  };
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("s0.tfrecord: is being written")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
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
                                HasSubstr("s0.tfrecord: is being written")));
}

TEST_F(IndexerTest, AnEmptyShardIsListedAndAnEmptyFolderIsAnError) {
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no files *.tfrecord*")));
  folder_.Write("empty.tfrecord", "");
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_EQ(result.manifest.shards().size(), 1u);
  EXPECT_EQ(result.manifest.num_chunks(), 0u);
}

// As a user other than root, who may read everything.
class UnprivilegedIndexerTest : public IndexerTest {
 protected:
  static constexpr uid_t kNobody = 65534;

  UnprivilegedIndexerTest() {
    options_.in_memory = true;
    options_.listing.skipped = [this](const std::string& folder) { skipped_.push_back(folder); };
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    BecomeUser(kNobody);
  }
  ~UnprivilegedIndexerTest() override {
    BecomeUser(0);
    for (const std::string& folder : locked_) {
      std::filesystem::permissions(folder, std::filesystem::perms::all);
    }
  }

  void WriteLocked(const std::string& folder) {
    folder_.Write(folder + "/s.tfrecord", ChessShard(1).text());
    locked_.push_back(folder_.File(folder));
    std::filesystem::permissions(locked_.back(), std::filesystem::perms::none);
  }

  void BecomeUser(uid_t user) {
    if (was_root_ && ::seteuid(user) != 0) abort();
  }

  const bool was_root_ = ::geteuid() == 0;
  std::vector<std::string> locked_, skipped_;
};

TEST_F(UnprivilegedIndexerTest, LostAndFoundIsLeftOut) {
  WriteShards(1);
  WriteLocked("lost+found");
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.manifest.shards().size(), 1u);
  EXPECT_THAT(skipped_, ::testing::ElementsAre(folder_.File("lost+found")));
}

TEST_F(UnprivilegedIndexerTest, OtherFoldersAreNot) {
  WriteShards(1);
  WriteLocked("lost");
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/lost")));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(IndexerTest, NamesMissingAndRepeatedFiles) {
  WriteShards(1);
  const std::string file = folder_.File("s0.tfrecord");
  EXPECT_THAT(BuildIndex({folder_.File("none")}, options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(BuildIndex({file, folder_.path() + "/./s0.tfrecord"}, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named twice")));
}

TEST_F(IndexerTest, CanBeStoppedWhileItListsShards) {
  WriteShards(3);
  options_.in_memory = true;
  int calls = 0, stop = 0;
  options_.listing.check = [&] {
    return ++calls == stop ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  ASSERT_OK(Index());
  const int all = calls;
  EXPECT_GE(all, 9);  // Found, told apart and opened.
  for (stop = 1; stop <= all; ++stop) {
    calls = 0;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kCancelled, "interrupted"));
    EXPECT_EQ(calls, stop);
  }
}

TEST_F(IndexerTest, ALinkDoesNotMakeTwoShardsOfOne) {
  folder_.Write("2024/s.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink("2024", folder_.File("latest"));
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("latest/s.tfrecord: is the same file as"),
                                      HasSubstr("2024/s.tfrecord"))));
}

TEST_F(IndexerTest, LinksWithinTheFolderAreFollowed) {
  folder_.Write("data/.v1/s.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink(".v1", folder_.File("data/latest"));
  EXPECT_OK(BuildIndex({folder_.File("data")}, options_));
}

TEST_F(IndexerTest, NamesALinkThatServersDoNotFollow) {
  folder_.Write("elsewhere/s.tfrecord", ChessShard(10).text());
  folder_.Write("data/a.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink("../elsewhere", folder_.File("data/link"));
  const std::string data = folder_.File("data");
  options_.output = data + "/manifest.pb";
  EXPECT_THAT(BuildIndex({data}, options_),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(data + "/link: is a link to ../elsewhere"),
                             HasSubstr("leads out of " + data))));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.output = folder_.File("manifest.pb");
  EXPECT_OK(BuildIndex({data}, options_));
  options_.in_memory = true;
  options_.output = data + "/manifest.pb";
  EXPECT_OK(BuildIndex({data}, options_));
}

TEST_F(IndexerTest, NamesAnAbsoluteLinkAlsoAmongAbsolutePaths) {
  const std::string shard = folder_.Write("data/v1", ChessShard(10).text());
  std::filesystem::create_symlink(shard, folder_.File("data/s.tfrecord"));
  for (const bool absolute : {false, true}) {
    options_.absolute = absolute;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kPermissionDenied,
                                  HasSubstr("/data/s.tfrecord: is a link to " + shard)));
  }
  std::filesystem::remove(folder_.File("data/s.tfrecord"));
  EXPECT_OK(BuildIndex({shard}, options_));
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

// Shards are finished in any order.
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
  options_.holdout = HoldoutInfo{"no_such_feature", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_FALSE(result.saved);
  EXPECT_THAT(result.damage.listed()[0].reason, HasSubstr("no_such_feature"));
  ASSERT_OK_AND_ASSIGN(const Manifest kept, Manifest::Load(options_.output));
  EXPECT_EQ(kept.num_records(Split::kAll), 200u);
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

// Its size and time may be those of before: `cp -p` and `rsync -t` keep them.
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

TEST_F(IndexerTest, UpdateReadsOnlyNewAndChangedShards) {
  WriteShards(3);
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult first, Index());
  folder_.Write("s1.tfrecord", ChessShard(50).text());
  folder_.Write("s9.tfrecord", ChessShard(7, 900).text());
  options_.update = true;
  options_.holdout.reset();  // The old manifest's stays.
  ASSERT_OK_AND_ASSIGN(IndexResult second, Index());
  EXPECT_EQ(second.read_shards, 2u);
  EXPECT_EQ(second.reused_shards, 2u);
  EXPECT_EQ(second.manifest.num_records(Split::kAll), 257u);
  options_.update = false;
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult anew, Index());
  EXPECT_EQ(anew.manifest.Serialize().value(), second.manifest.Serialize().value());
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

// A run that `progress` ends after the third shard.
class InterruptedIndexTest : public IndexerTest {
 protected:
  InterruptedIndexTest() {
    WriteShards(5);
    options_.threads = 1;
    IndexAndInterrupt(3);
  }
  // Ends a run after so many shards.
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

TEST_F(IndexerTest, IndexesFilesThatTensorFlowWrote) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  const std::string dir = absl::StrCat(data, "/data/tfrecord/");
  options_.absolute = true;
  options_.verify = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result,
                       BuildIndex({dir + "toy.nocompress-tfe-tfrecord-00000-of-00002",
                                   dir + "toy.tfe-tfrecord-00000-of-00002"},
                                  options_));
  ASSERT_EQ(result.manifest.num_chunks(), 2u);
  EXPECT_EQ(result.manifest.chunk(0).records, result.manifest.chunk(1).records);
  EXPECT_EQ(result.manifest.chunk(0).raw_size, result.manifest.chunk(1).raw_size);
  EXPECT_EQ(result.manifest.shards()[1].compression, Compression::kGzip);
}

}  // namespace
}  // namespace penstock
