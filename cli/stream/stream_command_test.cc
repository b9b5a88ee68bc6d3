// Tests `penstock stream` as a user calls it.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/stream/loader_flags.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/format/testing/shard_builder.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StreamCommandTest : public CommandFixture {
 protected:
  StreamCommandTest() : CommandFixture({AddStreamCommand}) {
    for (int s = 0; s < 2; ++s) {
      ShardBuilder shard;
      for (int i = 0; i < 500; ++i) {
        shard.Add(ChessExample(static_cast<uint64_t>(500 * s + i), i - 250));
      }
      data_.Write(absl::StrCat(s, ".tfrecord"), shard.text());
    }
  }

  // Runs `penstock stream FOLDER --json` with more options, by default with a short last step.
  // Returns 0, 1 or 2.
  int Stream(std::vector<std::string> more) {
    if (!std::count(more.begin(), more.end(), "--remainder")) {
      more.insert(more.end(), {"--remainder", "short"});
    }
    more.insert(more.begin(), {"stream", data_.path(), "--json", "-"});
    return Run(more);
  }
  std::string Digest(std::vector<std::string> more) {
    more.push_back("--digest");
    EXPECT_EQ(Stream(more), 0) << error_;
    return Json()["digest"];
  }
  // Returns SHARD<TAB>NUMBER for each row.
  std::vector<std::string> Ids(std::vector<std::string> more) {
    more.insert(more.end(), {"--ids", scratch_.File("ids")});
    EXPECT_EQ(Stream(more), 0) << error_;
    std::ifstream file(scratch_.File("ids"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TempFolder data_;
  TempFolder scratch_;
};

TEST_F(StreamCommandTest, ReportsWhatItRead) {
  ASSERT_EQ(Stream({"--epochs", "2", "--global-batch-size", "300", "--dtype", "i8"}), 0) << error_;
  EXPECT_EQ(Json()["rows"], 2000);
  EXPECT_EQ(Json()["steps"], 8);
  EXPECT_EQ(Json()["bytes"], 2000 * 1550);
  EXPECT_THAT(std::string(Json()["cursor"]), HasSubstr("-2-0"));
  EXPECT_EQ(Json()["servers"][0]["address"], "local:");
}

TEST_F(StreamCommandTest, TheDigestIsOfTheOrderAlone) {
  const std::string digest = Digest({"--seed", "5"});
  EXPECT_EQ(Digest({"--seed", "5", "--global-batch-size", "33", "--threads", "1"}), digest);
  EXPECT_EQ(Digest({"--seed", "5", "--look-ahead", "100K"}), digest);
  EXPECT_NE(Digest({"--seed", "6"}), digest);
  EXPECT_NE(Digest({"--seed", "5", "--dtype", "f32"}), digest);
}

TEST_F(StreamCommandTest, WithoutShufflingTheIdsAreInFileOrder) {
  const std::vector<std::string> ids = Ids({"--no-shuffle"});
  ASSERT_EQ(ids.size(), 1000u);
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(ids[i], absl::StrCat(i / 500, ".tfrecord\t", i % 500));
  }
}

TEST_F(StreamCommandTest, ShuffledIdsNameEveryRecordOnce) {
  const std::vector<std::string> ids = Ids({"--seed", "3"});
  ASSERT_EQ(ids.size(), 1000u);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1000u);
}

TEST_F(StreamCommandTest, ContinuesAtACursor) {
  std::vector<std::string> whole = Ids({"--seed", "3", "--global-batch-size", "128"});
  ASSERT_EQ(Stream({"--seed", "3", "--global-batch-size", "128", "--steps", "3"}), 0) << error_;
  const std::string cursor = Json()["cursor"];
  whole.erase(whole.begin(), whole.begin() + 3 * 128);
  EXPECT_EQ(Ids({"--seed", "3", "--global-batch-size", "50", "--cursor", cursor}), whole);
}

// The lines of a batch fit into stdio's buffer, so a failed write shows only when they are flushed.
TEST_F(StreamCommandTest, TellsNoCursorOfIdsThatCouldNotBeWritten) {
  EXPECT_EQ(Stream({"--global-batch-size", "10", "--ids", "/dev/full"}), 1);
  EXPECT_THAT(error_, HasSubstr("No space left"));
  EXPECT_EQ(Json()["cursor"], "");
}

TEST_F(StreamCommandTest, StepsDecideTheEpochsUnlessTheyAreGiven) {
  ASSERT_EQ(Stream({"--global-batch-size", "100", "--steps", "25"}), 0) << error_;
  EXPECT_EQ(Json()["rows"], 2500);
  ASSERT_EQ(Stream({"--global-batch-size", "100", "--steps", "25", "--epochs", "1"}), 0) << error_;
  EXPECT_EQ(Json()["rows"], 1000);
  ASSERT_EQ(Stream({"--global-batch-size", "100"}), 0) << error_;
  EXPECT_EQ(Json()["rows"], 1000);
  EXPECT_EQ(Run({"stream", "--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("default: 1, or as many"));
}

TEST_F(StreamCommandTest, CountsOneOfEachAsOne) {
  ASSERT_EQ(Run({"stream", data_.path(), "--steps", "1", "--global-batch-size", "1"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("rows     1 in 1 step, "), HasSubstr(" 1 part, "),
                          HasSubstr("0 requests lost, 0 late, 0 windows handed over")));
}

TEST(RowsToReadTest, IsWhatIsLeftOfTheEpochsAndOfTheSteps) {
  LoaderFlags flags;
  flags.global_batch_size = 512;
  flags.world_size = 2;
  EXPECT_EQ(RowsToRead(flags, 9), 9u * 256);
  flags.steps = 100;
  EXPECT_EQ(RowsToRead(flags, 9), 9u * 256);
  flags.steps = 3;
  EXPECT_EQ(RowsToRead(flags, 9), 3u * 256);
  EXPECT_EQ(RowsToRead(flags, ~uint64_t{0}), 3u * 256);
  flags.steps = 0;
  EXPECT_EQ(RowsToRead(flags, ~uint64_t{0}), 0u);
}

TEST_F(StreamCommandTest, RanksShareEachStep) {
  std::multiset<std::string> both;
  for (const char* rank : {"0", "1"}) {
    const std::vector<std::string> ids = Ids({"--rank", rank, "--world-size", "2"});
    EXPECT_EQ(ids.size(), 500u);
    both.insert(ids.begin(), ids.end());
  }
  const std::vector<std::string> all = Ids({});
  EXPECT_EQ(both, std::multiset<std::string>(all.begin(), all.end()));
}

// The ids go to a pipe: once it has a line, the command is reading.
TEST_F(StreamCommandTest, AnInterruptEndsItAndPrintsTheCursor) {
  const std::string pipe = scratch_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::jthread reader([&pipe] {
    std::ifstream lines(pipe);
    std::string line;
    std::getline(lines, line);
    kill(getpid(), SIGINT);
    while (std::getline(lines, line)) continue;
  });
  EXPECT_EQ(Stream({"--epochs", "0", "--ids", pipe}), 128 + SIGINT);
  EXPECT_THAT(error_, HasSubstr("interrupted by SIGINT"));
  EXPECT_GT(Json()["rows"], 0);
  EXPECT_THAT(std::string(Json()["cursor"]), HasSubstr("ps1-"));
}

TEST_F(StreamCommandTest, APaceHoldsItBackAndChangesNothing) {
  const std::string digest = Digest({"--global-batch-size", "100"});
  EXPECT_EQ(Digest({"--global-batch-size", "100", "--pace", "5000"}), digest);
  EXPECT_GE(Json()["seconds"], 0.19);  // 1,000 rows; the last batch takes time too.
}

TEST_F(StreamCommandTest, AnInterruptEndsAPace) {
  std::jthread interrupter([this] {
    while (!std::ifstream(scratch_.File("waits"))) std::this_thread::yield();
    std::ifstream waits(scratch_.File("waits"));
    while (waits.peek() == std::ifstream::traits_type::eof()) waits.clear();
    kill(getpid(), SIGINT);
  });
  EXPECT_EQ(
      Stream({"--global-batch-size", "10", "--pace", "0.001", "--waits", scratch_.File("waits")}),
      128 + SIGINT);
  EXPECT_THAT(error_, HasSubstr("interrupted by SIGINT"));
  EXPECT_EQ(Json()["rows"], 10);  // Batches that were fetched ahead are not read.
}

TEST_F(StreamCommandTest, WaitsAreWrittenAndSummedUp) {
  ASSERT_EQ(Stream({"--global-batch-size", "100", "--waits", scratch_.File("waits")}), 0) << error_;
  std::ifstream file(scratch_.File("waits"));
  std::vector<double> waits;
  double before = 0;
  for (double arrived = 0, wait = 0; file >> arrived >> wait; before = arrived) {
    EXPECT_GE(arrived, before);
    EXPECT_LE(wait, arrived + 1e-6);
    waits.push_back(wait);
  }
  ASSERT_EQ(waits.size(), 10u);
  EXPECT_NEAR(Json()["first_batch_seconds"], waits[0], 1e-6);
  EXPECT_NEAR(Json()["batch_wait_seconds"]["max"],
              *std::max_element(waits.begin() + 1, waits.end()), 1e-6);
  EXPECT_LE(Json()["batch_wait_seconds"]["p50"], Json()["batch_wait_seconds"]["p99"]);
}

TEST_F(StreamCommandTest, SaysHowManyRowsMakeNoFullStep) {
  ASSERT_EQ(Run({"stream", data_.path(), "--global-batch-size", "300"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("left out 100 rows of each epoch"));
  ASSERT_EQ(Stream({"--global-batch-size", "300", "--remainder", "drop"}), 0) << error_;
  EXPECT_EQ(Json()["rows_left_out_per_epoch"], 100);
  ASSERT_EQ(Stream({"--global-batch-size", "300", "--remainder", "carry"}), 0) << error_;
  EXPECT_EQ(Json()["rows_left_out_per_epoch"], 0);
}

TEST_F(StreamCommandTest, ReplacesNoFileThatItHasNotWritten) {
  const std::vector<std::string> others = {"# Read me\n", "rnbqkbnr/8 w - -\t36\n", "one line",
                                           std::string(9000, 'x')};
  for (const std::string& content : others) {
    const std::string path = scratch_.Write("notes", content);
    for (const char* option : {"--ids", "--waits"}) {
      EXPECT_EQ(Stream({option, path}), 1);
      EXPECT_THAT(error_, AllOf(HasSubstr(option), HasSubstr("notes exists")));
    }
    EXPECT_EQ(scratch_.Read("notes"), content);
  }
  for (const char* option : {"--ids", "--waits"}) {
    const std::string path = scratch_.Write(option, "");
    EXPECT_EQ(Stream({option, path}), 0) << error_;
    EXPECT_EQ(Stream({option, path}), 0) << error_;
  }
}

TEST_F(StreamCommandTest, WrongUseExitsWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--dtype", "i9"},      {"--servers", "nowhere"},
      {"--cursor", "bad"},    {"--global-batch-size", "2", "--world-size", "3"},
      {"--rank", "1"},        {"--look-ahead", "much"},
      {"--look-ahead", "64"}, {"--memory-budget", "100"},
      {"--pace", "-1"},       {"--global-batch-size", "1001", "--remainder", "drop"}};
  for (const std::vector<std::string>& flags : wrong) {
    EXPECT_EQ(Stream(flags), 2) << flags[0] << " " << flags[1];
    EXPECT_EQ(out_, "");
  }
  EXPECT_THAT(error_, HasSubstr("no full step of 1001 rows: choose a smaller --global-batch-size, "
                                "or --remainder short"));
}

TEST_F(StreamCommandTest, NamesAManifestWithoutRecords) {
  scratch_.Write("empty.tfrecord", "");
  EXPECT_EQ(Run({"stream", scratch_.path()}), 1);
  EXPECT_THAT(error_, HasSubstr("the manifest in " + scratch_.path() + ": no records are listed"));
}

TEST_F(StreamCommandTest, ACursorThatDoesNotFitIsWrongUseAndNamed) {
  EXPECT_EQ(Stream({"--cursor", "ps1-0123456789abcdef-0-5"}), 2);
  EXPECT_THAT(error_,
              HasSubstr("--cursor: the cursor ps1-0123456789abcdef-0-5 belongs to another"));
  ASSERT_EQ(Stream({"--steps", "1"}), 0) << error_;
  const std::string cursor = out_.substr(out_.find("ps1-"), 21);  // It lacks epoch and position.
  EXPECT_EQ(Stream({"--cursor", cursor + "7-0"}), 2);
  EXPECT_THAT(error_, HasSubstr("--cursor: epoch 7, position 0 is beyond the end"));
}

TEST_F(StreamCommandTest, FailuresExitWithOneAndSayWhy) {
  EXPECT_EQ(Stream({"--split", "holdout"}), 1);
  EXPECT_THAT(error_, HasSubstr("--holdout"));
  EXPECT_EQ(Stream({"--data-root", scratch_.File("nothing")}), 1);
  EXPECT_THAT(error_, HasSubstr("nothing"));
  EXPECT_EQ(Stream({"--ids", "/dev/full"}), 1);
  EXPECT_THAT(error_, HasSubstr("No space left"));
  EXPECT_EQ(Stream({"--threads", "1", "--memory-budget", "64MiB", "--steps", "1"}), 0);
  EXPECT_EQ(error_.find("has no effect"), std::string::npos);
  EXPECT_EQ(Stream({"--servers", "127.0.0.1:1,127.0.0.1:2", "--server-timeout", "300ms",
                    "--threads", "1", "--memory-budget", "64MiB"}),
            1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("--threads has no effect here: it applies to --servers local: only"),
                    HasSubstr("--memory-budget has no effect here")));
  EXPECT_THAT(error_,
              AllOf(HasSubstr("300ms"), HasSubstr("127.0.0.1:1: "), HasSubstr("127.0.0.1:2: ")));
}

}  // namespace
}  // namespace penstock
