#include "records/container/pax_records.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/container/testing/tar_builder.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "key=value" for each record, and "failed" at the end if one is malformed.
std::vector<std::string> ReadPax(absl::string_view text) {
  PaxRecords records(text);
  PaxRecord record;
  std::vector<std::string> read;
  while (records.Next(record)) read.push_back(absl::StrCat(record.key, "=", record.value));
  if (records.failed()) read.push_back("failed");
  return read;
}

TEST(PaxRecordsTest, ReadsRecordsInOrder) {
  EXPECT_THAT(ReadPax("12 path=abc\n10 size=7\n"), ElementsAre("path=abc", "size=7"));
  EXPECT_THAT(ReadPax(""), IsEmpty());
}

TEST(PaxRecordsTest, ValuesMayHoldAnything) {
  for (const std::string& value :
       {std::string(""), std::string("a=b\n c"), std::string("\0x", 2), std::string(1000, 'y')}) {
    EXPECT_THAT(ReadPax(PaxText("k", value) + PaxText("l", "")), ElementsAre("k=" + value, "l="));
  }
}

TEST(PaxRecordsTest, FailsWhereARecordIsMalformed) {
  for (const char* text :
       {"12 path=ab\n", "11 path=abc\n", "13 path=abc\n", "12 path=abc", "12 pathxabc\n",
        "7 =abc\n\n", "path=abc\n", " 12 path=abc\n", "-1 path=abc\n", "+12 path=abc\n",
        "0 path=abc\n", "2 path=abc\n", "3 \n", "2 \n", "99999999999999999999 path=abc\n",
        "18446744073709551615 path=abc\n"}) {
    EXPECT_THAT(ReadPax(text), ElementsAre("failed")) << text;
    EXPECT_THAT(ReadPax(absl::StrCat("6 a=b\n", text)), ElementsAre("a=b", "failed")) << text;
  }
}

TEST(PaxRecordsTest, NumbersAreDigitsAlone) {
  uint64_t number;
  EXPECT_TRUE(ParsePaxNumber("18446744073709551615", number));
  EXPECT_EQ(number, UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "0x1", "1.5", "18446744073709551616"}) {
    EXPECT_FALSE(ParsePaxNumber(text, number)) << text;
  }
}

}  // namespace
}  // namespace penstock
