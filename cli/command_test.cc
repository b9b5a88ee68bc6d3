#include "cli/command.h"
#include "CLI/CLI.hpp"

#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/flags/number_flags.h"
#include "base/process/stop_signals.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() : app_("A tool.", "tool") {
    app_.require_subcommand(1);
    CLI::App& command = AddCommand(app_, "pour", "Pours.", "tool pour --cups 3\ntool pour");
    command.add_option("--cups", cups_, "Cups to pour");
    command.add_option("--drops", drops_, "Drops to spill");
    command.add_option("--heat", heat_, "Degrees")->check(Number(0.5, 100));
    OnRun(command, outcome_, [this] { return result_; });
  }
  template <typename... Args>
  int Run(Args... args) {
    const char* argv[] = {"tool", args...};
    return RunApp(app_, outcome_, 1 + sizeof...(args), argv);
  }

  CLI::App app_;
  int cups_ = 2;
  uint64_t drops_ = 0;
  double heat_ = 20;
  absl::Status outcome_;
  absl::Status result_;
};

TEST_F(CommandTest, ExitsWithZeroOnSuccess) {
  EXPECT_EQ(Run("pour", "--cups", "3"), 0);
  EXPECT_EQ(cups_, 3);
}

TEST_F(CommandTest, ExitsWithOneOnFailureAndSaysWhyOnStderr) {
  result_ = absl::NotFoundError("no cup");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Run("pour"), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "penstock: no cup\n");
}

TEST_F(CommandTest, ExitsWithTwoOnWrongUse) {
  EXPECT_EQ(Run("pour", "--mugs", "3"), 2);
  EXPECT_EQ(Run("spill"), 2);
  EXPECT_EQ(Run(), 2);
  result_ = Annotate(UsageError("--cups 3 needs --table"), "pour");
  EXPECT_EQ(Run("pour"), 2);
}

TEST_F(CommandTest, NumbersThatCannotBeAreWrongUse) {
  for (const char* drops : {"-1", "99999999999999999999", "1.5", "many", ""}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Run("pour", "--drops", drops), 2) << drops;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("--drops"), HasSubstr("0 to 18446744073709551615")));
  }
  for (const char* heat : {"nan", "inf", "0.4", "-3", "101", "hot"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Run("pour", "--heat", heat), 2) << heat;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("--heat"), HasSubstr("from 0.5 to 100")));
  }
  EXPECT_EQ(Run("pour", "--drops", "18446744073709551615", "--heat", "100"), 0);
  EXPECT_EQ(drops_, UINT64_MAX);
}

TEST_F(CommandTest, ExitsAsAShellSaysOfASignal) {
  InterruptGuard guard;
  std::raise(SIGINT);
  result_ = Annotate(InterruptGuard::Check(), "pour");
  EXPECT_EQ(Run("pour"), 130);
}

TEST_F(CommandTest, SuggestsTheCommandThatWasMeant) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Run("poor"), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "penstock: there is no command 'poor'; did you mean 'pour'? The commands are: pour\n");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Run("spill"), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "penstock: there is no command 'spill'. The commands are: pour\n");
}

TEST_F(CommandTest, HelpRefusesWordsThatNameNoCommand) {
  AddHelpCommand(app_);
  AddCommand(*app_.get_subcommand("pour"), "slowly", "Pours slowly.", "tool pour slowly");
  for (const auto& [word, meant] :
       {std::pair("slow", "; did you mean 'pour slowly'?"),
        std::pair("slwoly", "; did you mean 'pour slowly'?"), std::pair("x", ".")}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Run("help", "pour", word), 2);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              absl::StrCat("penstock: there is no command 'pour ", word, "'", meant,
                           " The commands are: pour, pour slowly, help\n"));
  }
}

TEST_F(CommandTest, HelpShowsACommandBelowACommand) {
  AddHelpCommand(app_);
  AddCommand(*app_.get_subcommand("pour"), "slowly", "Pours slowly.", "tool pour slowly");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Run("help", "pour", "slowly"), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("Pours slowly."));
}

TEST_F(CommandTest, SuggestsTheOptionThatWasMeant) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Run("pour", "--cup", "3"), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("penstock: there is no option --cup; did you mean --cups?\n"));
}

TEST_F(CommandTest, HelpShowsDefaultsAndTheExample) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Run("pour", "--help"), 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(help, HasSubstr("--cups N "));
  EXPECT_THAT(help, HasSubstr("Cups to pour [default: 2]\n"));
  EXPECT_THAT(help, HasSubstr("Example:\n  tool pour --cups 3\n  tool pour\n"));
}

TEST(InterruptGuardTest, TurnsASignalIntoAStatus) {
  InterruptGuard guard;
  EXPECT_OK(InterruptGuard::Check());
  std::raise(SIGTERM);
  EXPECT_THAT(InterruptGuard::Check(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
}

TEST(InterruptGuardTest, ASecondSignalAtOnceIsTheFirst) {
  signal(SIGHUP, SIG_DFL);  // Tests may run under nohup.
  InterruptGuard guard;
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  EXPECT_THAT(InterruptGuard::Check(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGHUP")));
}

TEST(InterruptGuardTest, StartsAfresh) {
  {
    InterruptGuard guard;
    std::raise(SIGINT);
  }
  InterruptGuard guard;
  EXPECT_OK(InterruptGuard::Check());
}

TEST(InterruptGuardDeathTest, ASecondSignalLaterEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        InterruptGuard guard;
        std::raise(SIGINT);
        std::this_thread::sleep_for(StopSignals::kOneRequest);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace penstock
