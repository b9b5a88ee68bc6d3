// Tests `penstock index`, `inspect` and `stream` on records other than chess positions.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/drawing/png.h"
#include "base/sha256.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class OwnDataTest : public CommandFixture {
 protected:
  OwnDataTest() : CommandFixture({AddIndexCommand, AddInspectCommand, AddStreamCommand}) {}

  // Has an id, three floats, tokens whose number varies, and a name in every second record.
  static std::string TableExample(int64_t i) {
    std::string tokens;
    for (int64_t k = 0; k < i % 7; ++k) tokens += Varint(static_cast<uint64_t>(i));
    const std::string row =
        FloatField(1, 0.5f) + FloatField(1, static_cast<float>(i)) + FloatField(1, -1);
    return Example(Entry("id", Int64Kind(i)) + Entry("row", Field(2, row)) +
                   Entry("tokens", Field(3, Field(1, tokens))) +
                   (i % 2 == 0 ? Entry("name", BytesKind(absl::StrCat("name ", i))) : ""));
  }

  void WriteTable(const std::string& name, int records) {
    ShardBuilder shard;
    for (int i = 0; i < records; ++i) shard.Add(TableExample(i));
    folder_.Write(name, shard.text());
  }

  TempFolder folder_;
};

// Adds 256-bit numbers as limbs of 32 bits, the lowest first.
std::string HexSum(const std::vector<Sha256::Digest>& digests) {
  std::array<uint64_t, 8> limbs = {};
  for (const Sha256::Digest& digest : digests) {
    for (size_t i = 0; i < digest.size(); ++i) {
      limbs[7 - i / 4] += uint64_t{digest[i]} << (24 - 8 * (i % 4));
    }
  }
  std::string hex;
  uint64_t carry = 0;
  for (const uint64_t limb : limbs) {
    const uint64_t sum = limb + carry;
    hex = absl::StrFormat("%08x", sum & 0xffffffff) + hex;
    carry = sum >> 32;
  }
  return hex;
}

TEST_F(OwnDataTest, TheDigestByRecordIsASumOverRecords) {
  WriteTable("a.tfrecord", 300);
  WriteTable("b.tfrecord", 100);
  const std::string spec =
      folder_.Write("my.textproto", R"(tensor { name: "id" label { feature: "id" } }
                                       tensor { name: "row" number { feature: "row" count: 3
                                                                     type: FLOAT } })");
  std::vector<Sha256::Digest> digests;
  for (uint64_t record = 0; record < 400; ++record) {
    const uint64_t id = record % 300;  // Each file begins with 0.
    const std::array<float, 3> row = {0.5f, static_cast<float>(id), -1};
    std::array<uint8_t, 28> bytes;
    std::memcpy(bytes.data(), &record, 8);
    std::memcpy(bytes.data() + 8, &id, 8);
    std::memcpy(bytes.data() + 16, row.data(), 12);
    digests.push_back(Sha256::Of(bytes));
  }
  const auto digest = [&](std::vector<std::string> more) -> std::string {
    more.insert(more.begin(),
                {"stream", folder_.path(), "--spec", spec, "--digest-by-record", "--json", "-"});
    EXPECT_EQ(Run(more), 0) << error_;
    return Json()["digest_by_record"];
  };
  const std::string expected = HexSum(digests);
  EXPECT_EQ(digest({"--global-batch-size", "50"}), expected);
  EXPECT_EQ(digest({"--global-batch-size", "7", "--remainder", "short"}), expected);
  EXPECT_EQ(digest({"--global-batch-size", "20", "--seed", "9"}), expected);
  EXPECT_EQ(digest({"--global-batch-size", "20", "--lanes", "2", "--window-chunks", "1"}),
            expected);
  EXPECT_EQ(digest({"--global-batch-size", "20", "--no-shuffle", "--threads", "1"}), expected);
  EXPECT_NE(digest({"--global-batch-size", "300"}), expected);
  EXPECT_NE(digest({"--global-batch-size", "50", "--dtype", "bf16"}), expected);
  digests.insert(digests.end(), digests.begin(), digests.begin() + 400);
  EXPECT_EQ(digest({"--global-batch-size", "50", "--epochs", "2"}), HexSum(digests));
}

TEST_F(OwnDataTest, TheDigestsByRecordOfRanksAddUp) {
  WriteTable("a.tfrecord", 400);
  std::vector<std::string> hex;
  std::vector<Sha256::Digest> parts;
  for (const std::vector<std::string>& ranks : {std::vector<std::string>{},
                                                {"--rank", "0", "--world-size", "2"},
                                                {"--rank", "1", "--world-size", "2"}}) {
    std::vector<std::string> words = {"stream", folder_.path(), "--digest-by-record"};
    words.insert(words.end(), {"--global-batch-size", "50"});
    words.insert(words.end(), ranks.begin(), ranks.end());
    ASSERT_EQ(Run(words), 0) << error_;
    const std::string kLabel = "records  sum of sha256 ";
    ASSERT_THAT(out_, HasSubstr(kLabel));
    hex.push_back(out_.substr(out_.find(kLabel) + kLabel.size(), 64));
    const std::string bytes = absl::HexStringToBytes(hex.back());
    std::copy(bytes.begin(), bytes.end(), parts.emplace_back().begin());
  }
  EXPECT_EQ(HexSum({parts[1], parts[2]}), hex[0]);
}

TEST_F(OwnDataTest, HoldsOutByTheWholeRecord) {
  WriteTable("a.tfrecord", 400);
  ASSERT_EQ(Run({"index", folder_.path(), "--holdout", "25%"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr(" held out by the whole record)"));
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr(" records by the hash of the whole record, 25 % asked for"));
  for (const char* feature : {"id", "row", "name"}) {
    const bool in_all = std::string(feature) != "name";
    EXPECT_EQ(Run({"index", folder_.path(), "--holdout", "25%", "--holdout-feature", feature}),
              in_all ? 0 : 1);
    EXPECT_THAT(out_ + error_, HasSubstr(in_all ? absl::StrCat("held out by '", feature, "'")
                                                : "because 50 of the first 100 records lack it"));
  }
}

TEST_F(OwnDataTest, InspectTellsPresenceAndLengthsOverAllRecords) {
  WriteTable("a.tfrecord", 400);
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("read      400 of 400 records\n"),
                          HasSubstr("feature   id: int64, values 1\n"),
                          HasSubstr("feature   row: float, values 3\n"),
                          HasSubstr("feature   tokens: int64, values 0-6\n"),
                          HasSubstr("feature   name: bytes, length 6-8, in 200 of 400 records\n")));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--records", "1", "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["read_records"], 1);
  EXPECT_EQ(Json()["feature_records"], 400);
  EXPECT_EQ(Json()["features"][3],
            nlohmann::json::parse(R"({"name": "tokens", "type": "int64", "feature_list": false,
                                      "records": 400, "min_values": 0, "max_values": 6})"));
}

TEST_F(OwnDataTest, SaysWhatNothingReads) {
  ShardBuilder shard;
  const std::string context = Entry("a", Int64Kind(1) + Field(4, "kind"));
  shard.Add(SequenceExample(context, ListEntry("frames", {Int64Kind(1), Int64Kind(2)})) +
            Field(7, "more"));
  folder_.Write("a.tfrecord", shard.text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0) << error_;
  EXPECT_THAT(error_, AllOf(HasSubstr("records have field 7 of the record, which Penstock ignores"),
                            HasSubstr("field 4 of feature 'a'")));
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("unread    field 7 of the record: nothing reads it\n"),
                          HasSubstr("feature   frames: int64, a list of 2 steps of 1 values\n")));
}

TEST_F(OwnDataTest, RawRecordsAreIndexedAsSuch) {
  const std::string shard = folder_.Write("a.tfrecord", ShardBuilder({"one", "three"}).text());
  EXPECT_EQ(Run({"index", folder_.path()}), 1);
  EXPECT_THAT(error_, HasSubstr("--format raw"));
  ASSERT_EQ(Run({"inspect", shard}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("format    raw"), HasSubstr("record: bytes, length 3-5\n")));
  ASSERT_EQ(Run({"index", folder_.path(), "--format", "raw", "--holdout", "5%"}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path(), "--make-spec"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("records: RAW\n"));
}

TEST_F(OwnDataTest, AMadeSpecDecodesWhatItWasMadeFrom) {
  WriteTable("a.tfrecord", 400);
  ASSERT_EQ(Run({"inspect", folder_.path(), "--make-spec"}), 0) << error_;
  EXPECT_THAT(out_, StartsWith("# Made from the features of 400 records."));
  const std::string spec = folder_.Write("my.textproto", out_);
  ASSERT_EQ(Run({"inspect", folder_.path(), "--spec", spec, "--rows", "2"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("row 0"), HasSubstr("row 1"), Not(HasSubstr("row 2")),
                          HasSubstr("f32 [3]  0.5 1 -1\n"), HasSubstr("name_present")));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--spec", spec, "--rows", "2", "--json", "-"}), 0)
      << error_;
  EXPECT_EQ(Json()["decoded"][0]["name"], "id");
  EXPECT_EQ(Json()["decoded"][0]["first_values"], nlohmann::json::parse("[[0], [1]]"));
  EXPECT_EQ(Run({"inspect", folder_.path(), "--spec", spec, "--make-spec"}), 2);
}

TEST_F(OwnDataTest, StreamsWithTheStoredSpecOrAMadeOne) {
  WriteTable("a.tfrecord", 400);
  const std::vector<std::string> stream = {"stream", folder_.path(), "--global-batch-size", "50"};
  ASSERT_EQ(Run(stream), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("no --spec given: using a decode spec made from the features"));
  EXPECT_THAT(out_, AllOf(HasSubstr("rows     400 in 8 steps"), HasSubstr(" rows/s, ")));
  const std::string spec =
      folder_.Write("my.textproto", R"(tensor { name: "id" label { feature: "id" } })");
  ASSERT_EQ(Run({"index", folder_.path(), "--spec", spec}), 0) << error_;
  ASSERT_EQ(Run(stream), 0) << error_;
  EXPECT_THAT(error_, Not(HasSubstr("--spec")));
  EXPECT_THAT(out_, HasSubstr("rows     400 in 8 steps, 3.1 KiB"));
}

TEST_F(OwnDataTest, ASpecThatDoesNotFitIsRefusedWithWhatThereIs) {
  WriteTable("a.tfrecord", 40);
  const auto refused =
      AllOf(HasSubstr("feature 'd' (bytes), which the records lack"),
            HasSubstr("id (int64), name (bytes), row (float)"), HasSubstr("--make-spec"));
  EXPECT_EQ(Run({"index", folder_.path(), "--spec", "chess"}), 1);
  EXPECT_THAT(error_, refused);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("manifest.pb")));
  EXPECT_EQ(Run({"inspect", folder_.path(), "--spec", "chess"}), 1);
  EXPECT_THAT(error_, refused);
  EXPECT_EQ(Run({"stream", folder_.path(), "--spec", "chess"}), 1);
  EXPECT_THAT(error_, refused);
  const std::string bad = folder_.Write("bad.textproto", R"(tensor { name: "x" })");
  EXPECT_EQ(Run({"index", folder_.path(), "--spec", bad}), 1);
  EXPECT_THAT(error_, HasSubstr("has no operation"));
}

TEST_F(OwnDataTest, ASpecIsCheckedAgainstEachRecordBeforeItIsStored) {
  ShardBuilder shard;
  for (int i = 0; i < 300; ++i) {
    shard.Add(Example(Entry("id", Int64Kind(int64_t{1} << 40)) +
                      (i == 250 ? "" : Entry("age", Int64Kind(7)))));
  }
  folder_.Write("a.tfrecord", shard.text());
  const auto index = [this](const std::string& spec, const std::string& more = "--json=-") {
    return Run({"index", folder_.path(), "--spec", folder_.Write("s.textproto", spec), more});
  };
  constexpr char kAge[] = R"(tensor { name: "age" label { feature: "age" } })";
  EXPECT_EQ(index(kAge), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("a.tfrecord: record 250 at offset "),
                            HasSubstr("the manifest's spec: feature 'age' is missing or empty")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("manifest.pb")));
  ASSERT_EQ(index(kAge, "--exclude-corrupt"), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("299 records"));
  EXPECT_THAT(error_, HasSubstr("penstock: not read by the spec: id\n"));
  constexpr char kId[] = R"(tensor { name: "id" number { feature: "id" count: 1 as: I32 } })";
  EXPECT_EQ(index(kId), 0) << error_;
  EXPECT_EQ(index(kId, "--verify"), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("record 0 at"), HasSubstr("with 300 records")));
}

// The message is the one with which readers refuse the rows.
TEST_F(OwnDataTest, RowsThatAreTooLargeAreNamedBeforeAnyoneReadsThem) {
  ShardBuilder shard;
  for (int i = 0; i < 3; ++i) {
    shard.Add(Example(Entry("pixels", BytesKind(std::string(4 << 20, 'p')))));
  }
  folder_.Write("a.tfrecord", shard.text());
  const auto too_large = AllOf(HasSubstr("one row has 4194304 bytes; the largest that fits has"),
                               HasSubstr("'pixels', u8 [4194304]"));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--make-spec"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("pixels"));
  EXPECT_THAT(error_, AllOf(HasSubstr("penstock: the made spec: as "), too_large));
  ASSERT_EQ(Run({"index", folder_.path(), "--verify"}), 0) << error_;
  EXPECT_THAT(error_, AllOf(HasSubstr("the spec made from the features: as "), too_large));
  EXPECT_EQ(Run({"stream", folder_.path(), "--global-batch-size", "1"}), 1);
  EXPECT_THAT(error_, too_large);
}

// Only readers and --verify decode values and find that they do not fit.
TEST_F(OwnDataTest, AnErrorOfARecordNamesTheSpecThatNobodyNamed) {
  ShardBuilder shard;
  for (int i = 0; i < 300; ++i) {
    shard.Add(Example(Entry("id", Int64Kind(i == 250 ? int64_t{1} << 40 : i))));
  }
  folder_.Write("a.tfrecord", shard.text());
  const std::string spec = folder_.Write(
      "s.textproto", R"(tensor { name: "id" number { feature: "id" count: 1 as: I32 } })");
  ASSERT_EQ(Run({"index", folder_.path(), "--spec", spec}), 0) << error_;
  EXPECT_EQ(Run({"stream", folder_.path(), "--spec", spec, "--global-batch-size", "100"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("feature 'id': I32 cannot hold 1099511627776 exactly"),
                            Not(HasSubstr("; decoded with"))));
  EXPECT_EQ(Run({"stream", folder_.path(), "--global-batch-size", "100"}), 1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("feature 'id': I32 cannot hold 1099511627776 exactly"),
                    HasSubstr("; decoded with the manifest's spec (--spec names another)\n")));
}

TEST_F(OwnDataTest, AStoredSpecIsShownAndRemoved) {
  WriteTable("a.tfrecord", 40);
  const std::string spec =
      folder_.Write("my.textproto", R"(tensor { name: "id" label { feature: "id" } })");
  ASSERT_EQ(Run({"index", folder_.path(), "--spec", spec}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("tensor    name: \"id\" label { feature: \"id\" }\n"),
                          HasSubstr("unread    row: the spec does not read it\n")));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--json", "-"}), 0) << error_;
  EXPECT_THAT(Json()["unread_by_spec"].dump(), HasSubstr("\"row\""));
  ASSERT_EQ(Run({"index", folder_.path(), "--spec", "none"}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(Not(HasSubstr("spec ")), Not(HasSubstr("unread"))));
}

TEST_F(OwnDataTest, AHoldoutOfNothingIsSaid) {
  ShardBuilder shard;
  for (int i = 0; i < 40; ++i) shard.Add(Example(Entry("label", Int64Kind(1))));
  folder_.Write("a.tfrecord", shard.text());
  ASSERT_EQ(Run({"index", folder_.path(), "--holdout", "1e-9", "--holdout-feature", "label"}), 0)
      << error_;
  EXPECT_THAT(error_, HasSubstr("the holdout split is empty: the hash of 'label' decides"));
  EXPECT_EQ(Run({"index", folder_.path(), "--holdout", "5%", "--holdout-feature", "labels"}), 1);
  EXPECT_THAT(
      error_,
      AllOf(HasSubstr("'labels' cannot decide the holdout split, because the records lack it"),
            HasSubstr("Choose another with --holdout-feature; there are label (int64)")));
}

TEST_F(OwnDataTest, AFolderWithoutShardsSaysWhatItHolds) {
  folder_.Write("notes.txt", "x");
  EXPECT_EQ(Run({"index", folder_.path()}), 1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("has no files *.tfrecord* or *.tar but others, such as "),
                    HasSubstr("notes.txt: penstock index --glob 'PATTERN' takes shards of")));
  folder_.Write("cat/a.JPG", "x");
  EXPECT_EQ(Run({"stream", folder_.path()}), 1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("a.JPG: penstock index " + folder_.path() + " --format image-folder"),
                    HasSubstr("penstock pack --from folder " + folder_.path())));
}

TEST_F(OwnDataTest, ChessIsReadAsChessAndCountedInPositions) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"stream", folder_.path(), "--global-batch-size", "50"}), 0) << error_;
  EXPECT_THAT(error_, Not(HasSubstr("--spec")));
  EXPECT_THAT(out_, HasSubstr(" positions/s, "));
}

TEST_F(OwnDataTest, TwoDatasetsAreNotOneManifest) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  WriteTable("b.tfrecord", 40);
  EXPECT_EQ(Run({"index", folder_.path(), "--threads", "1"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("a.tfrecord and "), HasSubstr("b.tfrecord have different"),
                            HasSubstr("--mixed-features")));
  ASSERT_EQ(Run({"index", folder_.path(), "--mixed-features"}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("d: bytes, length 194, in 100 of 140 records"));
}

// Samples of a WebDataset, which call their images jpg or png.
TEST_F(OwnDataTest, TheBuiltInSpecsOfImagesReadSamples) {
  const std::string png = EncodePng({2, 1, 3, {9, 0, 255, 9, 0, 255}}).value();
  ShardBuilder shard;
  for (int i = 0; i < 40; ++i) {
    shard.Add(Example(Entry("__key__", BytesKind(absl::StrCat(i))) +
                      Entry(i % 4 == 0 ? "png" : "jpg", BytesKind(png)) +
                      Entry("cls", Int64Kind(i % 3))));
  }
  folder_.Write("a.tfrecord", shard.text());
  const std::vector<std::string> stream = {"stream", folder_.path(), "--global-batch-size",
                                           "40",     "--spec",       "images-train:8"};
  ASSERT_EQ(Run(stream), 0) << error_;
  // 8 * 8 * 3 + 8 bytes for each row.
  EXPECT_THAT(out_, HasSubstr("rows     40 in 1 step, 7.8 KiB"));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--spec", "images-eval:8"}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path(), "--make-spec"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("feature: \"jpg|png\""),
                          HasSubstr("name: \"label\" label { feature: \"cls\" }")));
  ASSERT_EQ(Run({"index", folder_.path(), "--spec", "images-eval:8", "--verify", "--holdout", "50%",
                 "--holdout-feature", "jpg|jpeg|png"}),
            0)
      << error_;
  ASSERT_EQ(Run({"stream", folder_.path(), "--global-batch-size", "40", "--split", "all"}), 0)
      << error_;
  EXPECT_THAT(out_, HasSubstr("rows     40 in 1 step, 7.8 KiB"));
}

TEST_F(OwnDataTest, StatisticsOfImagesAreShown) {
  const auto example = [](uint8_t level) {
    const Picture picture = {2, 1, 3, {level, 0, 255, level, 0, 255}};
    return Example(Entry("image/encoded", BytesKind(EncodePng(picture).value())));
  };
  folder_.Write("a.tfrecord", ShardBuilder({example(0), example(51)}).text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, Not(HasSubstr("pixels ")));
  ASSERT_EQ(Run({"inspect", folder_.path(), "--json", "-"}), 0) << error_;
  EXPECT_TRUE(Json()["statistics"].empty());
  const auto shown = HasSubstr(
      "pixels    image/encoded: mean 0.1,0,1, deviation 0.1,0,0 over 2 training images\n");
  ASSERT_EQ(Run({"index", folder_.path(), "--update", "--statistics"}), 0) << error_;
  EXPECT_THAT(out_, shown);
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, shown);
  ASSERT_EQ(Run({"inspect", folder_.path(), "--json", "-"}), 0) << error_;
  const nlohmann::json statistics = Json()["statistics"][0];
  EXPECT_EQ(statistics["feature"], "image/encoded");
  EXPECT_EQ(statistics["images"], 2);
  EXPECT_DOUBLE_EQ(statistics["mean"][0], 0.1);
  EXPECT_DOUBLE_EQ(statistics["std"][0], 0.1);
}

TEST_F(OwnDataTest, SaysWhatAnUpdateDidNotRead) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0) << error_;
  ASSERT_EQ(Run({"index", folder_.path(), "--update", "--exclude-corrupt"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("1 shard was not read"));
}

}  // namespace
}  // namespace penstock
