// Tests `penstock pack` and `penstock chess generate` as a user calls them.
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/chess/fen.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Help without its line breaks.
std::string OnOneLine(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

class PackCommandTest : public CommandFixture {
 protected:
  PackCommandTest() : CommandFixture({AddPackCommand, AddChessCommand}) {
    std::string pattern = ::testing::TempDir() + "pack_command_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    input_ = folder_ + "/games.tsv";
    std::ofstream(input_) << chess::kStartFen << "\t+36\nnonsense\n" << chess::kStartFen << "\t0\n";
  }
  ~PackCommandTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string input_;
};

TEST_F(PackCommandTest, FailsAtAnInvalidLine) {
  EXPECT_EQ(Run({"pack", "--from", "chess-tsv", input_, "-o", folder_ + "/out"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("games.tsv:2: no tab between FEN and score"),
                            Not(HasSubstr("--from"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
}

TEST_F(PackCommandTest, NamesTheKindOfAFileThatHoldsNoPositions) {
  const auto says = [this](const std::string& content) {
    std::ofstream(folder_ + "/t") << content;
    EXPECT_EQ(Run({"pack", folder_ + "/t", "-o", folder_ + "/out"}), 1);
    return error_;
  };
  EXPECT_THAT(says("PAR1\x15\x04"), HasSubstr("t:1: this is Parquet: read it in Python"));
  EXPECT_THAT(says("{\"a\": 1}\n"), HasSubstr("this is JSON: --from jsonl"));
  EXPECT_THAT(says("[Event \"x\"]\n\n1. e4 *\n"), HasSubstr("this is PGN: write a line FEN"));
  EXPECT_THAT(says("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4; id \"1\";\n"),
              HasSubstr("this is EPD: write a line FEN"));
  EXPECT_THAT(says(std::string(chess::kStartFen) + "\n"), HasSubstr("no tab between FEN and"));
  EXPECT_THAT(says("a,b\n1,2\n"), HasSubstr("such as --from csv"));
}

TEST_F(PackCommandTest, SkipsAndReportsInvalidLinesOnRequest) {
  ASSERT_EQ(Run({"pack", input_, "-o", folder_ + "/out", "--skip-invalid", "--json", "-"}), 0);
  EXPECT_THAT(error_, HasSubstr("skipped 1 invalid line, the first at"));
  const nlohmann::json summary = nlohmann::json::parse(out_);
  EXPECT_EQ(summary["records"], 2);
  EXPECT_EQ(summary["skipped"], 1);
  EXPECT_EQ(summary["shards"][0], folder_ + "/out/games-00000-of-00001.tfrecord");
  EXPECT_EQ(summary["bytes"], std::filesystem::file_size(summary["shards"][0].get<std::string>()));
}

TEST_F(PackCommandTest, MoreRecordsAShardThanThereAreMakeOne) {
  for (const char* records : {"2", "3", "18446744073709551615"}) {
    EXPECT_EQ(Run({"pack", input_, "-o", folder_ + "/out", "--skip-invalid", "--force",
                   "--records-per-shard", records}),
              0);
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/out/games-00000-of-00001.tfrecord"));
  }
}

TEST_F(PackCommandTest, AFolderHoldsImages) {
  std::filesystem::create_directories(folder_ + "/photos/cat");
  EXPECT_EQ(Run({"pack", folder_ + "/photos", "-o", folder_ + "/out"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("cat"), HasSubstr(".jpg")));
}

TEST_F(PackCommandTest, ExitsWithTwoOnWrongFlags) {
  EXPECT_EQ(Run({"pack", input_}), 2);
  EXPECT_EQ(Run({"pack", "-o", folder_}), 2);
  EXPECT_EQ(Run({"pack", input_, "-o", folder_, "--from", "pgn"}), 2);
  EXPECT_EQ(Run({"pack", input_, "-o", folder_, "--compression", "lz4"}), 2);
  EXPECT_EQ(Run({"pack", input_, "-o", folder_, "--records-per-shard", "-1"}), 2);
  EXPECT_EQ(Run({"pack", input_, "-o", folder_, "--name", "a/b"}), 2);
}

TEST_F(PackCommandTest, RefusesAnEmptyInput) {
  std::ofstream(input_, std::ios::trunc).close();
  EXPECT_EQ(Run({"pack", input_, "-o", folder_ + "/out"}), 1);
  EXPECT_THAT(error_, HasSubstr("no position to pack"));
}

TEST_F(PackCommandTest, HelpShowsDefaultsAndAnExample) {
  EXPECT_EQ(Run({"pack", "--help"}), 0);
  EXPECT_THAT(OnOneLine(out_), HasSubstr("[one of: none, gzip, zstd; default: none]"));
  EXPECT_THAT(out_, HasSubstr("Example:\n"));
  EXPECT_EQ(Run({"chess", "generate", "--help"}), 0);
  EXPECT_THAT(OnOneLine(out_), HasSubstr("--nodes N Nodes to search for each position [above 0; "
                                         "default: 5000"));
  EXPECT_THAT(out_, HasSubstr("Example:\n"));
}

TEST_F(PackCommandTest, GenerateSaysHowToGetAnEngine) {
  EXPECT_EQ(
      Run({"chess", "generate", "-n", "10", "-o", folder_ + "/p.tsv", "--engine", "no-engine"}), 1);
  EXPECT_THAT(error_, HasSubstr("apt-get install stockfish"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/p.tsv"));
}

TEST_F(PackCommandTest, GenerateRefusesWrongFlagsAndExistingFiles) {
  EXPECT_EQ(Run({"chess"}), 2);
  EXPECT_EQ(Run({"chess", "generate", "-n", "0", "-o", folder_ + "/p.tsv"}), 2);
  EXPECT_EQ(Run({"chess", "generate", "-n", "1", "-o", "p", "--depth", "4", "--nodes", "5"}), 2);
  EXPECT_EQ(Run({"chess", "generate", "-n", "1", "-o", "p", "--opening-plies", "60"}), 2);
  EXPECT_EQ(Run({"chess", "generate", "-n", "1", "-o", "p", "--max-plies", "12"}), 2);
  EXPECT_EQ(Run({"chess", "generate", "-n", "1", "-o", input_}), 1);
  EXPECT_THAT(error_, HasSubstr("--force"));
}

}  // namespace
}  // namespace penstock
