#include "client/servers/address_lines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AddressLinesTest, SkipsCommentsAndEmptyLines) {
  EXPECT_THAT(ParseAddressLines("# servers\n\n a:1 \r\nb:2 # the second\n").value(),
              ElementsAre("a:1", "b:2"));
}

TEST(AddressLinesTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(ParseAddressLines("a:1\nlocal:\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 2"), HasSubstr("local:"))));
}

TEST(AddressLinesTest, PrintsBytesThatAreNoText) {
  EXPECT_THAT(ParseAddressLines("\x01\xff\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\\x01\\xff")));
}

TEST(AddressLinesTest, AHostIsAscii) {
  EXPECT_THAT(ParseAddressLines("a:1\nb\xff:7070\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: 'b\\xff:7070'")));
}

// Each prefix of a file is either refused or names some of its servers, never part of an address.
TEST(AddressLinesTest, NoPrefixNamesAnotherServer) {
  const std::string text = "10.0.0.1:7070\n10.0.0.2:7071\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const auto addresses = ParseAddressLines(text.substr(0, size));
    EXPECT_EQ(addresses.ok(), size == 14) << size;
    if (addresses.ok()) {
      EXPECT_THAT(*addresses, ElementsAre("10.0.0.1:7070"));
    }
  }
}

TEST(AddressLinesTest, RefusesAFileThatNamesNobody) {
  for (const char* text : {"", "\n", "# nobody\n"}) {
    EXPECT_THAT(ParseAddressLines(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no server")));
  }
}

}  // namespace
}  // namespace penstock
