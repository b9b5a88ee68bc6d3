// Tests `penstock pack --from folder` as a user calls it, and other commands on its shards.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "cli/pack/testing/small_images.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/dataset/manifest.h"
#include "records/format/testing/for_each_feature.h"
#include "records/format/tfrecord.h"
#include "records/image/geometry.h"
#include "records/image/image_decoder.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct PackedImage {
  int64_t label = -1;
  std::string text, encoded, filename;
};

class PackFolderTest : public CommandFixture {
 protected:
  PackFolderTest()
      : CommandFixture({AddPackCommand, AddIndexCommand, AddInspectCommand, AddStreamCommand}) {}

  // Runs `penstock pack` on folder in/ to out/, with more options.
  int Pack(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"pack", "--from", "folder", folder_.File("in"), "-o", out()};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  std::string out() const { return folder_.File("out"); }

  std::string Write(const std::string& name, const std::string& content) const {
    return folder_.Write("in/" + name, content);
  }
  // Writes two classes of three images.
  void WriteAnimals() const {
    for (int i = 0; i < 3; ++i) {
      Write(absl::StrCat("dog/", i, ".png"), SmallPng(20 + i, 10));
      Write(absl::StrCat("cat/sub/", i, ".jpg"), SmallJpeg(40, 30 + i));
    }
  }
  // Returns the records of all shards, in the order of the shards' names.
  std::vector<PackedImage> Records() const {
    std::vector<std::string> shards;
    for (const auto& entry : fs::directory_iterator(out())) {
      if (entry.path().extension() == ".tfrecord") shards.push_back(entry.path().filename());
    }
    std::sort(shards.begin(), shards.end());
    std::vector<PackedImage> records;
    for (const std::string& shard : shards) AddRecords(folder_.Read("out/" + shard), records);
    return records;
  }

  TempFolder folder_;

 private:
  static void AddRecords(const std::string& shard, std::vector<PackedImage>& records) {
    std::vector<std::span<const uint8_t>> payloads;
    ASSERT_OK(ParseFrames(BytesOf(shard), Verify::kPayload, payloads));
    for (const auto payload : payloads) {
      PackedImage& record = records.emplace_back();
      ASSERT_OK(ForEachFeature(payload, [&](const FeatureView& feature) {
        const auto text = [&] {
          const auto bytes = feature.bytes.at(0);
          return std::string(bytes.begin(), bytes.end());
        };
        if (feature.name == "image/class/label") record.label = feature.ints.at(0);
        if (feature.name == "image/class/text") record.text = text();
        if (feature.name == "image/encoded") record.encoded = text();
        if (feature.name == "image/filename") record.filename = text();
      }));
    }
  }
};

TEST_F(PackFolderTest, RecordsHoldTheFilesAsTheyAre) {
  WriteAnimals();
  ASSERT_EQ(Pack(), 0) << error_;
  const std::vector<PackedImage> records = Records();
  ASSERT_EQ(records.size(), 6u);
  for (size_t i = 0; i < records.size(); ++i) {
    const bool dog = i >= 3;
    EXPECT_EQ(records[i].label, dog);
    EXPECT_EQ(records[i].text, dog ? "dog" : "cat");
    EXPECT_EQ(records[i].filename,
              dog ? absl::StrCat("dog/", i - 3, ".png") : absl::StrCat("cat/sub/", i, ".jpg"));
    EXPECT_EQ(records[i].encoded, folder_.Read("in/" + records[i].filename));
  }
  EXPECT_EQ(folder_.Read("out/classes.txt"), "cat\ndog\n");
  EXPECT_TRUE(fs::exists(out() + "/in-00000-of-00001.tfrecord"));
}

TEST_F(PackFolderTest, OtherCommandsReadWhatItWrote) {
  WriteAnimals();
  ASSERT_EQ(Pack(), 0) << error_;
  ASSERT_EQ(Run({"index", out(), "--holdout", "30%"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("held out by 'image/encoded'"));
  ASSERT_EQ(Run({"inspect", out()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("classes   2: cat, dog\n"),
                          HasSubstr("feature   image/class/label: int64, values 1\n")));
  ASSERT_EQ(Run({"inspect", out(), "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["class_names"], nlohmann::json::parse(R"(["cat", "dog"])"));
  const std::string spec = folder_.Write("s.textproto", R"(
      tensor { name: "label" label { feature: "image/class/label" } }
      tensor { name: "image" bytes { feature: "image/encoded" pad { length: 4096 } } })");
  ASSERT_EQ(Run({"stream", out(), "--spec", spec, "--global-batch-size", "2"}), 0) << error_;
}

TEST_F(PackFolderTest, SeedShufflesAllRecords) {
  WriteAnimals();
  ASSERT_EQ(Pack({"--seed", "5"}), 0) << error_;
  std::vector<std::string> names;
  for (const PackedImage& record : Records()) names.push_back(record.filename);
  EXPECT_FALSE(std::is_sorted(names.begin(), names.end()));
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("cat/sub/0.jpg", "cat/sub/1.jpg", "cat/sub/2.jpg", "dog/0.png",
                                 "dog/1.png", "dog/2.png"));
}

TEST_F(PackFolderTest, StopsAtAFileThatIsNoImage) {
  WriteAnimals();
  const std::string bad = Write("cat/page.jpg", "<html>not found</html>");
  EXPECT_EQ(Pack(), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr(bad), HasSubstr("this is an HTML page"),
                            HasSubstr("--skip-invalid")));
  EXPECT_TRUE(Records().empty());
}

TEST_F(PackFolderTest, SkipsListsAndCountsOnRequest) {
  WriteAnimals();
  Write("cat/page.jpg", "<html>not found</html>");
  Write("dog/empty.png", "");
  Write("dog/Thumbs.db", "x");
  ASSERT_EQ(Pack({"--skip-invalid", "--json", "-"}), 0) << error_;
  EXPECT_THAT(error_,
              AllOf(HasSubstr("skipped " + folder_.File("in/cat/page.jpg: this is an HTML")),
                    HasSubstr("in/dog/empty.png: there are no bytes"),
                    HasSubstr("skipped 2 invalid images of 8\n"),
                    HasSubstr("left out 1 file that is not *.jpg"),
                    HasSubstr("the first is " + folder_.File("in/dog/Thumbs.db"))));
  EXPECT_EQ(Json()["records"], 6);
  EXPECT_EQ(Json()["skipped"], 2);
  EXPECT_EQ(Json()["classes"], 2);
  EXPECT_EQ(Json()["other_files"], 1);
  EXPECT_EQ(Json()["skipped_files"][1]["file"], folder_.File("in/dog/empty.png"));
  EXPECT_EQ(Records().size(), 6u);
}

TEST_F(PackFolderTest, LargeImagesBecomeSmallerJpegs) {
  Write("a/wide.jpg", SmallJpeg(400, 300));
  Write("b/tall.png", SmallPng(150, 301));
  Write("c/grey.png", SmallPng(200, 200, 1));
  Write("d/small.png", SmallPng(100, 20));
  ASSERT_EQ(Pack({"--max-side", "100"}), 0) << error_;
  const std::vector<PackedImage> records = Records();
  ASSERT_EQ(records.size(), 4u);
  ImageDecoder decoder;
  const std::vector<std::pair<Size, int>> expected = {
      {{100, 75}, 3}, {{50, 100}, 3}, {{100, 100}, 1}};
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder.Decode(BytesOf(records[i].encoded), {}));
    EXPECT_EQ(image.info.format, ImageFormat::kJpeg);
    EXPECT_EQ((Size{image.info.width, image.info.height}), expected[i].first);
    EXPECT_EQ(image.info.components, expected[i].second);
    // The gradient in another size.
    const Gradient small(image.info.width, image.info.height, 3);
    for (size_t at = 0; i < 2 && at < small.bytes.size(); ++at) {
      ASSERT_NEAR(image.pixels.data[at], small.bytes[at], 12) << i << " " << at;
    }
  }
  EXPECT_EQ(records[3].encoded, folder_.Read("in/d/small.png"));
}

TEST_F(PackFolderTest, QualityDecidesTheBytes) {
  Write("a/1.jpg", SmallJpeg(400, 300));
  size_t size[2];
  for (const bool high : {false, true}) {
    ASSERT_EQ(Pack({"--max-side", "200", "--quality", high ? "95" : "30", "--force"}), 0) << error_;
    size[high] = Records()[0].encoded.size();
  }
  EXPECT_LT(size[false], size[true]);
}

// The pixels stay as stored, so that a spec with or without `orient` has the same effect on both.
TEST_F(PackFolderTest, SmallerImagesKeepTheirOrientation) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Write(absl::StrCat("a/", orientation, ".jpg"), SmallJpeg(80, 40, 3, 0, orientation));
  }
  ASSERT_EQ(Pack({"--max-side", "20"}), 0) << error_;
  const std::vector<PackedImage> records = Records();
  ASSERT_EQ(records.size(), 8u);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    ASSERT_OK_AND_ASSIGN(const ImageInfo info,
                         ProbeImage(BytesOf(records[orientation - 1].encoded)));
    EXPECT_EQ(info.orientation, orientation);
    EXPECT_EQ(info.width, 20u);
    EXPECT_EQ(info.height, 10u);
  }
}

TEST_F(PackFolderTest, AnImageThatCannotBeMadeSmallerIsInvalid) {
  WriteAnimals();
  const std::string whole = SmallJpeg(400, 300);
  Write("cat/cut.jpg", whole.substr(0, whole.size() / 2));
  ASSERT_EQ(Pack(), 0) << error_;  // The header is valid, so packing accepts the image.
  EXPECT_EQ(Pack({"--max-side", "50", "--force"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("cat/cut.jpg: JPEG: the end marker is missing")));
}

TEST_F(PackFolderTest, ThreadsChangeNothing) {
  for (int i = 0; i < 40; ++i) {
    Write(absl::StrCat("c", i % 4, "/", i, ".jpg"), SmallJpeg(60 + i, 50, 3, i));
  }
  std::map<std::string, std::string> shards;
  for (const char* threads : {"1", "4"}) {
    ASSERT_EQ(Pack({"--max-side", "64", "--records-per-shard", "5", "--threads", threads, "--force",
                    "--seed", "1"}),
              0)
        << error_;
    for (int i = 0; i < 8; ++i) {
      const std::string file = absl::StrCat("out/in-0000", i, "-of-00008.tfrecord");
      const std::string bytes = folder_.Read(file);
      EXPECT_FALSE(bytes.empty());
      EXPECT_EQ(shards.emplace(file, bytes).first->second, bytes);
    }
  }
}

// Images of the finished shards were not decoded.
TEST_F(PackFolderTest, StartsAnewIfInvalidImagesAreToBeLeftOut) {
  for (int i = 0; i < 20; ++i) Write(absl::StrCat("a/", 10 + i, ".jpg"), SmallJpeg(8, 8, 3, i));
  Write("a/22.jpg", "no image");
  const std::vector<std::string> options = {"--records-per-shard", "4", "--threads", "1"};
  EXPECT_EQ(Pack(options), 1);
  EXPECT_THAT(
      error_,
      HasSubstr("3 of 5 shards are finished; run the same command again to write the others"));
  ASSERT_EQ(Pack({"--records-per-shard", "4", "--threads", "1", "--skip-invalid"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("removed the finished shards of an earlier, stopped run"));
  EXPECT_EQ(Records().size(), 19u);
  EXPECT_FALSE(fs::exists(out() + "/.in.partial"));
}

TEST_F(PackFolderTest, ShardsOfOtherClassesDoNotShareAFolder) {
  WriteAnimals();
  ASSERT_EQ(Pack(), 0) << error_;
  EXPECT_EQ(Pack(), 1);
  EXPECT_THAT(error_, HasSubstr("--force replaces the shards of this name"));
  EXPECT_EQ(Pack({"--name", "again"}), 0) << error_;
  Write("cow/1.jpg", SmallJpeg(8, 8));
  EXPECT_EQ(Pack({"--name", "more"}), 1);
  EXPECT_THAT(error_, HasSubstr("classes.txt has different classes from"));
  ASSERT_EQ(Pack({"--force"}), 0) << error_;
  EXPECT_EQ(folder_.Read("out/classes.txt"), "cat\ncow\ndog\n");
}

TEST_F(PackFolderTest, NamesThatAreNotUtf8AreKept) {
  Write("caf\xe9/\xff.jpg", SmallJpeg(8, 8));
  ASSERT_EQ(Pack({"--json", "-"}), 0) << error_;
  EXPECT_EQ(Records()[0].filename, "caf\xe9/\xff.jpg");
  EXPECT_EQ(Records()[0].text, "caf\xe9");
  ASSERT_EQ(Run({"inspect", out()}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("classes   1: caf\\xe9\n"));
}

TEST_F(PackFolderTest, ManyClassesAreCountedAndTheFirstNamed) {
  for (int i = 10; i < 30; ++i) Write(absl::StrCat(i, "/1.jpg"), SmallJpeg(8, 8, 3, i));
  ASSERT_EQ(Pack(), 0) << error_;
  ASSERT_EQ(Run({"inspect", out()}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("classes   20: 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, ...\n"));
}

TEST_F(PackFolderTest, ExitsWithTwoOnWrongFlags) {
  WriteAnimals();
  EXPECT_EQ(Run({"pack", "--from", "folder", folder_.File("in"), folder_.File("in"), "-o", out()}),
            2);
  EXPECT_EQ(Run({"pack", "--from", "folder", folder_.File("in"), "-o", folder_.File("in/out")}), 2);
  EXPECT_THAT(error_, HasSubstr("where it would become a class"));
  EXPECT_EQ(Pack({"--quality", "0"}), 2);
  EXPECT_EQ(Pack({"--max-side", "16385"}), 2);
  EXPECT_EQ(Run({"pack", "a.tsv", "-o", out(), "--max-side", "64"}), 2);
  EXPECT_THAT(error_, HasSubstr("--from folder"));
}

TEST_F(PackFolderTest, SaysWhatIsWrongWithAFolder) {
  Write("1.jpg", SmallJpeg(8, 8));
  EXPECT_EQ(Pack(), 1);
  EXPECT_THAT(error_, HasSubstr("has no class folders"));
  EXPECT_EQ(Run({"pack", "--from", "folder", folder_.File("none"), "-o", out()}), 1);
  EXPECT_THAT(error_, HasSubstr("/none: No such file"));
}

}  // namespace
}  // namespace penstock
