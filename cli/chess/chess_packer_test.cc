#include "cli/chess/chess_packer.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "cli/chess/line_reader.h"
#include "cli/pack/write_shards.h"
#include "cli/terminal/interrupt.h"
#include "cli/testing/ignore.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/fen.h"
#include "records/format/example.h"
#include "records/format/testing/for_each_feature.h"
#include "records/format/tfrecord_reader.h"
#include "tests/resource_limit.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using chess::PackedPosition;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class ChessPackerTest : public ::testing::Test {
 protected:
  ChessPackerTest() {
    std::string pattern = ::testing::TempDir() + "chess_packer_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_.folder = folder_ + "/shards";
    options_.name = "p";
  }
  ~ChessPackerTest() override { fs::remove_all(folder_); }

  std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  // Returns the start position with scores 1 to `count`.
  static PositionStore Numbered(int count) {
    PositionStore store;
    for (int i = 1; i <= count; ++i) {
      store.Add(*chess::ParseTsvLine(absl::StrCat(chess::kStartFen, "\t", i)));
    }
    return store;
  }
  // Returns the scores of a shard's records; checks that `d` is the start position.
  static std::vector<int64_t> Scores(const std::string& path) {
    const auto source = FileSource::Open(path).value();
    TfRecordReader reader(*source);
    Record record;
    std::vector<int64_t> scores;
    const PackedPosition expected = *chess::ParseTsvLine(absl::StrCat(chess::kStartFen, "\t0"));
    while (reader.Next(record).value()) {
      EXPECT_OK(ForEachFeature(record.payload, [&](const FeatureView& feature) {
        if (feature.name == "s") scores.push_back(feature.ints.at(0));
        if (feature.name == "d") {
          EXPECT_TRUE(std::ranges::equal(feature.bytes.at(0), expected.d));
        }
      }));
    }
    return scores;
  }
  absl::StatusOr<WrittenShards> Write(const PositionStore& positions) const {
    return WriteShards(PositionRecords(positions), options_, {});
  }
  std::vector<std::string> FilesWritten() {
    std::vector<std::string> names;
    if (!fs::exists(options_.folder)) return names;
    for (const auto& entry : fs::directory_iterator(options_.folder)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_;
  ShardOptions options_;
};

TEST_F(ChessPackerTest, WritesRecordsInInputOrder) {
  options_.records_per_shard = 3;
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(Numbered(8)));
  EXPECT_THAT(FilesWritten(), ElementsAre("p-00000-of-00003.tfrecord", "p-00001-of-00003.tfrecord",
                                          "p-00002-of-00003.tfrecord"));
  EXPECT_THAT(Scores(written.paths[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Scores(written.paths[1]), ElementsAre(4, 5, 6));
  EXPECT_THAT(Scores(written.paths[2]), ElementsAre(7, 8));
}

TEST_F(ChessPackerTest, ShufflesAllRecordsBySeed) {
  options_.seed = 5;
  const PositionStore positions = Numbered(1000);
  std::vector<int64_t> scores;
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(positions));
  for (const std::string& path : written.paths) {
    for (int64_t score : Scores(path)) scores.push_back(score);
  }
  EXPECT_EQ(written.paths.size(), 4u);
  EXPECT_FALSE(std::is_sorted(scores.begin(), scores.end()));
  std::sort(scores.begin(), scores.end());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(scores[i], i + 1);
}

TEST_F(ChessPackerTest, CompressesOneMemberPerChunk) {
  const PositionStore positions = Numbered(1000);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    options_.compression = compression;
    options_.name = std::string(CompressionName(compression));
    ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(positions));
    EXPECT_EQ(written.chunk_bytes, 4096u);
    EXPECT_EQ(Scores(written.paths[0]).size(), 250u);
    const auto source = FileSource::Open(written.paths[0]).value();
    std::vector<uint8_t> bytes(fs::file_size(written.paths[0]));
    std::ifstream(written.paths[0]).read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    // The first member alone holds one chunk of whole records.
    Decompressor decompressor(compression);
    std::vector<uint8_t> chunk(1 << 16);
    std::span<const uint8_t> in(bytes);
    std::span<uint8_t> out(chunk);
    EXPECT_THAT(decompressor.Step(in, out), IsOkAndHolds(true));
    const size_t size = chunk.size() - out.size();
    EXPECT_GE(size, 4096u);
    EXPECT_LT(size, 4096u + 300);
  }
}

TEST_F(ChessPackerTest, RefusesExistingShardsUnlessForced) {
  ASSERT_OK(Write(Numbered(300)));
  EXPECT_THAT(Write(Numbered(10)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("p-00000-of-00004.tfrecord"), HasSubstr("--force"))));
  options_.force = true;
  ASSERT_OK(Write(Numbered(10)));
  EXPECT_THAT(FilesWritten(), ElementsAre("p-00000-of-00001.tfrecord"));
}

TEST_F(ChessPackerTest, LeavesFilesOfOtherNamesAlone) {
  fs::create_directory(options_.folder);
  for (const char* name :
       {"/p-x-of-00004.tfrecord", "/pp-00000-of-00004.tfrecord", "/p-1.tfrecord"}) {
    std::ofstream(options_.folder + name) << "x";
  }
  ASSERT_OK(Write(Numbered(10)));
  EXPECT_EQ(FilesWritten().size(), 4u);
}

// Limits the size of files while it lives, so that write() fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : limit_(RLIMIT_FSIZE, bytes) { signal(SIGXFSZ, SIG_IGN); }

 private:
  ResourceLimit limit_;
};

TEST_F(ChessPackerTest, WritesMoreShardsThanItMayOpenFiles) {
  options_.records_per_shard = 1;
  ResourceLimit descriptors(RLIMIT_NOFILE, 32);
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(Numbered(100)));
  EXPECT_EQ(FilesWritten().size(), 100u);
  EXPECT_THAT(Scores(written.paths[99]), ElementsAre(100));
}

TEST_F(ChessPackerTest, LeavesNothingOnAFullDisk) {
  options_.records_per_shard = 600;  // The second shard does not fit.
  const PositionStore positions = Numbered(1800);
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    options_.compression = compression;
    FullDisk disk(8192);
    EXPECT_THAT(Write(positions),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("no shard was written"), HasSubstr("KiB are needed"))));
    EXPECT_THAT(FilesWritten(), IsEmpty());
  }
}

TEST_F(ChessPackerTest, KeepsTheOldShardsWhenTheNewOnesDoNotFit) {
  ASSERT_OK_AND_ASSIGN(const WrittenShards old, Write(Numbered(20)));
  options_.force = true;
  {
    FullDisk disk(8192);
    EXPECT_THAT(Write(Numbered(1800)),
                StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  }
  EXPECT_THAT(FilesWritten(), ElementsAre("p-00000-of-00001.tfrecord"));
  EXPECT_EQ(Scores(old.paths[0]).size(), 20u);
}

TEST_F(ChessPackerTest, LeavesNothingWhenInterrupted) {
  InterruptGuard guard;
  std::raise(SIGTERM);
  EXPECT_THAT(Write(Numbered(300)), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(FilesWritten(), IsEmpty());
}

TEST_F(ChessPackerTest, NamesFileLineAndReasonOfAnInvalidLine) {
  const std::string start = chess::kStartFen;
  const std::string good = WriteFile("good.tsv", start + "\t+1\n");
  const std::string bad = WriteFile("bad.tsv", start + "\t+1\n" + start + "\tx\n");
  EXPECT_THAT(ReadPositions({good, bad}, false, Ignore),
              StatusIs(kInvalid, HasSubstr(bad + ":2: score 'x' is not a number")));
}

TEST_F(ChessPackerTest, CountsTheLinesItSkips) {
  const std::string start = chess::kStartFen;
  const std::string file =
      WriteFile("p.tsv", "x\n\n" + start + "\t+1\n" + start + "\n" + start + "\t-2");
  ASSERT_OK_AND_ASSIGN(const ReadPositionsResult read, ReadPositions({file}, true, Ignore));
  EXPECT_EQ(read.num_skipped, 3u);
  EXPECT_THAT(read.first_skipped, HasSubstr("p.tsv:1: no tab"));
  ASSERT_EQ(read.positions.size(), 2u);
  EXPECT_EQ(read.positions[0].s, 1);
  EXPECT_EQ(read.positions[1].s, -2);
}

TEST_F(ChessPackerTest, NamesAMissingFileAndAFolder) {
  EXPECT_THAT(ReadPositions({"/no/such.tsv"}, true, Ignore),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such.tsv")));
  EXPECT_FALSE(ReadPositions({folder_}, true, Ignore).ok());
}

TEST_F(ChessPackerTest, ReadsLinesAcrossBlocksAndCutsLongOnes) {
  const std::string middle(65530, 'a');
  const std::string path = WriteFile("lines", middle + "\nsecond line\n\nlast");
  ASSERT_OK_AND_ASSIGN(LineReader reader, LineReader::Open(path));
  absl::string_view line;
  EXPECT_THAT(reader.Next(line), IsOkAndHolds(true));
  EXPECT_EQ(line, middle.substr(0, LineReader::kMaxLineBytes));
  EXPECT_THAT(reader.Next(line), IsOkAndHolds(true));
  EXPECT_EQ(line, "second line");
  EXPECT_THAT(reader.Next(line), IsOkAndHolds(true));
  EXPECT_EQ(line, "");
  EXPECT_THAT(reader.Next(line), IsOkAndHolds(true));
  EXPECT_EQ(line, "last");
  EXPECT_EQ(reader.line_number(), 4u);
  EXPECT_THAT(reader.Next(line), IsOkAndHolds(false));
}

TEST_F(ChessPackerTest, PacksEveryRealPosition) {
  const char* root = std::getenv("PENSTOCK_TEST_DATA");
  if (root == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  const std::string data = std::string(root) + "/data/chess/";
  ASSERT_OK_AND_ASSIGN(
      const ReadPositionsResult read,
      ReadPositions({data + "Anderssen.tsv", data + "Boleslavsky.tsv"}, false, Ignore));
  EXPECT_EQ(read.positions.size(), 77348u);
  EXPECT_EQ(read.positions[0].s, -68);
  EXPECT_EQ(read.positions[39596].s, 79);
  for (uint64_t i = 0; i < read.positions.size(); ++i) {
    const bool is_mate = chess::TestBit(read.positions[i].d, chess::kMateBit);
    ASSERT_FALSE(is_mate && read.positions[i].s == 0) << i;
  }
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(read.positions));
  EXPECT_EQ(written.paths.size(), 4u);
}

}  // namespace
}  // namespace penstock
