#include "server/log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

const auto kTime =
    std::chrono::system_clock::from_time_t(1'700'000'000) + std::chrono::milliseconds(7);

std::string Json(absl::string_view message) {
  return FormatLogLine(LogFormat::kJson, kTime, "info", message);
}

TEST(LogFormatTest, TextHasUtcTimeLevelAndMessage) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, kTime, "warning", "draining streams=2"),
            "2023-11-14T22:13:20.007Z warning draining streams=2");
}

TEST(LogFormatTest, JsonHasTheWordsAndTheFields) {
  EXPECT_EQ(Json("client left peer=ipv4:10.0.0.1:5 client=\"rank 3\" bytes=7 id=\"7\""),
            "{\"time\":\"2023-11-14T22:13:20.007Z\",\"level\":\"info\",\"event\":\"client left\","
            "\"peer\":\"ipv4:10.0.0.1:5\",\"client\":\"rank 3\",\"bytes\":7,\"id\":\"7\"}");
}

TEST(LogFormatTest, WhatIsQuotedComesBackInJson) {
  const std::string strange = "a \"b\" \\ c=d\nnext x\\n";
  EXPECT_THAT(Json("refused why=" + Quoted(strange)),
              ::testing::HasSubstr("\"why\":\"a \\\"b\\\" \\\\ c=d\\nnext x\\\\n\""));
}

TEST(LogFormatTest, AStrangersTextCannotEndALineOrAddAField) {
  const std::string quoted = Quoted("x\"\nlevel=error \x1b[2J\xff");
  EXPECT_EQ(quoted, "\"x\\\"\\nlevel=error ?[2J?\"");
  EXPECT_THAT(Json("refused client=" + quoted), ::testing::HasSubstr("\"level\":\"info\""));
}

TEST(LogFormatTest, ALineHasNoControlCharacter) {
  const std::string message = "shard a\x1b]0;owned\a\r\n\u009b31m\xff is missing";
  EXPECT_THAT(FormatLogLine(LogFormat::kText, kTime, "warning", message),
              ::testing::EndsWith("shard a\\x1b]0;owned\\x07\\r\\n\\u009b31m\\xff is missing"));
  for (const char c : Json(message)) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << c;
}

TEST(LogFormatTest, LongTextLosesItsMiddle) {
  EXPECT_EQ(Shortened(std::string(512, 'x')), std::string(512, 'x'));
  const std::string shortened = Shortened(std::string(4000, 'x') + ": No such file");
  EXPECT_LE(shortened.size(), 512u);
  EXPECT_THAT(shortened, ::testing::EndsWith("x: No such file"));
}

TEST(LogFormatTest, AnyMessageBecomesOneLine) {
  for (const char* message : {"", " ", "=", "a=", "a=\"", "a=\"b", "a=\"b\\", "no fields at all",
                              "x=1 tail words", "\xff\xfe"}) {
    const std::string line = Json(message);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(line.back(), '}') << line;
  }
}

}  // namespace
}  // namespace penstock
