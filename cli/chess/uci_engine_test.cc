#include "cli/chess/uci_engine.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/terminal/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/chess/fen.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The engines are shell scripts that answer `go` as each test wants.
class UciEngineTest : public ::testing::Test {
 protected:
  UciEngineTest() {
    std::string pattern = ::testing::TempDir() + "uci_engine_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~UciEngineTest() override { std::filesystem::remove_all(folder_); }

  std::string WriteScript(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
    return path;
  }
  UciEngineOptions EngineThatOnGo(const std::string& commands) {
    UciEngineOptions options;
    options.path = WriteScript("engine",
                               "#!/bin/sh\n"
                               "while read -r word rest; do\n"
                               "  case $word in\n"
                               "    uci) echo 'id name Paper Engine 1'; echo uciok;;\n"
                               "    isready) echo readyok;;\n"
                               "    go) " +
                                   commands +
                                   ";;\n"
                                   "  esac\n"
                                   "done\n");
    return options;
  }

  std::string folder_;
};

TEST_F(UciEngineTest, ReadsTheLastExactScoreAndTheMove) {
  ASSERT_OK_AND_ASSIGN(UciEngine engine, UciEngine::Start(EngineThatOnGo(
                                             "echo 'info depth 1 score cp 12 nodes 9'; "
                                             "echo 'info depth 2 score cp -31 nodes 20'; "
                                             "echo 'info depth 3 score cp 90 lowerbound'; "
                                             "echo 'bestmove e2e4 ponder e7e5'")));
  EXPECT_EQ(engine.name(), "Paper Engine 1");
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, engine.Search(chess::kStartFen, {5, 0}));
  EXPECT_FALSE(evaluation.mate);
  EXPECT_EQ(evaluation.value, -31);
  EXPECT_EQ(evaluation.best_move, "e2e4");
}

TEST_F(UciEngineTest, PassesTheLimit) {
  ASSERT_OK_AND_ASSIGN(UciEngine engine,
                       UciEngine::Start(EngineThatOnGo("echo 'info score cp 1'; set -- $rest; "
                                                       "echo \"bestmove $1-$2\"")));
  EXPECT_EQ(engine.Search(chess::kStartFen, {500, 0})->best_move, "nodes-500");
  EXPECT_EQ(engine.Search(chess::kStartFen, {0, 8})->best_move, "depth-8");
}

TEST_F(UciEngineTest, SaysHowTheEngineEnded) {
  ASSERT_OK_AND_ASSIGN(UciEngine quits, UciEngine::Start(EngineThatOnGo("exit 3")));
  EXPECT_THAT(quits.Search(chess::kStartFen, {5, 0}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("exited with code 3"), HasSubstr("'go nodes 5'"))));
  ASSERT_OK_AND_ASSIGN(UciEngine dies, UciEngine::Start(EngineThatOnGo("kill -SEGV $$")));
  EXPECT_THAT(dies.Search(chess::kStartFen, {5, 0}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("killed by signal 11")));
}

TEST_F(UciEngineTest, WaitsForTheEndOfAnEngineThatClosedItsPipe) {
  ASSERT_OK_AND_ASSIGN(UciEngine slow,
                       UciEngine::Start(EngineThatOnGo("exec >&-; sleep 0.1; exit 3")));
  EXPECT_THAT(slow.Search(chess::kStartFen, {5, 0}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("exited with code 3")));
  ASSERT_OK_AND_ASSIGN(UciEngine stays, UciEngine::Start(EngineThatOnGo("exec >&-; sleep 600")));
  EXPECT_THAT(
      stays.Search(chess::kStartFen, {5, 0}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed its pipe without ending")));
}

TEST_F(UciEngineTest, StopsWaitingAfterTheTimeout) {
  UciEngineOptions mute;
  mute.path = WriteScript("mute", "#!/bin/sh\nwhile read -r line; do :; done\n");
  mute.timeout = absl::Milliseconds(50);
  EXPECT_THAT(UciEngine::Start(mute),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("mute did not answer 'uciok' within 50ms")));
}

TEST_F(UciEngineTest, StopsWaitingOnASignal) {
  InterruptGuard guard;
  ASSERT_OK_AND_ASSIGN(UciEngine engine,
                       UciEngine::Start(EngineThatOnGo("kill -INT " + std::to_string(getpid()))));
  EXPECT_THAT(engine.Search(chess::kStartFen, {5, 0}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGINT")));
}

TEST_F(UciEngineTest, LeavesNoProcessBehind) {
  pid_t pid = 0;
  {
    ASSERT_OK_AND_ASSIGN(UciEngine engine, UciEngine::Start(EngineThatOnGo(":")));
    pid = engine.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(-pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(UciEngineTest, NamesAFileThatIsNoProgram) {
  UciEngineOptions options;
  options.path = WriteScript("engine", "\x01\x02\x03");
  EXPECT_THAT(UciEngine::Start(options).status().message(),
              HasSubstr("cannot execute " + options.path));
}

TEST_F(UciEngineTest, FindsAnEngineOnThePath) {
  const std::string old_path = getenv("PATH");
  const std::string engine = WriteScript("paper-engine", "#!/bin/sh\n");
  setenv("PATH", ("/nowhere:" + folder_).c_str(), 1);
  EXPECT_THAT(FindEngine("paper-engine"), IsOkAndHolds(engine));
  EXPECT_THAT(FindEngine(engine), IsOkAndHolds(engine));
  setenv("PATH", old_path.c_str(), 1);
}

TEST_F(UciEngineTest, SaysHowToInstallAMissingEngine) {
  EXPECT_THAT(FindEngine("no-such-engine"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("apt-get install stockfish")));
  EXPECT_THAT(FindEngine("./no-such-engine"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--engine")));
}

TEST(ParseInfoScoreTest, ReadsMates) {
  Evaluation evaluation;
  EXPECT_TRUE(ParseInfoScore("info depth 5 score mate -3 nodes 7", evaluation));
  EXPECT_TRUE(evaluation.mate);
  EXPECT_EQ(evaluation.value, -3);
}

TEST(ParseInfoScoreTest, IgnoresEverythingElse) {
  Evaluation evaluation;
  for (const char* info :
       {"", "info", "info score", "info score cp", "info score cp x", "info score wdl 1",
        "info string score", "info score cp 3 upperbound", "info score cp 99999999999"}) {
    EXPECT_FALSE(ParseInfoScore(info, evaluation)) << info;
  }
}

}  // namespace
}  // namespace penstock
