#include "base/drawing/text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TextTest, ReadsUtf8) {
  EXPECT_EQ(ReadUtf8("aß猫😀"), U"aß猫😀");
  EXPECT_EQ(ReadUtf8(""), U"");
  // A cut character, a lone continuation byte, an overlong form, and a byte that begins no
  // character.
  EXPECT_EQ(ReadUtf8("a\xc3"), U"a\ufffd");
  EXPECT_EQ(ReadUtf8("\x9f!"), U"\ufffd!");
  EXPECT_EQ(ReadUtf8("\xc0\x80"), U"\ufffd\ufffd");
  EXPECT_EQ(ReadUtf8("\xffz"), U"\ufffdz");
  EXPECT_EQ(ReadUtf8("\xe7\x8c!"), U"\ufffd\ufffd!");
}

TEST(TextTest, IsAsWideAsItsGlyphs) {
  EXPECT_EQ(TextWidth("", 1), 0);
  EXPECT_EQ(TextWidth("0", 1), 5);
  EXPECT_EQ(TextWidth("00", 1), 11);
  EXPECT_EQ(TextWidth("00", 3), 33);
  EXPECT_EQ(TextWidth("1", 1), TextWidth("0", 1));
  EXPECT_LT(TextWidth("ii", 1), TextWidth("mm", 1));
}

TEST(TextTest, IsShortenedToFit) {
  const int width = TextWidth("persian cat", 2);
  EXPECT_EQ(Shortened("persian cat", 2, width), "persian cat");
  const std::string shorter = Shortened("persian cat", 2, width - 1);
  EXPECT_LE(TextWidth(shorter, 2), width - 1);
  EXPECT_EQ(shorter.substr(shorter.size() - 3), "...");
  EXPECT_EQ(Shortened("persian cat", 2, 1), "...");
  // No character is cut in two.
  EXPECT_EQ(Shortened("猫猫猫猫", 1, TextWidth("猫...", 1)), "猫...");
}

TEST(TextTest, IsWrappedAtSpaces) {
  const int width = TextWidth("one two", 1);
  EXPECT_THAT(Wrapped("one two three four", 1, width, 9), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(Wrapped("one two three four", 1, width, 2), ElementsAre("one two", "three ..."));
  EXPECT_THAT(Wrapped("onetwothree", 1, TextWidth("onet", 1), 9),
              ElementsAre("onet", "woth", "ree"));
  EXPECT_THAT(Wrapped("ab", 1, 1, 9), ElementsAre("a", "b"));
  EXPECT_THAT(Wrapped("", 1, 9, 9), IsEmpty());
}

}  // namespace
}  // namespace penstock
