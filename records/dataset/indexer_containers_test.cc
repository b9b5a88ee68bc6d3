// Tests indexes of shards without TFRecord frames.
#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/container/testing/tar_builder.h"
#include "records/dataset/testing/image_example.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> PathsOf(const Manifest& manifest) {
  std::vector<std::string> paths;
  for (const ShardInfo& shard : manifest.shards()) paths.push_back(shard.path);
  return paths;
}

class IndexerContainersTest : public IndexerTest {
 protected:
  void AskForFixed(uint64_t record_bytes) {
    options_.format = RecordFormat::kRaw;
    options_.stored = {.container = Container::kFixed, .record_bytes = record_bytes};
    options_.listing.glob = "*.bin";
  }
  void AskForImages() { options_.stored = {.container = Container::kImageFile}; }
  void WriteImages() {
    for (const char* file : {"cat/1.jpg", "cat/2.JPG", "dog/1.jpg"}) {
      folder_.Write(file, SmallImage());
    }
  }
};

TEST_F(IndexerContainersTest, FixedRecordsAreCutIntoChunks) {
  AskForFixed(10);
  options_.chunk_bytes = 100;  // Four records of 26 bytes, with their frames, exceed it.
  folder_.Write("a.bin", std::string(70, 'a'));
  folder_.Write("b.bin", std::string(30, 'b'));
  folder_.Write("c.tfrecord", "not looked at");
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  const Manifest& manifest = result.manifest;
  EXPECT_THAT(PathsOf(manifest), ElementsAre("a.bin", "b.bin"));
  EXPECT_EQ(manifest.shards()[0].container, Container::kFixed);
  ASSERT_EQ(manifest.num_chunks(), 3u);
  EXPECT_EQ(manifest.chunk(0).records, 4u);
  EXPECT_EQ(manifest.chunk(0).size, 40u);
  EXPECT_EQ(manifest.chunk(0).raw_size, 4u * 26);
  EXPECT_EQ(manifest.chunk(1).offset, 40u);
  EXPECT_EQ(manifest.format(), RecordFormat::kRaw);
  ASSERT_OK_AND_ASSIGN(const Manifest loaded, Manifest::Load(options_.output));
  EXPECT_EQ(loaded.shards()[1].container, Container::kFixed);
  EXPECT_EQ(loaded.content_fingerprint(), manifest.content_fingerprint());
}

TEST_F(IndexerContainersTest, ACutFixedRecordIsNamedAndLeftOut) {
  AskForFixed(10);
  folder_.Write("a.bin", std::string(25, 'a'));
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("a.bin: record 2 at offset 20"),
                                      HasSubstr("5 of 10 bytes"), HasSubstr("--record-bytes"))));
  options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 2u);
  EXPECT_EQ(result.damage.listed().size(), 1u);
}

TEST_F(IndexerContainersTest, AnUpdateReadsRecordsOfAnotherSizeAnew) {
  AskForFixed(10);
  folder_.Write("a.bin", std::string(60, 'a'));
  ASSERT_OK(Index().status());
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(IndexResult same, Index());
  EXPECT_EQ(same.reused_shards, 1u);
  AskForFixed(20);
  ASSERT_OK_AND_ASSIGN(IndexResult other, Index());
  EXPECT_EQ(other.reused_shards, 0u);
  EXPECT_EQ(other.manifest.num_records(Split::kAll), 3u);
}

TEST_F(IndexerContainersTest, ImageFilesAreShardsWithTheirClass) {
  AskForImages();
  WriteImages();
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  const Manifest& manifest = result.manifest;
  EXPECT_THAT(PathsOf(manifest), ElementsAre("cat/1.jpg", "cat/2.JPG", "dog/1.jpg"));
  EXPECT_EQ(manifest.shards()[1].label, 0u);
  EXPECT_EQ(manifest.shards()[2].label, 1u);
  EXPECT_THAT(manifest.class_names(), ElementsAre("cat", "dog"));
  ASSERT_EQ(manifest.features().features.size(), 3u);
  EXPECT_EQ(manifest.features().features[1].name, "image/encoded");
  EXPECT_EQ(manifest.features().features[1].images, 3u);
}

TEST_F(IndexerContainersTest, AClassBeforeTheOthersChangesTheContent) {
  AskForImages();
  WriteImages();
  ASSERT_OK_AND_ASSIGN(IndexResult before, Index());
  std::filesystem::rename(folder_.File("dog"), folder_.File("ape"));
  options_.update = true;
  ASSERT_OK_AND_ASSIGN(IndexResult after, Index());
  EXPECT_THAT(PathsOf(after.manifest), ElementsAre("ape/1.jpg", "cat/1.jpg", "cat/2.JPG"));
  EXPECT_EQ(after.reused_shards, 0u);  // The label of the cats changed too.
  EXPECT_NE(after.manifest.content_fingerprint(), before.manifest.content_fingerprint());
}

TEST_F(IndexerContainersTest, OneFolderOfImagesIsTaken) {
  AskForImages();
  WriteImages();
  EXPECT_THAT(BuildIndex({folder_.File("cat"), folder_.File("dog")}, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes one folder")));
}

TEST_F(IndexerContainersTest, TarsAreRecognised) {
  TarBuilder tar;
  tar.File("0.jpg", SmallImage()).File("0.cls", "3");
  tar.File("1.jpg", SmallImage()).File("1.cls", "4").End();
  folder_.Write("a.tar", tar.bytes());
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  const Manifest& manifest = result.manifest;
  EXPECT_EQ(manifest.shards()[0].container, Container::kWebDataset);
  EXPECT_EQ(manifest.num_records(Split::kAll), 2u);
  std::vector<std::string> names;
  for (const FeatureInfo& feature : manifest.features().features) names.push_back(feature.name);
  EXPECT_THAT(names, ElementsAre("__key__", "cls", "jpg"));
}

TEST_F(IndexerContainersTest, ATarWithoutItsEndIsNamedOrLeftOutFromThere) {
  TarBuilder tar;
  tar.File("0.jpg", SmallImage()).File("0.cls", "3");  // The next sample would follow.
  folder_.Write("a.tar", tar.bytes());
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr("a.tar"), HasSubstr("the archive is truncated"))));
  options_.exclude_corrupt = true;
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 1u);
}

TEST_F(IndexerContainersTest, ASecondArchiveBehindTheEndOfATarIsNamed) {
  TarBuilder one, other;
  one.File("0.jpg", SmallImage()).File("0.cls", "3").End();
  other.File("1.jpg", SmallImage()).File("1.cls", "4").End();
  const std::string padding(3 * kTestTarBlock, '\0');
  folder_.Write("a.tar", one.bytes() + padding + other.bytes() + padding);
  const uint64_t end = one.bytes().size();
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr(absl::StrCat("ends at byte ", end,
                                                       " of the file, but a second one "
                                                       "or other bytes follow at byte ",
                                                       end + padding.size()))));
  folder_.Write("a.tar", one.bytes() + padding);
  EXPECT_OK(Index());
}

TEST_F(IndexerContainersTest, ACompressedTarIsNamed) {
  TarBuilder tar;
  tar.File("0.jpg", SmallImage()).File("0.cls", "3").End();
  std::vector<uint8_t> bytes;
  ASSERT_OK(CompressMember(Compression::kGzip, BytesOf(tar.bytes()), bytes));
  const std::string file = folder_.Write("a.tar.gz", std::string(bytes.begin(), bytes.end()));
  EXPECT_THAT(BuildIndex({file}, options_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is a compressed tar")));
}

TEST_F(IndexerContainersTest, ASampleWhosePartsAreApartIsAnError) {
  TarBuilder tar;
  tar.File("0.jpg", "a").File("1.jpg", "b").File("0.cls", "3").End();
  folder_.Write("a.tar", tar.bytes());
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'0'")));
}

TEST_F(IndexerContainersTest, ShardsHaveTheNamesThatPeopleGiveThem) {
  folder_.Write("old.tar", "taken only where nothing else is");
  folder_.Write("part-00000", ChessShard(1).text());
  folder_.Write("x.tfrec", ChessShard(2).text());
  ASSERT_OK_AND_ASSIGN(IndexResult by_name, Index());
  EXPECT_THAT(PathsOf(by_name.manifest), ElementsAre("x.tfrec"));
  std::filesystem::remove(folder_.File("x.tfrec"));
  std::filesystem::remove(folder_.File("old.tar"));
  folder_.Write("part-00001.snappy.parquet", "not taken");
  folder_.Write("part-r-00002", ChessShard(3).text());
  ASSERT_OK_AND_ASSIGN(IndexResult parts, Index());
  EXPECT_THAT(PathsOf(parts.manifest), ElementsAre("part-00000", "part-r-00002"));
  options_.listing.glob = "*-00000";
  ASSERT_OK_AND_ASSIGN(IndexResult globbed, Index());
  EXPECT_THAT(PathsOf(globbed.manifest), ElementsAre("part-00000"));
  options_.listing.glob = "*.dat";
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no files *.dat")));
}

}  // namespace
}  // namespace penstock
