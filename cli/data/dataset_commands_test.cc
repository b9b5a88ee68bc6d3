// Tests `penstock index`, `penstock inspect` and `penstock decode` as a user calls them.
#include <cstring>
#include <filesystem>

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

class DatasetCommandsTest : public CommandFixture {
 protected:
  DatasetCommandsTest() : CommandFixture({AddIndexCommand, AddInspectCommand, AddDecodeCommand}) {}

  TempFolder folder_;
};

TEST_F(DatasetCommandsTest, IndexesAFolder) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"index", folder_.path(), "--holdout", "50%", "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["records"], 100);
  EXPECT_GT(Json()["holdout_records"], 20);
  EXPECT_EQ(Json()["manifest"], folder_.File("manifest.pb"));
  ASSERT_EQ(Run({"index", folder_.path(), "--update"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("read 0 shards, reused 1"));
  ASSERT_EQ(Run({"index", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr(" held out by 'd', as before; --holdout 0 removes the split)"));
}

TEST_F(DatasetCommandsTest, VerifyingDamageExitsWithOne) {
  ShardBuilder shard = ChessShard(100);
  shard.FlipBitInPayload(7);
  folder_.Write("a.tfrecord", shard.text());
  EXPECT_EQ(Run({"index", folder_.path(), "--verify"}), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("a.tfrecord: record 7 at offset"), HasSubstr("payload CRC")));
  EXPECT_EQ(Run({"index", folder_.path()}), 1);
  EXPECT_THAT(error_, HasSubstr("--exclude-corrupt"));
  EXPECT_EQ(Run({"index", folder_.path(), "--exclude-corrupt", "--json", "-"}), 0);
  EXPECT_EQ(Json()["records"], 99);
  EXPECT_EQ(Json()["damage"][0]["record"], 7);
}

TEST_F(DatasetCommandsTest, DoesNotAdviseToLeaveOutRecordsForADamagedManifest) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0) << error_;
  folder_.Write("manifest.pb", folder_.Read("manifest.pb").substr(0, 40));
  for (const char* more : {"--verify", "--update"}) {
    EXPECT_EQ(Run({"index", folder_.path(), more}), 1);
    EXPECT_THAT(error_, AllOf(HasSubstr("manifest.pb: "), HasSubstr("give --holdout again"),
                              Not(HasSubstr("--exclude-corrupt"))));
  }
}

TEST_F(DatasetCommandsTest, SaysHowMuchDamageIsNotListed) {
  ShardBuilder shard = ChessShard(2010);
  for (size_t i = 0; i < 2010; i += 2) shard.FlipBitInPayload(i);
  folder_.Write("a.tfrecord", shard.text());
  EXPECT_EQ(Run({"index", folder_.path(), "--verify"}), 1);
  EXPECT_THAT(out_, HasSubstr("\nand 5 damaged places that are not listed\n"));
  EXPECT_THAT(error_, HasSubstr("1,005 damaged places: "));
  EXPECT_EQ(Run({"index", folder_.path(), "--verify", "--json", "-"}), 1);
  EXPECT_EQ(Json()["damage"].size(), 1000u);
  EXPECT_EQ(Json()["damaged_places"], 1005);
}

TEST_F(DatasetCommandsTest, WrongFlagsExitWithTwo) {
  folder_.Write("a.tfrecord", ChessShard(1).text());
  EXPECT_EQ(Run({"index"}), 2);
  EXPECT_EQ(Run({"index", folder_.File("a.tfrecord")}), 2);
  EXPECT_EQ(Run({"index", folder_.path(), "--holdout", "200%"}), 2);
  EXPECT_EQ(Run({"index", folder_.path(), "--chunk-size", "many"}), 2);
  EXPECT_EQ(Run({"index", folder_.path(), "--chunk-size", "256"}), 2);
  EXPECT_THAT(error_, HasSubstr("give a unit"));
  EXPECT_EQ(Run({"index", folder_.path(), "--chunk-size", "1GiB"}), 2);
  EXPECT_THAT(error_, HasSubstr("--chunk-size"));
  EXPECT_EQ(Run({"index", folder_.path(), "--threads", "5000"}), 2);
  EXPECT_THAT(error_, HasSubstr("--threads"));
  EXPECT_EQ(Run({"inspect"}), 2);
  EXPECT_EQ(Run({"decode", folder_.File("a.tfrecord"), "-o", "x", "--dtype", "bf16"}), 2);
}

TEST_F(DatasetCommandsTest, InspectsAFolderAndWritesNothing) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("not saved; run penstock index " + folder_.path()));
  EXPECT_EQ(folder_.NumEntries(), 1u);
  EXPECT_THAT(
      out_, AllOf(HasSubstr("records   100\n"), HasSubstr("d: bytes, length 194"),
                  HasSubstr("a.tfrecord, record 0, "), HasSubstr("scores of 100 of 100 records")));
  ASSERT_EQ(Run({"index", folder_.path()}), 0);
  ASSERT_EQ(Run({"inspect", folder_.File("manifest.pb"), "--json", "-"}), 0);
  EXPECT_EQ(Json()["kind"], "manifest");
  EXPECT_EQ(Json()["scores"]["records"], 100);
}

TEST_F(DatasetCommandsTest, InspectsAShardAndCountsMatesStoredAsZero) {
  ShardBuilder shard;
  std::string mate = ChessExample(0, 0);
  mate[mate.find("\xc2\x01") + 2 + 193] |= 0x20;  // Bit 1546.
  shard.Add(mate);
  shard.Add(ChessExample(1, 36));
  shard.Compress(Compression::kZstd);
  ASSERT_EQ(Run({"inspect", folder_.Write("a.zst", shard.text()), "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["kind"], "shard");
  EXPECT_EQ(Json()["container"], "zstd");
  EXPECT_EQ(Json()["records"], 2);
  EXPECT_EQ(Json()["scores"]["mates_stored_as_zero"], 1);
}

// Returns a compressed shard of three members. If `unpacks`, the second has a damaged record.
// Otherwise it cannot be decompressed.
std::string DamagedGzip(bool unpacks) {
  std::vector<uint8_t> members;
  for (int member = 0; member < 3; ++member) {
    ShardBuilder shard = ChessShard(100);
    if (member == 1 && unpacks) shard.FlipBitInPayload(30);
    const size_t begin = members.size();
    EXPECT_OK(CompressMember(Compression::kGzip, shard.bytes(), members));
    if (member == 1 && !unpacks) members[begin] ^= 0xff;
  }
  return {members.begin(), members.end()};
}

TEST_F(DatasetCommandsTest, SaysWhatADamagedRecordOfACompressedShardTakesWithIt) {
  folder_.Write("a.gz", DamagedGzip(/*unpacks=*/true));
  const std::vector<std::string> index = {"index", folder_.File("a.gz"), "-o", folder_.File("m.pb"),
                                          "--exclude-corrupt"};
  ASSERT_EQ(Run(index), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("record 130 at offset"), HasSubstr("with 100 records, up to"),
                          HasSubstr("left out  1 damaged place: "),
                          HasSubstr("with 100 records = 33.3 % of the bytes\n")));
  ASSERT_EQ(Run({"inspect", folder_.File("m.pb")}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("with at least 100 records\n"));
}

TEST_F(DatasetCommandsTest, SaysThatAllBehindAMemberThatCannotBeUnpackedIsLost) {
  const std::string text = DamagedGzip(/*unpacks=*/false);
  folder_.Write("a.gz", text);
  std::vector<std::string> index = {"index", folder_.File("a.gz"), "-o", folder_.File("m.pb"),
                                    "--verify"};
  EXPECT_EQ(Run(index), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("record 100 at offset"),
                          HasSubstr("with at least 1 record, to the end of the file\n")));
  EXPECT_THAT(error_, AllOf(HasSubstr("1 damaged place: "),
                            HasSubstr("with at least 1 record = 66.7 % of the bytes; ")));
  index.insert(index.end(), {"--exclude-corrupt", "--json", "-"});
  ASSERT_EQ(Run(index), 0) << error_;
  const uint64_t lost = text.size() - Json()["damage"][0]["offset"].get<uint64_t>();
  EXPECT_EQ(Json()["damaged_bytes"], lost);
  EXPECT_EQ(Json()["all_damaged_records_counted"], false);
  EXPECT_EQ(Json()["damage"][0]["to_end_of_file"], true);
  ASSERT_EQ(Run({"inspect", folder_.File("m.pb"), "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["excluded_bytes"], lost);
}

TEST_F(DatasetCommandsTest, SaysThatDamageTookAWholeShard) {
  ShardBuilder bad = ChessShard(100);
  bad.FlipBitInPayload(30);
  bad.Compress(Compression::kZstd);
  folder_.Write("a.tfrecord.zst", bad.text());
  const std::string sound = ChessShard(100).text();
  folder_.Write("b.tfrecord", sound);
  ASSERT_EQ(Run({"index", folder_.path(), "--exclude-corrupt"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr(" = all of 1 of 2 shards, "));
  ASSERT_EQ(Run({"index", folder_.path(), "--exclude-corrupt", "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["lost_shards"], 1);
  EXPECT_EQ(Json()["shard_bytes"], Json()["damaged_bytes"].get<uint64_t>() + sound.size());
}

TEST_F(DatasetCommandsTest, NamesShardsThatAreEmpty) {
  folder_.Write("a.tfrecord", ChessShard(10).text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0);
  EXPECT_EQ(error_.find("is empty"), std::string::npos);
  folder_.Write("b.tfrecord", "");
  folder_.Write("c.tfrecord", "");
  ASSERT_EQ(Run({"index", folder_.path()}), 0);
  EXPECT_THAT(error_, HasSubstr("b.tfrecord is empty, as are 1 more of 3 shards"));
}

TEST_F(DatasetCommandsTest, InspectNamesAShardThatChanged) {
  folder_.Write("a.tfrecord", ChessShard(100).text());
  ASSERT_EQ(Run({"index", folder_.path()}), 0);
  folder_.Write("a.tfrecord", ChessShard(50).text());
  EXPECT_EQ(Run({"inspect", folder_.File("manifest.pb")}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("a.tfrecord"), HasSubstr("index it again")));
}

TEST_F(DatasetCommandsTest, DecodesToArrays) {
  const std::string shard = folder_.Write("a.tfrecord", ChessShard(1500).text());
  ASSERT_EQ(Run({"decode", shard, "-o", folder_.File("i8")}), 0) << error_;
  EXPECT_THAT(folder_.Read("i8/planes.npy"), StartsWith("\x93NUMPY"));
  EXPECT_THAT(folder_.Read("i8/planes.npy"), HasSubstr("(1500, 8, 8, 24)"));
  EXPECT_THAT(folder_.Read("i8/flags.npy"), HasSubstr("(1500, 10)"));
  EXPECT_THAT(folder_.Read("i8/score.npy"), HasSubstr("<f4"));
  ASSERT_EQ(Run({"decode", shard, "--dtype", "packed", "-o", folder_.File("packed")}), 0) << error_;
  const std::string s = folder_.Read("packed/s.npy");
  int64_t last;
  std::memcpy(&last, s.data() + s.size() - 8, 8);
  EXPECT_EQ(last, 1499 - 50);
  EXPECT_THAT(folder_.Read("packed/d.npy"), HasSubstr("(1500, 194)"));
}

TEST_F(DatasetCommandsTest, DecodesRangesOfDatasets) {
  folder_.Write("a.tfrecord", ChessShard(700).text());
  folder_.Write("b.tfrecord", ChessShard(800, 700).text());
  const auto scores = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"decode", folder_.path(), "--dtype", "packed", "--force", "-o",
                               folder_.File("arrays")});
    EXPECT_EQ(Run(more), 0) << error_;
    std::string bytes = folder_.Read("arrays/s.npy");
    bytes.erase(0, bytes.find('\n') + 1);
    std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<int64_t> all = scores({});
  ASSERT_EQ(all.size(), 1500u);
  for (const auto& [range, begin, end] :
       std::vector<std::tuple<std::string, int, int>>{{"0:1500", 0, 1500},
                                                      {":3", 0, 3},
                                                      {"698:703", 698, 703},
                                                      {"1499:", 1499, 1500},
                                                      {"700", 700, 701},
                                                      {"10:9999", 10, 1500}}) {
    EXPECT_EQ(scores({"--records", range}),
              std::vector<int64_t>(all.begin() + begin, all.begin() + end))
        << range;
  }
  for (const char* range : {"a", "5:3", "1500:", "1:2:3", "-1:", ""}) {
    // An empty range means all records, whose files exist already.
    const int expected = *range == '\0' ? 1 : 2;
    EXPECT_EQ(Run({"decode", folder_.path(), "--dtype", "packed", "-o", folder_.File("arrays"),
                   "--records", range}),
              expected)
        << range;
  }
}

TEST_F(DatasetCommandsTest, DecodesToOneFile) {
  const std::string shard = folder_.Write("a.tfrecord", ChessShard(15).text());
  ASSERT_EQ(Run({"decode", shard, "-o", folder_.File("x.npz")}), 0) << error_;
  EXPECT_THAT(folder_.Read("x.npz"), AllOf(StartsWith("PK"), HasSubstr("planes.npy"),
                                           HasSubstr("flags.npy"), HasSubstr("score.npy")));
  EXPECT_EQ(Run({"decode", shard, "-o", folder_.File("x.npz")}), 1);
  EXPECT_THAT(error_, HasSubstr("--force"));
}

TEST_F(DatasetCommandsTest, DecodeRefusesOneNpyFileForSeveralArrays) {
  const std::string shard = folder_.Write("a.tfrecord", ChessShard(15).text());
  EXPECT_EQ(Run({"decode", shard, "-o", folder_.File("x.npy")}), 2);
  EXPECT_THAT(error_, AllOf(HasSubstr("give a folder (-o " + folder_.File("x)")),
                            HasSubstr("(-o " + folder_.File("x.npz)"))));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("x.npy")));
}

TEST_F(DatasetCommandsTest, CommandsThatReadFilesSayWhatReadsFromServers) {
  EXPECT_EQ(Run({"decode", "server:data/", "-o", folder_.File("x")}), 2);
  EXPECT_THAT(error_,
              HasSubstr("decode reads files, and server:data/ is on servers: penstock stream "
                        "server:data/ --servers LIST --npy DIR"));
  EXPECT_EQ(Run({"inspect", "server:data/"}), 2);
  EXPECT_THAT(error_, AllOf(HasSubstr("inspect reads files, and server:data/ is on servers"),
                            HasSubstr("penstock stream server:data/ and penstock bench")));
}

TEST_F(DatasetCommandsTest, InspectCountsOneRecordAsOne) {
  folder_.Write("a.tfrecord", ShardBuilder({"fourteen bytes"}).text());
  ASSERT_EQ(Run({"index", folder_.path(), "--format", "raw"}), 0) << error_;
  ASSERT_EQ(Run({"inspect", folder_.path()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("bytes     30\n"), HasSubstr("chunks    1 of 30 B\n"),
                          HasSubstr("read      1 of 1 record\n")));
}

TEST_F(DatasetCommandsTest, DecodesOtherRecordsWithAMadeSpec) {
  ShardBuilder shard;
  for (int i = 0; i < 300; ++i) {
    shard.Add(
        Example(Entry("id", Int64Kind(i)) +
                Entry("text", BytesKind(std::string(i < 200 ? size_t{3} : size_t{100}, 'x')))));
  }
  const std::string path = folder_.Write("b.tfrecord", shard.text());
  ASSERT_EQ(Run({"decode", path, "-o", folder_.File("made")}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("no --spec given: using a decode spec made from the features"));
  EXPECT_TRUE(std::filesystem::exists(folder_.File("made/id.npy")));
  EXPECT_TRUE(std::filesystem::exists(folder_.File("made/text_length.npy")));
  EXPECT_EQ(Run({"decode", path, "--spec", "chess", "-o", folder_.File("chess")}), 1);
  EXPECT_THAT(error_, HasSubstr("feature 'd' (bytes), which the records lack"));
  const std::string raw = folder_.Write("c.tfrecord", ShardBuilder({"one", "two"}).text());
  EXPECT_EQ(Run({"decode", raw, "--spec", "chess", "-o", folder_.File("chess")}), 1);
  EXPECT_THAT(error_, HasSubstr("records: RAW"));
}

TEST_F(DatasetCommandsTest, DecodeReplacesArraysWithForceAlone) {
  const std::string shard = folder_.Write("a.tfrecord", ChessShard(3).text());
  folder_.Write("score.npy", "mine");
  EXPECT_EQ(Run({"decode", shard, "-o", folder_.path()}), 1);
  EXPECT_THAT(error_, HasSubstr("/score.npy exists; --force replaces it"));
  EXPECT_EQ(folder_.Read("score.npy"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_.File("planes.npy")));
  ASSERT_EQ(Run({"decode", shard, "-o", folder_.path(), "--force"}), 0) << error_;
  EXPECT_THAT(folder_.Read("score.npy"), StartsWith("\x93NUMPY"));
}

TEST_F(DatasetCommandsTest, DecodeNamesTheRecordThatDoesNotFit) {
  ShardBuilder shard = ChessShard(2);
  shard.Add(ChessExample(2, 0, 193));
  EXPECT_EQ(Run({"decode", folder_.Write("a.tfrecord", shard.text()), "--spec", "chess", "-o",
                 folder_.File("x")}),
            1);
  EXPECT_THAT(error_, AllOf(HasSubstr("a.tfrecord"), HasSubstr("record 2"),
                            HasSubstr("'d' has 193 bytes, but the spec expects 194")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("x/planes.npy")));
}

}  // namespace
}  // namespace penstock
