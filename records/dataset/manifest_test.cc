#include "records/dataset/manifest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "gtest/gtest.h"
#include "proto/manifest.pb.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FeatureSummary Features() {
  return {40,
          {{"d", "bytes", false, 40, {1, 1}, {194, 194}},
           {"s", "int64", false, 39, {1, 3}},
           {"depth", "bytes", false, 40, {1, 1}, {85, 90}, {}, 40, 7},
           {"frames", "float", true, 40, {0, 7}, {}, {2, 4}}}};
}

// Three shards: plain, empty and compressed.
ManifestBuilder SmallBuilder() {
  ManifestBuilder builder;
  builder.SetHoldout({"d", 1u << 28});
  builder.SetFeatures(Features());
  builder.SetChunkTarget(4096);
  builder.AddShard({.path = "a.tfrecord",
                    .size = 1000,
                    .modified_ns = 5,
                    .excluded_records = 3,
                    .survey = ShardSurvey{15,
                                          {{0, 15, {1, 1}, {194, 194}},
                                           {2, 10, {1, 1}, {85, 85}, {}, 10, 5},
                                           {3, 9, {}, {}, {2, 4}}}}});
  builder.AddChunk({.size = 300, .records = 10, .holdout = 1, .crc32c = 11});
  builder.AddChunk({.size = 200, .records = 5, .crc32c = 22, .gap = 100, .first_record = 13});
  builder.AddShard({.path = "sub/empty.tfrecord"});
  builder.AddShard({.path = "/b.gz", .absolute = true, .container = Container::kGzip});
  builder.AddChunk({.size = 50, .records = 20, .holdout = 2, .crc32c = 33, .raw_size = 400});
  return builder;
}

Manifest SmallManifest() {
  absl::StatusOr<Manifest> manifest = SmallBuilder().Build();
  EXPECT_OK(manifest);
  return *std::move(manifest);
}

TEST(ManifestTest, ChunksKnowTheirPlace) {
  Manifest manifest = SmallManifest();
  ASSERT_EQ(manifest.num_chunks(), 3u);
  ChunkInfo second = manifest.chunk(1), third = manifest.chunk(2);
  EXPECT_EQ(second.offset, 400u);
  EXPECT_EQ(second.ordinal, 10u);
  EXPECT_EQ(second.first_record, 13u);
  EXPECT_EQ(second.raw_size, 200u);
  EXPECT_EQ(third.shard, 2u);
  EXPECT_EQ(third.offset, 0u);
  EXPECT_EQ(third.ordinal, 15u);
  EXPECT_EQ(third.first_record, 0u);
  EXPECT_EQ(third.raw_size, 400u);
  EXPECT_EQ(manifest.shards()[2].size, 50u);
}

TEST(ManifestTest, RecordsLeftOutLateKeepTheNumbersBefore) {
  ManifestBuilder builder;
  builder.AddShard({.path = "a.tfrecord", .excluded_records = 3});
  for (uint64_t first : {0, 10, 20, 33}) {
    builder.AddChunk({.size = 300, .records = 10, .first_record = first});
  }
  ASSERT_OK_AND_ASSIGN(Manifest built, builder.Build());
  std::string bytes = built.Serialize().value();
  ASSERT_OK_AND_ASSIGN(Manifest manifest, Manifest::Parse(BytesOf(bytes)));
  EXPECT_EQ(manifest.chunk(2).first_record, 20u);
  EXPECT_EQ(manifest.chunk(3).first_record, 33u);
}

TEST(ManifestTest, AColumnThatBeginsLateHoldsForItsOwnChunks) {
  ManifestBuilder builder;
  builder.SetHoldout({"d", 1});
  builder.AddShard({.path = "a.gz", .container = Container::kGzip, .excluded_records = 9});
  builder.AddChunk({.size = 300, .records = 10});
  builder.AddChunk({.size = 300, .records = 10, .holdout = 4, .raw_size = 900, .first_record = 15});
  builder.AddChunk({.size = 300, .records = 10});
  ASSERT_OK_AND_ASSIGN(const Manifest manifest, builder.Build());
  EXPECT_EQ(manifest.chunk_rows(0, Split::kHoldout), 0u);
  EXPECT_EQ(manifest.chunk_rows(1, Split::kHoldout), 4u);
  EXPECT_EQ(manifest.chunk_rows(2, Split::kHoldout), 0u);
  EXPECT_EQ(manifest.chunk(0).raw_size, 300u);
  EXPECT_EQ(manifest.chunk(1).raw_size, 900u);
  EXPECT_EQ(manifest.chunk(1).first_record, 15u);
  EXPECT_EQ(manifest.chunk(2).first_record, 25u);
}

TEST(ManifestTest, CountsEachSplit) {
  Manifest manifest = SmallManifest();
  EXPECT_EQ(manifest.num_records(Split::kAll), 35u);
  EXPECT_EQ(manifest.num_records(Split::kHoldout), 3u);
  EXPECT_EQ(manifest.num_records(Split::kTrain), 32u);
  EXPECT_EQ(manifest.chunk_rows(2, Split::kHoldout), 2u);
  EXPECT_EQ(manifest.chunk_rows(2, Split::kTrain), 18u);
  EXPECT_EQ(manifest.chunk_rows(1, Split::kHoldout), 0u);
}

TEST(ManifestTest, LocatesEveryRecord) {
  Manifest manifest = SmallManifest();
  for (uint64_t ordinal = 0; ordinal < 35; ++ordinal) {
    auto [chunk, index] = manifest.Locate(ordinal);
    EXPECT_EQ(manifest.chunk(chunk).ordinal + index, ordinal);
    EXPECT_LT(index, manifest.chunk(chunk).records);
    const RecordPlace place = manifest.PlaceOf(ordinal);
    EXPECT_EQ(place.shard.path, manifest.shards()[manifest.chunk(chunk).shard].path);
    EXPECT_EQ(place.number, manifest.chunk(chunk).first_record + index);
  }
}

TEST(ManifestTest, SurvivesItsFile) {
  TempFolder folder;
  Manifest saved = SmallManifest();
  EXPECT_OK(saved.Save(folder.File("manifest.pb")));
  ASSERT_OK_AND_ASSIGN(Manifest loaded, Manifest::Load(folder.File("manifest.pb")));
  EXPECT_EQ(loaded.Serialize().value(), saved.Serialize().value());
  EXPECT_EQ(loaded.content_fingerprint(), saved.content_fingerprint());
  EXPECT_EQ(loaded.base_dir(), folder.path());
  EXPECT_EQ(loaded.ShardPath(0), folder.File("a.tfrecord"));
  EXPECT_EQ(loaded.ShardPath(2), "/b.gz");
  EXPECT_EQ(loaded.chunk(1).first_record, 13u);
  EXPECT_EQ(loaded.chunk_target(), 4096u);
  EXPECT_THAT(loaded.ShardFeatures(0)->features,
              ElementsAre(FeatureInfo{"d", "bytes", false, 15, {1, 1}, {194, 194}},
                          FeatureInfo{"depth", "bytes", false, 10, {1, 1}, {85, 85}, {}, 10, 5},
                          FeatureInfo{"frames", "float", true, 9, {0, 0}, {}, {2, 4}}));
  EXPECT_EQ(loaded.ShardFeatures(1), std::nullopt);
  EXPECT_FALSE(loaded.surveyed());
}

TEST(ManifestTest, RefusesSurveysThatContradictThemselves) {
  const auto build = [](SurveyedFeature feature) {
    ManifestBuilder builder;
    builder.SetFeatures(Features());
    builder.AddShard({.path = "a", .survey = ShardSurvey{9, {feature}}});
    return builder.Build();
  };
  EXPECT_OK(build({3, 9}));
  EXPECT_THAT(build({4, 9}), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("a: survey: index 4 of 4 features")));
  EXPECT_THAT(build({0, 10}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("d: is in 10 of 9 records")));
}

TEST(ManifestTest, AnEmptyManifestSurvives) {
  ASSERT_OK_AND_ASSIGN(Manifest empty, ManifestBuilder().Build());
  ASSERT_OK_AND_ASSIGN(Manifest parsed, Manifest::Parse(BytesOf(empty.Serialize().value())));
  EXPECT_EQ(parsed.num_records(Split::kAll), 0u);
}

TEST(ManifestTest, FingerprintFollowsContentNotNames) {
  auto fingerprint = [](const std::string& path, uint32_t crc, uint32_t threshold) {
    ManifestBuilder builder;
    builder.SetHoldout({"d", threshold});
    builder.AddShard({.path = path});
    builder.AddChunk({.size = 100, .records = 2, .crc32c = crc});
    return builder.Build()->content_fingerprint();
  };
  EXPECT_EQ(fingerprint("a", 1, 7), fingerprint("elsewhere/b", 1, 7));
  EXPECT_NE(fingerprint("a", 1, 7), fingerprint("a", 2, 7));
  EXPECT_NE(fingerprint("a", 1, 7), fingerprint("a", 1, 8));
}

TEST(ManifestTest, AChunkCostsAtMost32Bytes) {
  ManifestBuilder builder;
  builder.SetHoldout({"d", 1u << 28});
  builder.AddShard({.path = "x",
                    .container = Container::kZstd,
                    .excluded_records = uint64_t{10'000} * 1'000'000});
  CounterRng rng(1);
  uint64_t record = 0;
  for (int i = 0; i < 10'000; ++i) {
    record += 1'000'000;
    builder.AddChunk({.size = 200'000 + static_cast<uint32_t>(rng.Below(100'000)),
                      .records = 1100,
                      .holdout = 55,
                      .crc32c = static_cast<uint32_t>(rng.Next()),
                      .raw_size = 400'000,
                      .gap = rng.Below(1000),
                      .first_record = record});
  }
  ASSERT_OK_AND_ASSIGN(Manifest manifest, builder.Build());
  EXPECT_LE(manifest.Serialize().value().size(), 10'000u * 32);
}

TEST(ManifestTest, RefusesToBeLongerThanReadersTake) {
  const Manifest manifest = SmallManifest();
  const uint64_t payload = manifest.Serialize().value().size() - 24;
  EXPECT_OK(manifest.Serialize(payload));
  EXPECT_THAT(manifest.Serialize(payload - 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of 3 chunks"), HasSubstr("larger chunks"))));
}

TEST(ManifestTest, OfALargeFileThatIsNoneLittleIsRead) {
  const TempFolder folder;
  const std::string path = folder.Write("s.tfrecord", "");
  std::filesystem::resize_file(path, uint64_t{1} << 36);
  EXPECT_THAT(Manifest::Load(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a Penstock manifest")));
}

TEST(ManifestTest, ReportsACutAtEveryByte) {
  std::string bytes = SmallManifest().Serialize().value();
  EXPECT_THAT(Manifest::Parse({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a Penstock manifest")));
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(Manifest::Parse(BytesOf(bytes).first(size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the manifest is truncated")))
        << size;
  }
}

TEST(ManifestTest, ReportsEveryFlippedBit) {
  const std::string bytes = SmallManifest().Serialize().value();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(Manifest::Parse(BytesOf(flipped)).ok()) << bit;
  }
}

TEST(ManifestTest, NamesTheFileAndItsNewerVersion) {
  TempFolder folder;
  std::string bytes = SmallManifest().Serialize().value();
  bytes[8] = 9;
  folder.Write("new.pb", bytes);
  EXPECT_THAT(Manifest::Load(folder.File("new.pb")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("new.pb"), HasSubstr("version 9"))));
}

TEST(ManifestTest, RefusesRandomBytes) {
  CounterRng rng(3);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes(rng.Below(100) + 8, '\0');
    for (char& c : bytes) c = static_cast<char>(rng.Next());
    EXPECT_THAT(Manifest::Parse(BytesOf(bytes)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a Penstock manifest")));
  }
}

TEST(ManifestBuilderTest, RefusesContradictions) {
  struct Case {
    ManifestBuilder::Chunk chunk;
    std::string message;
  };
  const Case cases[] = {
      {{.size = 100, .records = 0}, "has no records"},
      {{.size = 0, .records = 1}, "has no bytes"},
      {{.size = 31, .records = 2}, "2 records do not fit in 31 bytes"},
      {{.size = 32, .records = 2, .holdout = 3}, "3 of 2 records are in holdout"},
      {{.size = 400, .records = 2, .raw_size = 500}, "its shard holds plain frames"},
      {{.size = 601, .records = 2}, "pass the file's 1000 bytes"},
      {{.size = 100, .records = 2, .gap = ~uint64_t{0}}, "pass the file's 1000 bytes"},
      {{.size = 100, .records = 2, .first_record = 3}, "but 10 come before it"},
      {{.size = 100, .records = 2, .first_record = 13},
       "only 10 listed and 2 excluded records come before it"},
      {{.size = 100, .records = 2, .first_record = ~uint64_t{0}},
       "begins with record 18446744073709551615 (first_record)"}};
  for (const Case& c : cases) {
    ManifestBuilder builder;
    builder.AddShard({.path = "a", .size = 1000, .excluded_records = 2});
    builder.AddChunk({.size = 400, .records = 10});
    builder.AddChunk(c.chunk);
    EXPECT_THAT(builder.Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("a: chunk at offset 400"), HasSubstr(c.message))));
  }
}

TEST(ManifestBuilderTest, RefusesHeldOutRecordsWithoutAShare) {
  ManifestBuilder builder = SmallBuilder();
  builder.SetHoldout({"d", 0});
  EXPECT_THAT(builder.Build(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the holdout's share is 0")));
}

TEST(ManifestTest, TheWholeRecordCanDecideTheHoldout) {
  const auto with_holdout = [](const HoldoutInfo& holdout) {
    ManifestBuilder builder = SmallBuilder();
    builder.SetHoldout(holdout);
    return *builder.Build();
  };
  const Manifest whole = with_holdout({"", 1u << 28});
  EXPECT_EQ(whole.holdout().Decider(), "the whole record");
  EXPECT_EQ(SmallManifest().holdout().Decider(), "'d'");
  EXPECT_NE(whole.content_fingerprint(), SmallManifest().content_fingerprint());
  EXPECT_NE(whole.content_fingerprint(), with_holdout({"", 1u << 27}).content_fingerprint());
  ASSERT_OK_AND_ASSIGN(const Manifest parsed, Manifest::Parse(BytesOf(whole.Serialize().value())));
  EXPECT_EQ(parsed.holdout(), whole.holdout());
  EXPECT_EQ(parsed.content_fingerprint(), whole.content_fingerprint());
}

TEST(ManifestTest, KeepsFeaturesFormatAndSpec) {
  ManifestBuilder builder = SmallBuilder();
  builder.SetFormat(RecordFormat::kRaw);
  builder.SetSpec("tensor { }");
  const Manifest manifest = *builder.Build();
  ASSERT_OK_AND_ASSIGN(const Manifest parsed,
                       Manifest::Parse(BytesOf(manifest.Serialize().value())));
  EXPECT_EQ(parsed.features(), Features());
  EXPECT_EQ(parsed.format(), RecordFormat::kRaw);
  EXPECT_EQ(parsed.spec(), "tensor { }");
  // The format of the records does not affect their order.
  EXPECT_EQ(parsed.content_fingerprint(), SmallManifest().content_fingerprint());
}

TEST(ManifestTest, KeepsNamesOfClasses) {
  ManifestBuilder builder = SmallBuilder();
  builder.SetClassNames({"cat", "", "caf\xe9"});
  const Manifest manifest = *builder.Build();
  ASSERT_OK_AND_ASSIGN(const Manifest parsed,
                       Manifest::Parse(BytesOf(manifest.Serialize().value())));
  EXPECT_THAT(parsed.class_names(), ElementsAre("cat", "", "caf\xe9"));
  EXPECT_TRUE(SmallManifest().class_names().empty());
  EXPECT_EQ(parsed.content_fingerprint(), SmallManifest().content_fingerprint());
}

// All numbers differ, so that none can be mistaken for another.
PixelSums SmallSums() {
  return {.images = 3, .mean = {1, 2, 3 * PixelSums::kMostMean}, .square = {4, 5, 6}};
}

// A manifest with one shard and one image feature.
ManifestBuilder MeasuredBuilder(const PixelSums& sums) {
  ManifestBuilder builder;
  builder.SetMeasuredFeatures({"caf\xe9"});
  builder.AddShard({.path = "a.tfrecord", .pixel_sums = {sums}});
  return builder;
}

TEST(ManifestTest, KeepsPixelSums) {
  const Manifest manifest = *MeasuredBuilder(SmallSums()).Build();
  ASSERT_OK_AND_ASSIGN(const Manifest parsed,
                       Manifest::Parse(BytesOf(manifest.Serialize().value())));
  EXPECT_THAT(parsed.measured_features(), ElementsAre("caf\xe9"));
  EXPECT_THAT(parsed.shards()[0].pixel_sums, ElementsAre(SmallSums()));
  EXPECT_TRUE(SmallManifest().measured_features().empty());
}

TEST(ManifestBuilderTest, RefusesPixelSumsThatNoImagesHave) {
  PixelSums sums = SmallSums();
  for (const uint64_t images : {uint64_t{2}, (uint64_t{1} << 40) + 1, UINT64_MAX}) {
    sums.images = images;
    EXPECT_FALSE(MeasuredBuilder(sums).Build().ok()) << images;
  }
  sums = SmallSums();
  sums.square[1] = 3 * PixelSums::kMostSquare + 1;
  EXPECT_THAT(MeasuredBuilder(sums).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.tfrecord: pixel_sums: ")));
}

TEST(ManifestTest, KeepsNamesThatAreNotUtf8) {
  ManifestBuilder builder;
  builder.AddShard({.path = "caf\xe9.tfrecord"});
  ASSERT_OK_AND_ASSIGN(Manifest manifest, builder.Build());
  ASSERT_OK_AND_ASSIGN(Manifest parsed, Manifest::Parse(BytesOf(manifest.Serialize().value())));
  EXPECT_EQ(parsed.shards()[0].path, "caf\xe9.tfrecord");
}

TEST(ManifestBuilderTest, RefusesPathsThatDoNotSayWhereTheyAre) {
  for (ShardInfo shard :
       {ShardInfo{.path = ""}, ShardInfo{.path = "/a"}, ShardInfo{.path = "a", .absolute = true}}) {
    ManifestBuilder builder;
    builder.AddShard(shard);
    EXPECT_FALSE(builder.Build().ok()) << shard.path;
  }
}

// A valid file in which one field was changed to nonsense. Its CRC is right.
class ForgedManifestTest : public testing::Test {
 protected:
  using Forge = std::function<void(v1::ManifestProto&)>;

  absl::Status LoadWith(const Forge& forge) {
    const std::string bytes = SmallManifest().Serialize().value();
    v1::ManifestProto proto;
    EXPECT_TRUE(proto.ParseFromString(bytes.substr(24)));
    forge(proto);
    WriteFramed(bytes.substr(0, 24), proto.SerializeAsString());
    return Manifest::Load(path_).status();
  }
  // The error must name the file and `field`.
  void ExpectRefused(const Forge& forge, const std::string& field) {
    const absl::Status status = LoadWith(forge);
    EXPECT_FALSE(status.ok()) << field;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr(field)));
  }

 private:
  void WriteFramed(std::string header, const std::string& payload) {
    const uint32_t crc = Crc32c(BytesOf(payload));
    const uint64_t size = payload.size();
    std::memcpy(header.data() + 12, &crc, sizeof(crc));
    std::memcpy(header.data() + 16, &size, sizeof(size));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << header << payload;
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("forged.pb");
};

constexpr uint64_t kHuge[] = {uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX};

TEST_F(ForgedManifestTest, AnUnchangedOneIsTaken) {
  EXPECT_OK(LoadWith([](v1::ManifestProto&) {}));
}

// No memory of the file's size may be allocated before the size is known to be possible.
TEST(ManifestTest, RefusesASizeThatNoManifestHas) {
  const TempFolder folder;
  for (const bool says_so : {false, true}) {
    std::string header = SmallManifest().Serialize().value().substr(0, 24);
    const uint64_t size = uint64_t{1} << 40;
    if (says_so) std::memcpy(header.data() + 16, &size, sizeof(size));
    const std::string path = folder.Write("huge.pb", header);
    std::filesystem::resize_file(path, 24 + size);  // A sparse file.
    EXPECT_THAT(Manifest::Load(path), StatusIs(absl::StatusCode::kDataLoss,
                                               AllOf(HasSubstr(path), HasSubstr("1099511627776"))));
  }
}

TEST_F(ForgedManifestTest, RefusesHugeNumbersOfShards) {
  for (const uint64_t huge : kHuge) {
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_size(huge); }, "size");
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_excluded_records(huge); },
                  "excluded_records");
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(2)->set_excluded_records(huge); },
                  "excluded_records");
  }
}

TEST_F(ForgedManifestTest, RefusesNumbersOfChunksThatDoNotContinue) {
  for (const uint64_t huge : kHuge) {
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_gap(1, huge); }, "gap");
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_gap(0, huge); }, "gap");
    for (const int chunk : {0, 1}) {
      ExpectRefused(
          [&](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_first_record(chunk, huge); },
          "first_record");
    }
  }
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_first_record(1, 9); },
                "first_record");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_first_record(1, 14); },
                "first_record");
}

TEST_F(ForgedManifestTest, RefusesCountsOfChunksThatDoNotFit) {
  for (const uint32_t count : {0u, uint32_t{1} << 31, UINT32_MAX}) {
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_size(0, count); },
                  "bytes");
    ExpectRefused([&](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_records(0, count); },
                  "records");
  }
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_chunk_holdout(0, 11); },
                "holdout");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(2)->set_chunk_raw_size(0, 319); },
                "20 records do not fit in 319 bytes");
}

TEST_F(ForgedManifestTest, RefusesNamesOfClassesThatNoFolderHas) {
  ExpectRefused([](v1::ManifestProto& m) { m.add_class_name("a\nb"); }, "class 0 has a line break");
  ExpectRefused([](v1::ManifestProto& m) { m.add_class_name(std::string(4097, 'x')); },
                "class 0 has 4097 bytes");
  ExpectRefused(
      [](v1::ManifestProto& m) {
        for (int i = 0; i <= 1 << 20; ++i) m.add_class_name("");
      },
      "1048577 class names");
}

TEST_F(ForgedManifestTest, RefusesColumnsOfAnotherLength) {
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_chunk_crc32c(1); },
                "chunk_crc32c has 3 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->clear_chunk_crc32c(); },
                "chunk_crc32c has 0 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->clear_chunk_records(); },
                "chunk_records has 0 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_chunk_holdout(1); },
                "chunk_holdout has 3 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_chunk_gap(1); },
                "chunk_gap has 3 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_chunk_first_record(1); },
                "chunk_first_record has 3 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(2)->clear_chunk_raw_size(); },
                "chunk_raw_size has 0 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_chunk_raw_size(300); },
                "chunk_raw_size has 1 entries");
}

TEST_F(ForgedManifestTest, RefusesPixelSumsOfAnotherNumber) {
  ExpectRefused([](v1::ManifestProto& m) { m.add_measured_feature("image"); },
                "a.tfrecord: has 0 pixel_sums, for 1 entries of measured_feature");
  ExpectRefused(
      [](v1::ManifestProto& m) {
        v1::PixelSums& sums = *m.mutable_shard(1)->add_pixel_sums();
        for (int i = 0; i < 3; ++i) {
          sums.add_mean(0);
          sums.add_square(0);
        }
      },
      "sub/empty.tfrecord: has 1 pixel_sums, for 0 entries");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->add_pixel_sums()->add_mean(0); },
                "pixel_sums have 1 means and 0 squares");
}

TEST_F(ForgedManifestTest, RefusesWhatHasNoMeaning) {
  const auto container = [](int number) {
    return [number](v1::ManifestProto& m) {
      m.mutable_shard(0)->set_container(static_cast<v1::Container>(number));
    };
  };
  for (const int number : {-1, 6, INT32_MAX}) ExpectRefused(container(number), "container");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_size(0); }, "no bytes");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_path(""); }, "path");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_path({"a\0b", 3}); }, "path");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_path("/a"); }, "absolute");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_shard(0)->set_absolute(true); }, "absolute");
  ExpectRefused([](v1::ManifestProto& m) { m.clear_holdout(); }, "holdout");
  ExpectRefused([](v1::ManifestProto& m) { m.set_chunk_target(UINT32_MAX); }, "chunk_target");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_feature(0)->set_type("text"); },
                "feature d: type 'text'");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_feature(0)->set_min_length(195); },
                "feature d: a least length of 195");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_feature(1)->set_min_values(4); },
                "feature s: a least length of 4");
  ExpectRefused([](v1::ManifestProto& m) { m.mutable_feature(1)->set_records(41); },
                "feature s: is in 41 of 40 records");
  ExpectRefused(
      [](v1::ManifestProto& m) { m.set_format(static_cast<v1::ManifestProto::Format>(2)); },
      "record format 2 is from a newer version");
}

}  // namespace
}  // namespace penstock
