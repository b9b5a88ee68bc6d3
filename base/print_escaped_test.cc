#include "base/print_escaped.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

std::string Printed(std::FILE* file) {
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(EscapedTest, WhatCanBeReadStays) {
  for (const char* text : {"", "a b/c-0.tfrecord", "caf\u00e9", "\u65e5\u672c\u8a9e", "\U0001f600",
                           "C:\\n", "\u00a0", "\u202f"}) {
    EXPECT_EQ(Escaped(text), text);
    EXPECT_EQ(Escaped(Multiline(text)), text);
  }
}

TEST(EscapedTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Escaped("\x1b]0;owned\a"), "\\x1b]0;owned\\x07");
  EXPECT_EQ(Escaped("\x1b[2J\r\n\t\b\x7f"), "\\x1b[2J\\r\\n\\t\\x08\\x7f");
  EXPECT_EQ(Escaped(absl::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Escaped("\u0080\u009b31m\u009f"), "\\u0080\\u009b31m\\u009f");
  EXPECT_EQ(Escaped("gnp.\u202eexe\u2028"), "gnp.\\u202eexe\\u2028");
}

TEST(EscapedTest, NoControlByteIsLeftOfAnyByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string escaped = Escaped(std::string(1, static_cast<char>(byte)));
    for (const char c : escaped) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << byte;
  }
}

TEST(EscapedTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(Escaped("caf\xe9."), "caf\\xe9.");
  EXPECT_EQ(Escaped("\xc2"), "\\xc2");                             // Truncated.
  EXPECT_EQ(Escaped("\xe2\x82"), "\\xe2\\x82");                    // Truncated.
  EXPECT_EQ(Escaped("\xc1\x9b"), "\\xc1\\x9b");                    // Overlong.
  EXPECT_EQ(Escaped("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");           // Overlong.
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // A surrogate.
  EXPECT_EQ(Escaped("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");  // Beyond the last code point.
  EXPECT_EQ(Escaped("\x9b"
                    "31m"),
            "\\x9b31m");
}

TEST(EscapedTest, LinesAndTabsOfATableStay) {
  EXPECT_EQ(Escaped(Multiline("a\tb\nc\r\x1b[K\n")), "a\tb\nc\\r\\x1b[K\n");
}

TEST(PrintEscapedTest, TheFormatGoesAsItIsAndTextsAreEscaped) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::string name = "\x1b[31mred";
  PrintEscaped(file, "\r%s\x1b[K %d %.1f %s %s\n%s", name, 7, 0.5, name.c_str(),
               absl::string_view(name), Multiline("x\ny"));
  EXPECT_EQ(Printed(file), "\r\\x1b[31mred\x1b[K 7 0.5 \\x1b[31mred \\x1b[31mred\nx\ny");
}

}  // namespace
}  // namespace penstock
