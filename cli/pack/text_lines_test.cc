#include "cli/pack/text_lines.h"

#include <string>
#include <vector>

#include "base/io/testing/memory_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ReadLines(const std::string& text) {
  const MemorySource source("a", {text.begin(), text.end()});
  SourceStream stream(source);
  TextLines lines(stream);
  std::vector<std::string> out;
  absl::string_view line;
  while (lines.Next(line).value()) out.emplace_back(line);
  EXPECT_EQ(lines.number(), out.size());
  return out;
}

TEST(TextLinesTest, TheLastLineNeedsNoLineFeed) {
  EXPECT_THAT(ReadLines("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(ReadLines("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(ReadLines(""), ElementsAre());
  EXPECT_THAT(ReadLines("\n"), ElementsAre(""));
}

TEST(TextLinesTest, LeavesOutAByteOrderMarkAtTheBeginning) {
  EXPECT_THAT(ReadLines("\xef\xbb\xbf"
                        "a\n\xef\xbb\xbf"),
              ElementsAre("a", "\xef\xbb\xbf"));
}

TEST(TextLinesTest, LinesMayBeLongerThanABlock) {
  std::string text;
  std::vector<std::string> expected;
  for (const size_t size : {1u, 300'000u, 0u, 262'143u, 262'144u, 262'145u, 1'000'000u}) {
    expected.emplace_back(size, 'x');
    text += expected.back() + "\n";
  }
  EXPECT_EQ(ReadLines(text), expected);
}

TEST(TextLinesTest, LinesAreBounded) {
  const MemorySource source("a", std::vector<uint8_t>(TextLines::kMaxLineBytes + (1 << 20), 'x'));
  SourceStream stream(source);
  TextLines lines(stream);
  absl::string_view line;
  EXPECT_THAT(lines.Next(line), StatusIs(absl::StatusCode::kResourceExhausted,
                                         HasSubstr("line 1 has more than 64.0 MiB")));
}

}  // namespace
}  // namespace penstock
