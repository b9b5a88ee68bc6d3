#include "base/wrap_words.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

TEST(WrapWordsTest, PartsAtSpaces) {
  EXPECT_THAT(WrapWords("one two three", 13), ElementsAre("one two three"));
  EXPECT_THAT(WrapWords("one two three", 12), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(WrapWords("", 6), ElementsAre(""));
}

TEST(WrapWordsTest, IndentsAllButTheFirst) {
  EXPECT_THAT(WrapWords("  one two three", 9, 2), ElementsAre("  one two", "  three"));
  EXPECT_THAT(WrapWords("link a b c d", 8, 4), ElementsAre("link a b", "    c d"));
}

TEST(WrapWordsTest, PartsAWordThatIsTooLong) {
  EXPECT_THAT(WrapWords("/a/long/path of", 5), ElementsAre("/a/lo", "ng/pa", "th of"));
  EXPECT_THAT(WrapWords("  /a/long", 6, 2), ElementsAre("  /a/l", "  ong"));
}

TEST(WrapWordsTest, LosesNothingButSpaces) {
  EXPECT_THAT(WrapWords("one   two  ", 5), ElementsAre("one  ", "two  "));
}

}  // namespace
}  // namespace penstock
