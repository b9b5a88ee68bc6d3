#include "server/address_file.h"

#include <filesystem>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class AddressFileTest : public ::testing::Test {
 protected:
  AddressFileTest() { EXPECT_OK(file_.emplace().Write(folder_.File("address"), "a:1")); }
  bool Exists() const { return std::filesystem::exists(folder_.File("address")); }

  TempFolder folder_;
  std::optional<AddressFile> file_;
};

TEST_F(AddressFileTest, IsThereUntilItsServerEnds) {
  EXPECT_EQ(folder_.Read("address"), "a:1\n");
  file_.reset();
  EXPECT_FALSE(Exists());
}

TEST_F(AddressFileTest, TheOneOfTheNextServerStays) {
  std::optional<AddressFile> next;
  ASSERT_OK(next.emplace().Write(folder_.File("address"), "b:1"));
  file_.reset();
  EXPECT_EQ(folder_.Read("address"), "b:1\n");
  next.reset();
  EXPECT_FALSE(Exists());
}

TEST_F(AddressFileTest, WhatIsNoAddressIsLeftAlone) {
  for (const std::string text : {"my notes", "a:1\nb:1\n", "see: 5\n", "host:port\n"}) {
    folder_.Write("notes.txt", text);
    EXPECT_THAT(AddressFile().Write(folder_.File("notes.txt"), "b:1"),
                StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("not an address file")));
    EXPECT_EQ(folder_.Read("notes.txt"), text);
  }
  EXPECT_FALSE(AddressFile().Write(folder_.File(""), "b:1").ok());
}

// mktemp(1) creates such a file.
TEST_F(AddressFileTest, AnEmptyFileIsReplaced) {
  folder_.Write("empty", "");
  EXPECT_OK(AddressFile().Write(folder_.File("empty"), "b:1"));
}

TEST_F(AddressFileTest, GoesAlsoWhenItsModeWasChanged) {
  std::filesystem::permissions(folder_.File("address"), std::filesystem::perms::owner_read);
  file_.reset();
  EXPECT_FALSE(Exists());
}

}  // namespace
}  // namespace penstock
