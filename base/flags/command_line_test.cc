#include "base/flags/command_line.h"
#include "CLI/CLI.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() : app_("A tool.", "tool"), commands_(2) {
    commands_[0].name = "tool predict";
    commands_[1].name = "tool export";
    app_.add_option("input", input_, "What to pour from");
    app_.add_option("--cups", cups_, "Cups to pour");
    app_.add_flag("--insecure", insecure_, "Pour without a lid");
    app_.add_option("--grace", grace_, "How long to drip")->check(CLI::IsMember({"short", "long"}));
    app_.allow_config_extras(CLI::config_extras_mode::error);
    app_.set_config("--config", "", "File of options");
  }

  // Returns the text that a wrong command line prints on stderr.
  template <typename... Args>
  std::string Told(Args... args) {
    const char* argv[] = {"tool", args...};
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(
        ParseCommandLine(app_, "tool", 1 + sizeof...(args), argv, [this] { return commands_; }),
        kUsageExitCode);
    return ::testing::internal::GetCapturedStderr();
  }

  CLI::App app_;
  std::vector<CommandPage> commands_;
  std::string input_, grace_;
  uint32_t cups_ = 0;
  bool insecure_ = false;
  TempFolder folder_;
};

TEST_F(CommandLineTest, TheLastOneOfAnOptionCounts) {
  std::vector<int> sizes;
  app_.add_option("--sizes", sizes, "Sizes of the cups");
  const char* argv[] = {"tool",    "jug", "--cups",  "3", "--grace",    "short",     "--cups=4",
                        "--sizes", "1",   "--sizes", "2", "--insecure", "--insecure"};
  EXPECT_EQ(ParseCommandLine(app_, "tool", std::size(argv), argv), std::nullopt);
  EXPECT_EQ(cups_, 4u);
  EXPECT_TRUE(insecure_);
  EXPECT_EQ(sizes, (std::vector<int>{1, 2}));
}

TEST_F(CommandLineTest, NamesTheOptionThatWasMeant) {
  EXPECT_EQ(Told("--cup", "3", "jug"),
            "tool: there is no option --cup; did you mean --cups?\n"
            "Run with --help for the options.\n");
  EXPECT_THAT(Told("--gracee=long"), HasSubstr("no option --gracee=long; did you mean --grace?"));
  EXPECT_THAT(Told("--colour", "red"), StartsWith("tool: there is no option --colour\n"));
}

TEST_F(CommandLineTest, AMisspeltOptionIsNamedBeforeTheOneThatIsMissing) {
  app_.get_option("--cups")->required();
  EXPECT_THAT(Told("jug"), StartsWith("tool: --cups is missing; give --cups N\n"));
  EXPECT_THAT(Told("jug", "--cusp", "3"),
              StartsWith("tool: there is no option --cusp; did you mean --cups?\n"));
}

TEST_F(CommandLineTest, NamesTheCommandThatWasMeant) {
  EXPECT_THAT(Told("jug", "predcit"),
              HasSubstr("unexpected argument 'predcit'; did you mean predict?"));
  EXPECT_THAT(Told("jug", "mug"), StartsWith("tool: unexpected argument 'mug'\n"));
}

TEST_F(CommandLineTest, NamesTheCommandBelowACommand) {
  CLI::App& chess = *app_.add_subcommand("chess", "Chess");
  chess.require_subcommand(1);
  chess.add_subcommand("generate", "Games");
  EXPECT_THAT(Told("chess", "gen"), HasSubstr("unexpected argument 'gen'; did you mean generate?"));
}

TEST_F(CommandLineTest, NamesTheValueThatDoesNotFit) {
  EXPECT_THAT(
      Told("--cups", "18446744073709551615"),
      StartsWith("tool: --cups: '18446744073709551615' is not a valid value, or is too large\n"));
}

TEST_F(CommandLineTest, NumbersWithoutACheckAreNotNegative) {
  EXPECT_THAT(Told("--cups", "-1"), StartsWith("tool: --cups: '-1' is not a whole number from 0"));
}

TEST_F(CommandLineTest, NamesTheLineOfAConfigFile) {
  const std::string misspelt = folder_.Write("misspelt", "cups=3\ngracee=long\n");
  EXPECT_THAT(Told("--config", misspelt.c_str()),
              StartsWith(absl::StrCat("tool: ", misspelt,
                                      ":2: there is no option 'gracee'; did you mean grace?")));
  const std::string wrong = folder_.Write("wrong", "# Options\ngrace = never\n");
  EXPECT_THAT(
      Told("--config", wrong.c_str()),
      StartsWith(absl::StrCat("tool: ", wrong, ":2: --grace=never is not one of short, long\n")));
  const std::string flag = folder_.Write("flag", "insecure=maybe\n");
  EXPECT_THAT(Told("--config", flag.c_str()), StartsWith(absl::StrCat("tool: ", flag, ":1: ")));
}

TEST_F(CommandLineTest, SaysWhatAConfigFileIsInstead) {
  EXPECT_EQ(Told("--config", folder_.path().c_str()),
            absl::StrCat("tool: --config: ", folder_.path(), ": is a folder, not a regular file\n",
                         "Run with --help for the options.\n"));
  const std::string none = folder_.File("none");
  EXPECT_THAT(Told("--config", none.c_str()),
              StartsWith(absl::StrCat("tool: --config: ", none, ": No such file")));
}

TEST_F(CommandLineTest, AConfigFileMayBeAPipe) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  constexpr absl::string_view kText = "cups=7\n";
  ASSERT_EQ(write(pipe[1], kText.data(), kText.size()), static_cast<ssize_t>(kText.size()));
  close(pipe[1]);
  const std::string path = absl::StrCat("/dev/fd/", pipe[0]);
  const char* argv[] = {"tool", "--config", path.c_str()};
  EXPECT_EQ(ParseCommandLine(app_, "tool", 3, argv), std::nullopt);
  EXPECT_EQ(cups_, 7u);
  close(pipe[0]);
}

TEST_F(CommandLineTest, AnEscapeSequenceIsPrintedEscaped) {
  const std::string file = folder_.Write("config", "\x1b]0;owned\a=1\n");
  EXPECT_THAT(Told("--config", file.c_str()), HasSubstr("there is no option '\\x1b]0;owned\\x07'"));
  EXPECT_THAT(Told("--\x1b[2J\r"), HasSubstr("there is no option --\\x1b[2J\\r"));
}

TEST_F(CommandLineTest, AConfigFileMayHaveAHashInAValue) {
  for (const char* written : {"input=\"a#1\"  # A comment", "# input=b\ninput='a#1'", ""}) {
    const std::string file = folder_.Write("config", written);
    const char* argv[] = {"tool", "--config", file.c_str(), "--cups", "2", "a#1"};
    const int argc = *written != '\0' ? 5 : 6;
    input_.clear();
    EXPECT_EQ(ParseCommandLine(app_, "tool", argc, argv), std::nullopt);
    EXPECT_EQ(input_, "a#1") << written;
    const std::string printed = folder_.Write("printed", app_.config_to_str(false, true));
    const char* again[] = {"tool", "--config", printed.c_str()};
    input_.clear();
    EXPECT_EQ(ParseCommandLine(app_, "tool", 3, again), std::nullopt);
    EXPECT_EQ(input_, "a#1");
  }
}

TEST_F(CommandLineTest, BlamesTheCommandLineForItsOwnValues) {
  const std::string file = folder_.Write("config", "grace=long\n");
  EXPECT_THAT(Told("--config", file.c_str(), "--grace", "never"),
              StartsWith("tool: --grace=never is not one of short, long\n"));
}

TEST_F(CommandLineTest, GoesOnWhereNothingIsWrong) {
  const char* argv[] = {"tool", "jug", "--cups", "3"};
  EXPECT_EQ(ParseCommandLine(app_, "tool", 4, argv), std::nullopt);
  EXPECT_EQ(cups_, 3u);
}

}  // namespace
}  // namespace penstock
