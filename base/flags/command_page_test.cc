#include "base/flags/command_page.h"
#include "CLI/CLI.hpp"

#include "absl/strings/str_split.h"
#include "base/flags/completion.h"
#include "base/flags/help_text.h"
#include "base/flags/man_page.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CommandPageTest : public ::testing::Test {
 protected:
  CommandPageTest() : app_("Pours. Then it stops.", "tool") {
    CLI::App& pour = *app_.add_subcommand("pour", "Fill cups from a jug. Nothing is spilt.");
    pour.option_defaults()->always_capture_default();
    pour.add_option("--speed", speed_, "How fast to pour")
        ->check(CLI::IsMember({"slow", "fast"}))
        ->group("Tuning");
    pour.add_option("-o,--output", output_, "Where to\nwrite the report")
        ->type_name("FILE")
        ->group("Output");
    pour.add_option("--cups", cups_, "How many cups to fill before the jug is put down again")
        ->group("Data");
    pour.add_flag("--insecure", insecure_, "Pour without a lid");
    pour.add_flag("--lid", lid_, "Put a lid on")->envname("LID");
    pour.add_option("--secret", secret_, "Of nobody's concern")->group("");
    pour.add_option("jug", jug_, "The jug")->required();
    pour.footer(
        "Example:\n  tool pour --cups 3 \\\n      jug\n\n"
        "A jug that is empty is put down at once, and the cups that are still empty stay\nso.\n\n"
        "Exit codes:\n  1: The jug broke: look out.\n  3: The jug is empty.\n\n"
        "Files:\n  jug.txt: How to pour.\n\n"
        "Environment:\n  THIRST: How many cups are wanted.");
    page_ = DescribeCommand(pour);
  }

  CLI::App app_;
  std::string speed_ = "slow", output_, jug_, secret_;
  uint32_t cups_ = 2;
  bool insecure_ = false, lid_ = false;
  CommandPage page_;
};

TEST_F(CommandPageTest, ArgumentsComeFirstAndGroupsInTheirOrder) {
  std::vector<std::string> titles;
  for (const OptionGroup& group : page_.groups) titles.push_back(group.title);
  EXPECT_THAT(titles, ElementsAre("Arguments", "Options", "Data", "Output", "Tuning", "Help"));
  EXPECT_EQ(page_.usage, "tool pour [OPTIONS] JUG");
}

TEST_F(CommandPageTest, AnArgumentThatIsAnOptionTooIsBoth) {
  CLI::App app("Pours.", "tool");
  CLI::App& pour = *app.add_subcommand("pour", "Fill cups.");
  pour.add_option("jug,--jug", jug_, "The jug")->type_name("FILE");
  const CommandPage page = DescribeCommand(pour);
  ASSERT_THAT(page.groups, SizeIs(testing::Ge(2)));
  EXPECT_EQ(page.groups[0].options[0].names[0], "FILE");
  const OptionRow& option = page.groups[1].options[0];
  EXPECT_THAT(option.names, ElementsAre("--jug"));
  EXPECT_EQ(option.placeholder, "FILE");
  EXPECT_EQ(option.description, "The same as the argument FILE");
}

TEST_F(CommandPageTest, HelpIsNoWiderThanTheTerminal) {
  for (const size_t columns : {40, 60, 80, 200}) {
    const std::string help = HelpText(page_, columns);
    for (const absl::string_view line : absl::StrSplit(help, '\n')) {
      EXPECT_LE(line.size(), std::min<size_t>(columns, 100)) << help;
    }
  }
}

TEST_F(CommandPageTest, HelpShowsValuesAndDefaults) {
  const std::string help = HelpText(page_, 80);
  EXPECT_THAT(
      help,
      HasSubstr("\nData:\n"
                "      --cups N              How many cups to fill before the jug is put down\n"
                "                            again [default: 2]\n"));
  EXPECT_THAT(help, HasSubstr("  -o, --output FILE         Where to write the report\n"));
  EXPECT_THAT(help, HasSubstr("[one of: slow, fast; default: slow]"));
  EXPECT_THAT(help, HasSubstr("      --insecure            Pour without a lid\n"));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
}

TEST_F(CommandPageTest, ExamplesAreShownAsTheyAreAndNotesAreWrapped) {
  EXPECT_THAT(HelpText(page_, 50), HasSubstr("\nExample:\n"
                                             "  tool pour --cups 3 \\\n"
                                             "      jug\n"
                                             "\n"
                                             "A jug that is empty is put down at once, and the\n"
                                             "cups that are still empty stay so.\n"));
}

TEST_F(CommandPageTest, CommandsAreListedByTheirFirstSentence) {
  const CommandPage program = DescribeCommand(app_);
  ASSERT_THAT(program.commands, SizeIs(1));
  EXPECT_EQ(program.commands[0].commands[0].description, "Fill cups from a jug");
  EXPECT_EQ(program.usage, "tool COMMAND [OPTIONS]");
  EXPECT_THAT(DescribeCommands(app_), SizeIs(2));
}

TEST_F(CommandPageTest, ManPagesAreRoff) {
  const std::string page = ManPage(page_, DescribeCommands(app_), "1.2.3");
  EXPECT_THAT(page, HasSubstr(".TH TOOL-POUR 1 \"\" \"penstock 1.2.3\" \"Penstock\"\n"));
  EXPECT_THAT(page, HasSubstr(".SS Data\n.TP\n.B \\-\\-cups N\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n.nf\ntool pour \\-\\-cups 3 \\e\n    jug\n.fi\n"
                              ".SH NOTES\n.PP\nA jug that is empty"));
  EXPECT_THAT(page, HasSubstr(".SH FILES\n.TP\n.B jug.txt\nHow to pour.\n"));
  EXPECT_THAT(page, HasSubstr(".SH ENVIRONMENT\n.TP\n.B LID\nThe value of \\-\\-lid if it "
                              "is not given.\n.TP\n.B THIRST\nHow many cups are wanted.\n"));
  EXPECT_THAT(page,
              HasSubstr(".TP\n.B 1\nThe jug broke: look out.\n.TP\n.B 3\nThe jug is empty.\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n.TP\n.B 0\nThe program did its work.\n"));
  EXPECT_THAT(page, Not(HasSubstr("It failed")));
  EXPECT_THAT(HelpText(page_, 80), Not(HasSubstr("jug.txt")));
  EXPECT_THAT(page, HasSubstr(".SH SEE ALSO\n.BR tool (1)\n"));
}

TEST_F(CommandPageTest, ShellsCompleteOptionsAndChoices) {
  const std::vector<CommandPage> pages = DescribeCommands(app_);
  const std::string bash = BashCompletion(pages);
  EXPECT_THAT(bash, HasSubstr("'tool') words='pour --help' ;;\n"));
  EXPECT_THAT(bash, HasSubstr("'tool pour --speed') words='slow fast' files=no ;;\n"));
  EXPECT_THAT(bash, HasSubstr("'tool pour -o'|'tool pour --output') words='' ;;\n"));
  EXPECT_THAT(bash, HasSubstr("'tool pour --cups') words='' files=no ;;\n"));
  EXPECT_THAT(bash, HasSubstr("complete -o default -F _tool tool\n"));
  const std::string zsh = ZshCompletion(pages);
  EXPECT_THAT(zsh, HasSubstr("'*--output[Where to write the report]:FILE:_files'"));
  EXPECT_THAT(zsh,
              HasSubstr("'*--cups[How many cups to fill before the jug is put down again]:N: '"));
  EXPECT_THAT(zsh, HasSubstr("'*--speed[How fast to pour]:VALUE:(slow fast)'"));
}

}  // namespace
}  // namespace penstock
