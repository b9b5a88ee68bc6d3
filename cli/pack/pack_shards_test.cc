// Tests `penstock pack --from tfrecord` as a user calls it, and other commands on its shards.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "records/format/tfrecord_reader.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Payload(int64_t number) {
  return Example(Entry("id", Int64Kind(number)) +
                 (number % 3 == 0 ? "" : Entry("rating", Int64Kind(number * 2))));
}

class PackShardsTest : public CommandFixture {
 protected:
  PackShardsTest()
      : CommandFixture({AddPackCommand, AddIndexCommand, AddInspectCommand, AddStreamCommand}) {}

  int Pack(const std::vector<std::string>& inputs, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"pack", "--from", "tfrecord"};
    words.insert(words.end(), inputs.begin(), inputs.end());
    words.insert(words.end(), {"-o", out()});
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  std::string out() const { return folder_.File("out"); }

  // Writes records [first, first + count) as one file.
  std::string Write(const std::string& name, int first, int count,
                    Compression compression = Compression::kNone) const {
    ShardBuilder shard;
    for (int i = first; i < first + count; ++i) shard.Add(Payload(i));
    if (compression != Compression::kNone) shard.Compress(compression);
    return folder_.Write(name, shard.text());
  }

  // Returns the content of each shard by its name.
  std::map<std::string, std::string> Shards() const {
    std::map<std::string, std::string> shards;
    for (const auto& entry : fs::directory_iterator(out())) {
      const std::string file = entry.path().filename();
      if (entry.path().extension() == ".tfrecord") shards[file] = folder_.Read("out/" + file);
    }
    return shards;
  }
  // Returns the records of all shards, in the order of the shards' names.
  std::vector<std::string> Records() const {
    std::vector<std::string> records;
    for (const auto& [file, content] : Shards()) {
      const MemorySource source(file, {content.begin(), content.end()});
      TfRecordReader reader(source);
      Record record;
      while (reader.Next(record).value()) {
        records.emplace_back(record.payload.begin(), record.payload.end());
      }
    }
    return records;
  }
  static std::vector<std::string> Payloads(int first, int count) {
    std::vector<std::string> payloads;
    for (int i = first; i < first + count; ++i) payloads.push_back(Payload(i));
    return payloads;
  }

  TempFolder folder_;
};

TEST_F(PackShardsTest, KeepsAllRecordsInTheirOrder) {
  Write("in/a.tfrecord", 0, 30);
  Write("in/b.tfrecord.gz", 30, 30, Compression::kGzip);
  Write("in/sub/c.tfrecord", 60, 30, Compression::kZstd);
  ASSERT_EQ(Pack({folder_.File("in")}), 0) << error_;
  EXPECT_EQ(Records(), Payloads(0, 90));
  EXPECT_TRUE(Shards().contains("in-00000-of-00001.tfrecord"));
  EXPECT_THAT(error_, HasSubstr("90 records in 3 files"));
}

TEST_F(PackShardsTest, ShardsDoNotDependOnHowTheInputIsCompressed) {
  std::map<std::string, std::string> expected;
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    const std::string first = Write("a.tfrecord", 0, 300, compression);
    const std::string second = Write("b.tfrecord", 300, 300, compression);
    ASSERT_EQ(Pack({first, second}, {"--seed", "7", "--force", "--records-per-shard", "100"}), 0)
        << error_;
    if (expected.empty()) expected = Shards();
    EXPECT_EQ(Shards(), expected);
  }
  std::vector<std::string> records = Records(), all = Payloads(0, 600);
  EXPECT_NE(records, all);
  std::sort(records.begin(), records.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(records, all);
}

TEST_F(PackShardsTest, AMemberThatIndexRefusesBecomesOneOfSeveralMembers) {
  CounterRng rng(1);
  ShardBuilder shard;
  std::string noise(1 << 20, ' ');
  for (int i = 0; i < 70; ++i) {
    for (size_t at = 0; at < noise.size(); at += 64) noise[at] = static_cast<char>(rng.Below(256));
    shard.Add(Example(Entry("x", BytesKind(noise))));
  }
  shard.Compress(Compression::kZstd);
  const std::string large = folder_.Write("in/large.tfrecord", shard.text());
  EXPECT_EQ(Run({"index", folder_.File("in")}), 1);
  EXPECT_THAT(error_, HasSubstr("penstock pack --from tfrecord '" + large + "' -o OUT"));
  ASSERT_EQ(Pack({large}, {"--compression", "zstd"}), 0) << error_;
  ASSERT_EQ(Run({"index", out(), "--json", "-"}), 0) << error_;
  EXPECT_EQ(Json()["records"], 70);
  EXPECT_GE(Json()["chunks"], 70);
}

TEST_F(PackShardsTest, NamesShardsByTheSetOfTheFirstFile) {
  const std::string in = Write("train-00003-of-00010.tfrecord.gz", 0, 3, Compression::kGzip);
  ASSERT_EQ(Pack({in}), 0) << error_;
  EXPECT_TRUE(Shards().contains("train-00000-of-00001.tfrecord"));
}

TEST_F(PackShardsTest, GlobNamesTheShardsOfAFolder) {
  Write("in/a.records", 0, 3);
  Write("in/b.tfrecord", 3, 2);
  EXPECT_EQ(Pack({folder_.File("in")}, {"--glob", "*.bin"}), 1);
  EXPECT_THAT(error_, HasSubstr("has no files *.bin but others"));
  ASSERT_EQ(Pack({folder_.File("in")}, {"--glob", "*.records"}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre(Payload(0), Payload(1), Payload(2)));
}

TEST_F(PackShardsTest, NoGlobTakesTheManifestOfTheFolder) {
  Write("in/a.records", 0, 3);
  const std::vector<std::string> index = {"index", folder_.File("in"), "--glob", "*"};
  ASSERT_EQ(Run(index), 0) << error_;
  ASSERT_EQ(Run(index), 0) << error_;  // The manifest lies in the folder now.
  EXPECT_THAT(out_, HasSubstr("1 shard, 3 records"));
  ASSERT_EQ(Pack({folder_.File("in")}, {"--glob", "*"}), 0) << error_;
  EXPECT_EQ(Records().size(), 3u);
}

TEST_F(PackShardsTest, LeavesOutRecordsThatLackAFeature) {
  Write("in/a.tfrecord", 0, 9);
  Write("in/b.tfrecord.gz", 9, 9, Compression::kGzip);
  ASSERT_EQ(Pack({folder_.File("in")}, {"--filter-missing", "rating", "--json", "-"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("left out 6 records without feature rating\n"));
  EXPECT_EQ(Json()["lacking"], 6);
  EXPECT_EQ(Json()["records"], 12);
  EXPECT_THAT(Records(), Not(testing::Contains(Payload(3))));
  EXPECT_EQ(Pack({folder_.File("in")}, {"--filter-missing", "ratings", "--force"}), 1);
  EXPECT_THAT(error_,
              HasSubstr("0 records are invalid, 18 records lack a feature of --filter-missing"));
}

TEST_F(PackShardsTest, StopsAtADamagedRecordWithItsPlace) {
  ShardBuilder shard({Payload(0), Payload(1), Payload(2)});
  shard.FlipBitInPayload(1);
  const std::string in = folder_.Write("a.tfrecord", shard.text());
  EXPECT_EQ(Pack({in}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr(absl::StrCat(in, ": record 1: ")),
                            HasSubstr(absl::StrCat("offset ", shard.OffsetOf(1))),
                            HasSubstr("--skip-invalid leaves such records out")));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(PackShardsTest, SkipsListsAndCountsOnRequest) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    ShardBuilder shard;
    for (int i = 0; i < 6; ++i) shard.Add(Payload(i));
    shard.FlipBitInPayload(1);
    shard.FlipBitInLength(4);
    if (compression != Compression::kNone) shard.Compress(compression);
    const std::string damaged = folder_.Write("a.tfrecord", shard.text());
    const std::string good = Write("b.tfrecord", 6, 2);
    ASSERT_EQ(Pack({damaged, good}, {"--skip-invalid", "--json", "-", "--force"}), 0) << error_;
    EXPECT_THAT(Records(), ElementsAre(Payload(0), Payload(2), Payload(3), Payload(6), Payload(7)));
    EXPECT_THAT(error_, AllOf(HasSubstr("a.tfrecord: record 1: "),
                              HasSubstr("the file cannot be read from there on"),
                              HasSubstr("skipped 2 invalid records")));
    EXPECT_EQ(Json()["skipped"], 2);
    EXPECT_THAT(Json()["skipped_records"][1].get<std::string>(), HasSubstr("record 4"));
  }
}

TEST_F(PackShardsTest, ARecordThatIsNoExampleIsInvalidOnlyForTheFilter) {
  ShardBuilder shard({Payload(1), "raw bytes"});
  const std::string in = folder_.Write("a.tfrecord", shard.text());
  ASSERT_EQ(Pack({in}), 0) << error_;
  EXPECT_THAT(Records(), ElementsAre(Payload(1), "raw bytes"));
  EXPECT_EQ(Pack({in}, {"--filter-missing", "id", "--force"}), 1);
  EXPECT_THAT(error_,
              HasSubstr(absl::StrCat("a.tfrecord: record 1 at offset ", shard.OffsetOf(1))));
}

TEST_F(PackShardsTest, RefusesInputInTheOutput) {
  const std::string in = Write("out/a.tfrecord", 0, 3);
  EXPECT_EQ(Pack({in}), 2);
  EXPECT_THAT(error_, HasSubstr("its records would be there twice"));
  EXPECT_EQ(Pack({out()}), 2);
}

TEST_F(PackShardsTest, SaysWhatIsWrongWithTheInput) {
  EXPECT_EQ(Pack({folder_.File("none")}), 1);
  EXPECT_THAT(error_, HasSubstr("/none: No such file"));
  EXPECT_EQ(Pack({folder_.Write("a.tfrecord", "")}), 1);
  EXPECT_THAT(error_, HasSubstr("no record to pack: the input has none"));
  EXPECT_EQ(Pack({folder_.Write("b.tfrecord", "this is a text, which is no shard")}), 1);
  EXPECT_THAT(error_, HasSubstr("b.tfrecord: record 0: this is no TFRecord file"));
}

TEST_F(PackShardsTest, ExitsWithTwoOnWrongFlags) {
  const std::string in = Write("a.tfrecord", 0, 3);
  EXPECT_EQ(Pack({in}, {"--max-side", "20"}), 2);
  EXPECT_EQ(Run({"pack", "a.tsv", "-o", out(), "--filter-missing", "x"}), 2);
  EXPECT_THAT(error_, HasSubstr("--filter-missing cannot be used"));
}

}  // namespace
}  // namespace penstock
