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
std::vector<Row> ReadRows(const std::string& text) {
  const MemorySource source("a.csv", {text.begin(), text.end()});
  SourceStream stream(source);
  CsvRows rows(stream);
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

TEST(CsvRowsTest, RowsAreBounded) {
  const std::string line = std::string(1 << 20, 'x') + "\n";
  std::string text = "\"";
  for (int i = 0; i < 65; ++i) text += line;
  const std::vector<Row> rows = ReadRows(text);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0][0], HasSubstr("a row has more than 64.0 MiB"));
}

}  // namespace
}  // namespace penstock
