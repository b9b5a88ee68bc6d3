#include "cli/pack/csv_rows.h"

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

using Row = std::vector<std::string>;

// Returns the rows up to the end. An invalid row has only its line and message.
std::vector<Row> ReadRows(const std::string& text,
                          size_t max_row_bytes = TextLines::kMaxLineBytes) {
  const MemorySource source("a.csv", {text.begin(), text.end()});
  SourceStream stream(source);
  CsvRows rows(stream, max_row_bytes);
  std::vector<Row> out;
  Row cells;
  while (true) {
    const absl::StatusOr<bool> more = rows.Next(cells);
    if (more.ok() && !*more) return out;
    out.push_back(more.ok() ? cells : Row{absl::StrCat(rows.line(), " ", more.status().message())});
    if (!more.ok() && !absl::IsInvalidArgument(more.status())) return out;
  }
}

TEST(CsvRowsTest, ReadsCells) {
  EXPECT_THAT(ReadRows("a,b\n1,\n,2\n"), ElementsAre(Row{"a", "b"}, Row{"1", ""}, Row{"", "2"}));
  EXPECT_THAT(ReadRows("a,b\r\n1,2\r\n"), ElementsAre(Row{"a", "b"}, Row{"1", "2"}));
  EXPECT_THAT(ReadRows("a"), ElementsAre(Row{"a"}));
  EXPECT_THAT(ReadRows(""), ElementsAre());
}

TEST(CsvRowsTest, ACellInQuotesHoldsAnything) {
  EXPECT_THAT(ReadRows("\"a,b\",\"say \"\"hi\"\"\",\"\"\n"),
              ElementsAre(Row{"a,b", "say \"hi\"", ""}));
  EXPECT_THAT(ReadRows("\"two\nlines\",x\ny,z\n"),
              ElementsAre(Row{"two\nlines", "x"}, Row{"y", "z"}));
  EXPECT_THAT(ReadRows("\"two\r\nlines\"\r\n"), ElementsAre(Row{"two\r\nlines"}));
}

TEST(CsvRowsTest, PassesOverEmptyLinesAndAByteOrderMark) {
  EXPECT_THAT(ReadRows("\xef\xbb\xbf"
                       "a,b\n\n\r\n1,2\n\n"),
              ElementsAre(Row{"a", "b"}, Row{"1", "2"}));
}

TEST(CsvRowsTest, WrongQuotesCostOneRow) {
  EXPECT_THAT(ReadRows("a,b\nx\"y,2\n3,4\n"),
              ElementsAre(Row{"a", "b"},
                          Row{"2 cell 1: a quote inside an unquoted cell; quote the whole cell and "
                              "double this quote"},
                          Row{"3", "4"}));
  EXPECT_THAT(ReadRows("\"x\"y,2\n3,4\n"),
              ElementsAre(Row{"1 cell 1: text after the closing quote"}, Row{"3", "4"}));
}

TEST(CsvRowsTest, AnOpenQuoteTakesTheRestOfTheFile) {
  EXPECT_THAT(ReadRows("a,b\n1,\"x\n3,4\n"),
              ElementsAre(Row{"a", "b"},
                          Row{"2 a quoted cell has no closing quote before the end of the file"}));
}

// Neither line breaks in a quoted cell nor empty cells have a byte of text.
TEST(CsvRowsTest, RowsAreBounded) {
  std::string lines = "\"";
  for (int i = 0; i < 10; ++i) lines += std::string(1 << 10, 'x') + "\n";
  for (const std::string& text : {lines, '"' + std::string(9 << 10, '\n'), std::string(300, ',')}) {
    const std::vector<Row> rows = ReadRows(text, 8 << 10);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_THAT(rows[0][0], HasSubstr("the cells of a row take more than 8.0 KiB"));
  }
}

TEST(CsvRowsTest, FilesAreNotBounded) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += std::string(1 << 10, 'x') + ",y\n";
  EXPECT_EQ(ReadRows(text, 8 << 10).size(), 10u);
}

}  // namespace
}  // namespace penstock
