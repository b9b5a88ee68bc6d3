#include "cli/launch/rank_processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The ranks are shell scripts; $RANK is their number.
class RankProcessesTest : public testing::Test {
 protected:
  RanksEnd Run(const std::string& script, size_t ranks,
               std::chrono::milliseconds grace = std::chrono::seconds(60)) {
    std::vector<Environment> environments(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      environments[rank] = {{"PATH", "/usr/bin:/bin"}, {"RANK", absl::StrCat(rank)}};
    }
    RankProcesses processes(
        {"/bin/sh", "-c", script}, environments,
        [this](size_t rank, bool is_error, absl::string_view line) {
          lines_.push_back(absl::StrCat(rank, is_error ? " err " : " out ", line));
          if (on_line_) on_line_(line);
        },
        grace);
    return processes.Run().value();
  }

  std::vector<std::string> lines_;
  std::function<void(absl::string_view)> on_line_;
};

TEST_F(RankProcessesTest, LinesCarryTheirRank) {
  const RanksEnd end = Run("echo hello; echo trouble >&2; printf unfinished", 2);
  EXPECT_FALSE(end.failure.has_value());
  EXPECT_THAT(lines_, UnorderedElementsAre("0 out hello", "0 err trouble", "0 out unfinished",
                                           "1 out hello", "1 err trouble", "1 out unfinished"));
}

TEST_F(RankProcessesTest, TheFirstFailureEndsAllAndIsTold) {
  const RanksEnd end = Run("if [ $RANK = 1 ]; then echo no disk; exit 3; fi; exec sleep 600", 3);
  ASSERT_TRUE(end.failure.has_value());
  EXPECT_EQ(end.failure->rank, 1u);
  EXPECT_EQ(end.failure->code, 3);
  EXPECT_THAT(end.failure->last_lines, ElementsAre("no disk"));
}

TEST_F(RankProcessesTest, OnesThatIgnoreItAreKilled) {
  // The child of a rank is killed too.
  const RanksEnd end =
      Run("if [ $RANK = 1 ]; then exit 1; fi; trap '' TERM; while true; do sleep 600; done", 2,
          std::chrono::milliseconds(200));
  EXPECT_EQ(end.failure->rank, 1u);
}

TEST_F(RankProcessesTest, AKilledRankIsBlamedWithItsSignal) {
  const RanksEnd end = Run("if [ $RANK = 0 ]; then kill -KILL $$; fi; exec sleep 600", 2);
  EXPECT_EQ(end.failure->rank, 0u);
  EXPECT_EQ(end.failure->code, 128 + SIGKILL);
}

TEST_F(RankProcessesTest, SignalsArePassedOn) {
  int ready = 0;
  on_line_ = [&](absl::string_view line) {
    if (line == "ready" && ++ready == 2) kill(getpid(), SIGTERM);
  };
  const RanksEnd end =
      Run("trap 'echo saved; exit 0' TERM; echo ready; while true; do sleep 0.05; done", 2);
  EXPECT_FALSE(end.failure.has_value());
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_THAT(lines_, Contains("1 out saved"));
}

TEST_F(RankProcessesTest, OnesThatAreNotStartedYetAreNotAfterAFailureOrASignal) {
  RanksEnd end = Run("echo started; [ $RANK != 0 ] || kill -TERM $PPID; exec sleep 600", 2000);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_LT(lines_.size(), 1000u);
  lines_.clear();
  end = Run("echo started; [ $RANK != 0 ] || exit 3; exec sleep 600", 2000);
  ASSERT_TRUE(end.failure.has_value());
  EXPECT_EQ(end.failure->code, 3);
  EXPECT_LT(lines_.size(), 1000u);
}

TEST_F(RankProcessesTest, ASecondSignalAtOnceIsNotPassedOn) {
  on_line_ = [](absl::string_view line) {
    if (line != "ready") return;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
  };
  const RanksEnd end =
      Run("trap 'echo told; told=1' INT TERM; echo ready; while [ -z $told ]; do sleep 0.05; done; "
          "sleep 0.2",
          1);
  EXPECT_FALSE(end.failure.has_value());
  EXPECT_THAT(lines_, ElementsAre("0 out ready", "0 out told"));
}

TEST_F(RankProcessesTest, ASignalMayBePassedOnAsAnother) {
  RankProcesses processes(
      {"/bin/sh", "-c", "trap 'echo saved; exit 0' USR1; echo ready; while :; do sleep 0.05; done"},
      {{{"PATH", "/usr/bin:/bin"}}}, [this](size_t, bool, absl::string_view line) {
        lines_.emplace_back(line);
        if (line == "ready") kill(getpid(), SIGTERM);
      });
  processes.PassOn(SIGTERM, SIGUSR1);
  EXPECT_FALSE(processes.Run()->failure.has_value());
  EXPECT_THAT(lines_, Contains("saved"));
}

TEST_F(RankProcessesTest, SignalsReachWhatAScriptStarted) {
  signal(SIGHUP, SIG_DFL);  // Tests may run under nohup.
  on_line_ = [](absl::string_view line) {
    if (line == "ready") kill(getpid(), SIGHUP);
  };
  const RanksEnd end = Run(
      "sh -c 'trap \"echo told; exit 0\" TERM; echo ready; while :; do sleep 0.05; done'; exit 0",
      1);
  EXPECT_EQ(end.signal, SIGHUP);
  EXPECT_THAT(lines_, Contains("0 out told"));
}

TEST_F(RankProcessesTest, WhatRanksLeaveBehindIsEnded) {
  const RanksEnd end = Run("sleep 600 & echo $!", 1);
  EXPECT_FALSE(end.failure.has_value());
  ASSERT_THAT(lines_, SizeIs(1));
  const int left = std::stoi(lines_[0].substr(std::string("0 out ").size()));
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(RankProcessesTest, WhatRanksLeaveBehindInOtherGroupsIsEnded) {
  on_line_ = [](absl::string_view line) {
    if (line == "ready") kill(getpid(), SIGUSR1);
  };
  // The rank ends on the signal, and leaves a process that got none, like mpirun and its ssh.
  const std::string script = "trap 'exit 0' USR1; setsid sleep 600 & echo $!; echo ready; wait";
  Run(script, 1);
  ASSERT_THAT(lines_, SizeIs(2));
  const pid_t left = std::stoi(lines_[0].substr(strlen("0 out ")));
  EXPECT_EQ(kill(left, 0), -1);
  on_line_ = nullptr;
  lines_.clear();
  Run("setsid sleep 600 & echo $!", 1);
  EXPECT_EQ(kill(std::stoi(lines_[0].substr(strlen("0 out "))), 0), -1);
}

TEST_F(RankProcessesTest, SilenceIsTold) {
  char name[] = "/tmp/penstock-quiet-XXXXXX";
  close(mkstemp(name));
  RankProcesses processes(
      {"/bin/sh", "-c", absl::StrCat("while [ -e ", name, " ]; do sleep 0.01; done")},
      {{{"PATH", "/usr/bin:/bin"}}}, [](size_t, bool, absl::string_view) {});
  int told = 0;
  processes.TellIfQuiet(std::chrono::milliseconds(50), [&] {
    ++told;
    unlink(name);
  });
  EXPECT_FALSE(processes.Run().value().failure.has_value());
  EXPECT_EQ(told, 1);
}

TEST_F(RankProcessesTest, SilenceIsNotToldAfterALine) {
  bool printed = false;
  RankProcesses processes({"/bin/sh", "-c", "echo here; sleep 0.5"}, {{{"PATH", "/usr/bin:/bin"}}},
                          [&](size_t, bool, absl::string_view) { printed = true; });
  processes.TellIfQuiet(std::chrono::milliseconds(200), [&] { EXPECT_FALSE(printed); });
  EXPECT_FALSE(processes.Run().value().failure.has_value());
}

TEST_F(RankProcessesTest, OneThatWritesWithoutAPauseHearsSignals) {
  size_t lines = 0;
  on_line_ = [&](absl::string_view) {
    if (++lines == 1000) kill(getpid(), SIGTERM);
  };
  const RanksEnd end = Run("exec yes", 1);
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST_F(RankProcessesTest, SignalsAreHeardWhileNobodyReadsWhatIsPrinted) {
  int unread[2];
  ASSERT_EQ(pipe(unread), 0);
  LineOutput output(unread[1]);
  size_t most = 0;
  RankProcesses processes(
      {"/bin/sh", "-c", "trap 'exit 3' TERM; while :; do echo 0123456789012345678901234567; done"},
      {{{"PATH", "/usr/bin:/bin"}}}, [&](size_t, bool, absl::string_view line) {
        output.Add(line);
        most += line.size() + 1;
      });
  processes.WriteTo(output);
  // Then no more lines are read, so only a timer can cause the signal.
  signal(SIGALRM, [](int) { kill(getpid(), SIGTERM); });
  alarm(3);
  const RanksEnd end = processes.Run().value();
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(end.failure->code, 3) << "the rank was not let go on to its end";
  EXPECT_LT(most, 3 * LineOutput::kFullBytes);
  close(unread[0]);
  close(unread[1]);
}

TEST_F(RankProcessesTest, AProgramThatIsNotThereIsNamed) {
  RankProcesses processes(
      {"no-such-program"}, {{{"PATH", "/bin"}}},
      [this](size_t, bool, absl::string_view line) { lines_.emplace_back(line); });
  const RanksEnd end = processes.Run().value();
  EXPECT_EQ(end.failure->code, 127);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("no-such-program cannot be run: No such file")));
}

TEST_F(RankProcessesTest, KeepsTheLastLinesOnly) {
  const RanksEnd end = Run("for i in $(seq 100); do echo $i; done; exit 1", 1);
  EXPECT_THAT(lines_, SizeIs(100));
  EXPECT_THAT(end.failure->last_lines, SizeIs(RankProcesses::kLastLines));
  EXPECT_EQ(end.failure->last_lines.back(), "100");
  EXPECT_THAT(end.failure->first_error_lines, IsEmpty());
}

TEST_F(RankProcessesTest, KeepsTheFirstLinesOnStderrThatManyOthersFollow) {
  const RanksEnd end = Run("for i in $(seq 100); do echo $i >&2; done; exit 1", 1);
  EXPECT_THAT(end.failure->first_error_lines, ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_THAT(Run("for i in $(seq 22); do echo $i >&2; done; exit 1", 1).failure->first_error_lines,
              ElementsAre("1", "2"));
}

}  // namespace
}  // namespace penstock
