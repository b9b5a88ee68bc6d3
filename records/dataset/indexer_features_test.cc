// Tests what an index run knows about the records: their features, format and spec.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/made_spec.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TableExample(int64_t id, float value) {
  return Example(Entry("id", Int64Kind(id)) + Entry("value", Field(2, FloatField(1, value))));
}

ShardBuilder TableShard(int records) {
  ShardBuilder shard;
  for (int i = 0; i < records; ++i) shard.Add(TableExample(i, 0.5f));
  return shard;
}

TEST_F(IndexerTest, TheFirstRecordsDecideWhatDecidesTheHoldout) {
  options_.holdout = HoldoutInfo{"", 1u << 30};
  options_.default_holdout_feature = true;
  folder_.Write("a.tfrecord", TableShard(400).text());
  ASSERT_OK_AND_ASSIGN(const IndexResult table, Index());
  EXPECT_EQ(table.manifest.holdout().feature, "");
  EXPECT_NEAR(static_cast<double>(table.manifest.num_records(Split::kHoldout)), 100, 35);
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_OK_AND_ASSIGN(const IndexResult chess, Index());
  EXPECT_EQ(chess.manifest.holdout().feature, "d");
}

TEST_F(IndexerTest, NumbersCanDecideTheHoldout) {
  folder_.Write("a.tfrecord", TableShard(400).text());
  options_.holdout = HoldoutInfo{"value", 1u << 30};  // Equal in all records.
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.manifest.num_records(Split::kHoldout) % 400, 0u);
  options_.holdout->feature = "d";
  EXPECT_THAT(
      Index(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'d' cannot decide the holdout split, because the records lack it"),
                     HasSubstr("there are id (int64), value"))));
}

TEST_F(IndexerTest, RecordsThatAreNoExamplesNeedTheirFormat) {
  folder_.Write("a.tfrecord", ShardBuilder({"no example", "another"}).text());
  for (const bool verify : {false, true}) {
    options_.verify = verify;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("a.tfrecord: record 0 at offset 0"),
                                        HasSubstr("--format raw"))));
  }
  options_.format = RecordFormat::kRaw;
  ASSERT_OK(Index());
  options_.format.reset();  // The manifest's format is kept.
  ASSERT_OK_AND_ASSIGN(const IndexResult raw, Index());
  EXPECT_EQ(raw.manifest.format(), RecordFormat::kRaw);
  ASSERT_EQ(raw.manifest.features().features.size(), 1u);
  EXPECT_EQ(Describe(raw.manifest.features().features[0], 2), "record: bytes, length 7-10");
}

TEST_F(IndexerTest, OnlyTheWholeOfARawRecordDecidesTheHoldout) {
  folder_.Write("a.tfrecord", ShardBuilder({"no example", "another"}).text());
  options_.format = RecordFormat::kRaw;
  for (const char* feature : {"", "record"}) {
    options_.holdout = HoldoutInfo{feature, ~0u};
    ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
    EXPECT_EQ(result.manifest.holdout().feature, "");
    EXPECT_EQ(result.manifest.num_records(Split::kHoldout), 2u);
  }
  options_.holdout->feature = "d";
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no feature 'd'")));
}

TEST_F(IndexerTest, TheSpecStaysUnlessAnotherIsGiven) {
  WriteShards(1);
  options_.spec = "one";
  ASSERT_OK(Index());
  options_.spec.reset();
  ASSERT_OK_AND_ASSIGN(const IndexResult kept, Index());
  EXPECT_EQ(kept.manifest.spec(), "one");
  options_.spec = "two";
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult other, Index());
  EXPECT_EQ(other.manifest.spec(), "two");
  EXPECT_EQ(other.read_shards, 0u);
}

TEST_F(IndexerTest, TakesTheNamesOfClassesThatStandBesideTheShards) {
  WriteShards(1);
  const auto names = [this] {
    const absl::StatusOr<IndexResult> result = Index();
    EXPECT_OK(result);
    const auto of_manifest = result->manifest.class_names();
    return std::vector<std::string>(of_manifest.begin(), of_manifest.end());
  };
  EXPECT_THAT(names(), IsEmpty());
  folder_.Write("classes.txt", "cat\ndog\n");
  EXPECT_THAT(names(), ElementsAre("cat", "dog"));
  options_.update = true;
  folder_.Write("classes.txt", "cow\n");
  EXPECT_THAT(names(), ElementsAre("cow"));
  folder_.Write("classes.txt", std::string(5000, 'x'));
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("classes.txt: ")));
}

TEST_F(IndexerTest, FeaturesAreCheckedBeforeShardsAreRead) {
  WriteShards(2);
  options_.progress = [](uint64_t) { return absl::InternalError("a shard was read"); };
  options_.check_features = [](const FeatureSummary& features, RecordFormat) {
    return absl::InvalidArgumentError(NamesOf(features.features));
  };
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument, "d (bytes), s (int64)"));
}

TEST_F(IndexerTest, TwoDatasetsAreRefusedNamingBoth) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  folder_.Write("b.tfrecord", TableShard(100).text());
  options_.threads = 1;
  EXPECT_THAT(Index(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.tfrecord and "), HasSubstr("b.tfrecord have different"),
                             HasSubstr("'d' (bytes)"), HasSubstr("--mixed-features"))));
  options_.mixed_features = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult mixed, Index());
  EXPECT_EQ(mixed.manifest.features().features.size(), 4u);
}

TEST_F(IndexerTest, AnUpdateRefusesAnotherDataset) {
  WriteShards(2);
  ASSERT_OK(Index());
  folder_.Write("z.tfrecord", TableShard(100).text());
  options_.update = true;
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("s0.tfrecord and "), HasSubstr("z.tfrecord"))));
}

TEST_F(IndexerTest, SaysWhatNothingReads) {
  folder_.Write("a.tfrecord", ShardBuilder({TableExample(1, 2) + "\x1a\x01x"}).text());
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.unread, std::vector<std::string>{"field 3 of the record"});
}

// A shard of records with these numbers of tokens. A record of none lacks the feature.
std::string TokenShard(const std::vector<int>& counts) {
  ShardBuilder shard;
  for (const int count : counts) {
    std::string run;
    for (int i = 0; i < count; ++i) run += Varint(7);
    const std::string tokens = count > 0 ? Entry("tokens", Field(3, Field(1, run))) : "";
    shard.Add(Example(Entry("id", Int64Kind(count)) + tokens));
  }
  return shard.text();
}

class SurveyTest : public IndexerTest {
 protected:
  void Write(const std::string& name, const std::vector<int>& counts) {
    folder_.Write(name, TokenShard(counts));
  }
  Manifest Indexed() {
    absl::StatusOr<IndexResult> result = Index();
    EXPECT_OK(result);
    return std::move(result->manifest);
  }
  // Expects that the manifest says of the features what a new index says.
  void ExpectLikeNew(const Manifest& manifest) {
    options_.update = false;
    const Manifest anew = Indexed();
    EXPECT_EQ(manifest.features(), anew.features());
    for (size_t i = 0; i < anew.shards().size(); ++i) {
      EXPECT_EQ(manifest.ShardFeatures(i), anew.ShardFeatures(i)) << i;
    }
  }
  static std::string SpecOf(const Manifest& manifest) {
    return MakeSpec(manifest.features(), manifest.format());
  }
};

TEST_F(SurveyTest, EveryRecordCounts) {
  std::vector<int> counts(300, 3);
  counts[150] = 9;
  counts[299] = 0;
  Write("a.tfrecord", counts);
  const Manifest manifest = Indexed();
  EXPECT_TRUE(manifest.surveyed());
  EXPECT_THAT(SpecOf(manifest), HasSubstr("tokens: int64, values 3-9, in 299 of 300 records"));
}

TEST_F(SurveyTest, TheOrderOfTheRecordsDoesNotChangeTheSpec) {
  std::vector<int> counts(250, 3);
  counts[0] = 0;
  counts[200] = 9;
  Write("a.tfrecord", counts);
  Write("b.tfrecord", {5});
  const std::string spec = SpecOf(Indexed());
  std::swap(counts[0], counts[249]);
  std::swap(counts[3], counts[200]);
  Write("a.tfrecord", {5});
  Write("b.tfrecord", counts);
  EXPECT_EQ(SpecOf(Indexed()), spec);
}

TEST_F(SurveyTest, AnUpdateForgetsRecordsThatAreGone) {
  for (const char* name : {"a.tfrecord", "b.tfrecord", "c.tfrecord"}) Write(name, {3, 4});
  Write("d.tfrecord", {0, 100});
  Write("e.tfrecord", {200, 3});
  Indexed();
  std::filesystem::remove(folder_.File("d.tfrecord"));
  Write("e.tfrecord", {5, 3, 3});
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult updated, Index());
  EXPECT_EQ(updated.read_shards, 1u);
  EXPECT_THAT(SpecOf(updated.manifest), HasSubstr("# tokens: int64, values 3-5\n"));
  ExpectLikeNew(updated.manifest);
}

TEST_F(SurveyTest, RecordsThatAreLeftOutDoNotCount) {
  options_.spec = "checked";
  options_.exclude_corrupt = true;
  options_.find_check = [](const std::string&) -> PayloadCheckMaker {
    return [] {
      return PayloadCheck([](std::span<const uint8_t> payload) {
        return payload.size() > 100 ? absl::DataLossError("long") : absl::OkStatus();
      });
    };
  };
  Write("a.tfrecord", {3, 200, 4});
  const Manifest manifest = Indexed();
  EXPECT_EQ(manifest.features().records, 2u);
  EXPECT_THAT(SpecOf(manifest), HasSubstr("# tokens: int64, values 3-4\n"));
}

TEST_F(SurveyTest, AManifestWithoutASurveyKeepsWhatItSays) {
  Write("a.tfrecord", {3, 4});
  Write("b.tfrecord", {7});
  const Manifest indexed = Indexed();
  ManifestBuilder older;
  older.SetFeatures(
      {9, {{"tokens", "int64", false, 9, {1, 6}}, {"id", "int64", false, 9, {1, 1}}}});
  older.SetChunkTarget(indexed.chunk_target());
  ShardInfo first = indexed.shards()[0];
  first.survey.reset();
  const ChunkInfo chunk = indexed.chunk(0);
  older.AddShard(first);
  older.AddChunk({.size = chunk.size, .records = chunk.records, .crc32c = chunk.crc32c});
  ASSERT_OK_AND_ASSIGN(const Manifest before, older.Build());
  EXPECT_FALSE(before.surveyed());
  ASSERT_OK(before.Save(options_.output));
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult updated, Index());
  EXPECT_EQ(updated.read_shards, 1u);
  EXPECT_FALSE(updated.manifest.surveyed());
  EXPECT_THAT(updated.manifest.features().features,
              ElementsAre(FeatureInfo{"tokens", "int64", false, 10, {1, 7}},
                          FeatureInfo{"id", "int64", false, 10, {1, 1}}));
  EXPECT_EQ(updated.manifest.content_fingerprint(), indexed.content_fingerprint());
  EXPECT_EQ(Indexed().features(), updated.manifest.features());
  std::filesystem::remove(folder_.File("a.tfrecord"));
  EXPECT_TRUE(Indexed().surveyed());
}

}  // namespace
}  // namespace penstock
