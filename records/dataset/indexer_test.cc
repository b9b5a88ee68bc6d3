#include "records/dataset/indexer.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(IndexerTest, TheSavedManifestIsTheResult) {
  WriteShards(3);
  options_.holdout = HoldoutInfo{"d", 1u << 30};
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  ASSERT_OK_AND_ASSIGN(Manifest loaded, Manifest::Load(options_.output));
  EXPECT_EQ(loaded.Serialize().value(), result.manifest.Serialize().value());
  EXPECT_GT(loaded.num_records(Split::kHoldout), 0u);
  EXPECT_EQ(loaded.features().features.size(), 2u);
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
                                AllOf(HasSubstr("s0.tfrecord: "), HasSubstr("is not a manifest"))));
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
                                AllOf(HasSubstr("s.tfrecord.pb: has the name of a shard"),
                                      HasSubstr("give it another name"))));
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
  options_.output = "/sys/manifest.pb";  // Not even root may write there.
  EXPECT_THAT(std::string(Index().status().message()),
              AllOf(HasSubstr("/sys/.manifest.pb.partial: "), HasSubstr("penstock index -o FILE")));
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
  EXPECT_EQ(result.manifest.shards()[1].container, Container::kGzip);
}

}  // namespace
}  // namespace penstock
