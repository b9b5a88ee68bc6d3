#include "cli/chess/position_generator.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/terminal/interrupt.h"
#include "cli/testing/ignore.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/tsv_line.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class PositionGeneratorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::string> engine = FindEngine("stockfish");
    if (!engine.ok()) GTEST_SKIP() << engine.status();
    options_.engine.path = *engine;
    options_.num_positions = 150;
    options_.limit = {50, 0};
  }
  // Makes the engine end after this many commands.
  void EndEngineAfter(int commands) {
    const std::string path = folder_.File("engine");
    std::ofstream(path) << "#!/bin/sh\n"
                        << "for i in $(seq " << commands << "); do\n"
                        << "  read -r line; echo \"$line\"\n"
                        << "done | " << options_.engine.path << "\n";
    chmod(path.c_str(), 0755);
    options_.engine.path = path;
  }

  const TempFolder folder_;
  GeneratorOptions options_;
};

TEST_F(PositionGeneratorTest, GivesTheSameLinesWithAnyNumberOfEngines) {
  options_.num_engines = 1;
  const GeneratedPositions one = GeneratePositions(options_, Ignore);
  options_.num_engines = 3;
  const GeneratedPositions three = GeneratePositions(options_, Ignore);
  ASSERT_OK(one.status);
  EXPECT_EQ(one.lines, three.lines);
  options_.seed = 2;
  EXPECT_NE(one.lines, GeneratePositions(options_, Ignore).lines);
}

TEST_F(PositionGeneratorTest, GivesAsManyValidLinesAsAskedNoneTwice) {
  const GeneratedPositions positions = GeneratePositions(options_, Ignore);
  ASSERT_OK(positions.status);
  const std::vector<std::string> lines = absl::StrSplit(positions.lines, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 150u);
  std::set<std::string> boards;
  for (const std::string& line : lines) {
    EXPECT_OK(chess::ParseTsvLine(line)) << line;
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    boards.insert(fields[0] + fields[1] + fields[2] + fields[3]);
  }
  EXPECT_EQ(boards.size(), 150u);
}

TEST_F(PositionGeneratorTest, KeepsWholeGamesWhenTheEngineDies) {
  EndEngineAfter(600);
  options_.num_engines = 1;
  options_.num_positions = 100000;
  const GeneratedPositions positions = GeneratePositions(options_, Ignore);
  EXPECT_THAT(positions.status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("exited")));
  EXPECT_EQ(static_cast<uint64_t>(std::count(positions.lines.begin(), positions.lines.end(), '\n')),
            positions.num_positions);
  EXPECT_GT(positions.num_positions, 0u);
}

TEST_F(PositionGeneratorTest, LeavesNoEngineBehindWhenInterrupted) {
  InterruptGuard guard;
  options_.num_positions = 100000;
  std::atomic<bool> raised = false;  // A second signal would end the process.
  const GeneratedPositions positions = GeneratePositions(options_, [&](uint64_t) {
    if (!raised.exchange(true)) std::raise(SIGINT);
  });
  EXPECT_THAT(positions.status, StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGINT")));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(PositionGeneratorTest, GivesUpWhenNothingNewComes) {
  options_.num_positions = 100000;
  options_.limit = {1, 0};
  options_.play = {
      .min_opening_plies = 0, .max_opening_plies = 0, .max_plies = 2, .random_moves = 0};
  EXPECT_THAT(GeneratePositions(options_, Ignore).status,
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no new position in 1000 games")));
}

}  // namespace
}  // namespace penstock
