#include "base/flags/parse_message.h"
#include "CLI/CLI.hpp"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

const std::vector<std::string> kNames = {"global-batch-size", "world-size", "cups", "data-root",
                                         "steps"};

TEST(NearestTest, FindsANameThatIsMisspelt) {
  EXPECT_EQ(Nearest("cup", kNames), "cups");
  EXPECT_EQ(Nearest("world-zise", kNames), "world-size");
  EXPECT_EQ(Nearest("glob", kNames), "global-batch-size");
  EXPECT_EQ(Nearest("colour", kNames), "");
}

TEST(NearestTest, FindsANameWithAMisspeltPart) {
  EXPECT_EQ(Nearest("bath-size", kNames), "global-batch-size");
  EXPECT_EQ(Nearest("batch", kNames), "global-batch-size");
  EXPECT_EQ(Nearest("root", kNames), "data-root");
}

TEST(NearestTest, SaysNothingOfAPartThatSeveralNamesHave) {
  EXPECT_EQ(Nearest("size", kNames), "");
}

class ParseMessageTest : public ::testing::Test {
 protected:
  ParseMessageTest() : app_("A tool.", "tool"), pour_(*app_.add_subcommand("pour", "Pour")) {
    app_.add_subcommand("hidden", "")->group("");
    app_.require_subcommand(1);
    pour_.add_option("jug", jug_, "The jug")->required();
    pour_.add_option("-o,--output", output_, "Where to pour")->type_name("CUP")->required();
    CLI::Option* cups = pour_.add_option("--cups", cups_, "Cups to pour");
    pour_.add_option("--litres", cups_, "Litres to pour")->excludes(cups);
    pour_.add_option("--pace", pace_, "How fast")->check(CLI::IsMember({"slow", "fast"}));
    pour_.add_option("--lid", pace_, "Its lid")->check([](const std::string&) {
      return std::string("the lid is gone");
    });
  }

  // The message about a wrong command line.
  std::string Told(const std::string& line) {
    std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return PlainMessage(app_.get_subcommands().empty() ? app_ : pour_, error, {"export"});
    }
    return "nothing is wrong";
  }

  CLI::App app_;
  CLI::App& pour_;
  std::string jug_, output_, pace_;
  int cups_ = 0;
};

TEST_F(ParseMessageTest, NamesTheValuesThatAnOptionTakes) {
  EXPECT_EQ(Told("pour jug -o a --pace idle"), "--pace=idle is not one of slow, fast");
  EXPECT_EQ(Told("pour jug -o a --pace slwo"),
            "--pace=slwo is not one of slow, fast; did you mean slow?");
}

TEST_F(ParseMessageTest, SaysWhatToGiveForWhatIsMissing) {
  EXPECT_EQ(Told("pour jug"), "--output is missing; give --output CUP");
  EXPECT_EQ(Told("pour -o a"),
            "the argument JUG is missing; the usage is tool pour --output CUP [OPTIONS] JUG");
  EXPECT_EQ(Told("pour jug -o"), "--output has no value; give --output CUP");
  EXPECT_EQ(Told(""), "no command is given; choose one of export, pour");
}

TEST_F(ParseMessageTest, SaysThatTwoOptionsCannotBeCombined) {
  EXPECT_EQ(Told("pour jug -o a --cups 1 --litres 1"),
            "--cups and --litres cannot be combined; leave out one of them");
}

TEST_F(ParseMessageTest, LeavesOtherMessagesAsTheyAre) {
  EXPECT_EQ(Told("pour jug -o a --lid b"), "--lid: the lid is gone");
  EXPECT_EQ(Told("pour jug -o a"), "nothing is wrong");
}

}  // namespace
}  // namespace penstock
