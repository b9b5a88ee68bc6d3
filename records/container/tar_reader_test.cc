#include "records/container/tar_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/container/testing/tar_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;
using Found = TarReader::Found;

// "name=content" for each member.
absl::StatusOr<std::vector<std::string>> ReadMembers(absl::string_view archive) {
  TarReader reader;
  TarMember member;
  std::vector<std::string> members;
  while (true) {
    const absl::StatusOr<Found> found = reader.Next(BytesOf(archive), /*at_end=*/true, member);
    if (!found.ok()) return found.status();
    if (*found == Found::kEnd) return members;
    members.push_back(absl::StrCat(member.name, "=", archive.substr(member.data, member.size)));
  }
}
absl::StatusOr<std::vector<std::string>> ReadMembers(const TarBuilder& archive) {
  return ReadMembers(archive.bytes());
}

auto Damaged(absl::string_view message) {
  return StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(message)));
}

TEST(TarReaderTest, ReadsRegularFiles) {
  TarBuilder archive;
  archive.File("a.jpg", "alpha").File("b", "").File("c", std::string(512, 'c')).File("d", "delta");
  EXPECT_THAT(
      ReadMembers(archive.End()),
      IsOkAndHolds(ElementsAre("a.jpg=alpha", "b=", "c=" + std::string(512, 'c'), "d=delta")));
}

TEST(TarReaderTest, NoBytesAreNoMembers) {
  EXPECT_THAT(ReadMembers(""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ReadMembers(TarBuilder().End()), IsOkAndHolds(IsEmpty()));
}

TEST(TarReaderTest, SkipsDirectoriesAndVolumeLabels) {
  TarBuilder archive;
  archive.Member(TarHeaderBlock("label", 0, 'V'));
  archive.Member(TarHeaderBlock("folder/", 0, '5')).Member(TarHeaderBlock("folder", 0, '5'));
  archive.Member(TarHeaderBlock("old/", 0, '\0')).File("a", "x");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre("a=x")));
}

TEST(TarReaderTest, JoinsThePrefixOfPosix) {
  std::string header = TarHeaderBlock("b.jpg", 1);
  PutField(345, "some/folder", header.data());
  StoreChecksum(header.data());
  EXPECT_THAT(ReadMembers(TarBuilder().Member(header, "x")),
              IsOkAndHolds(ElementsAre("some/folder/b.jpg=x")));
}

TEST(TarReaderTest, PaxRecordsCountForTheNextMember) {
  TarBuilder archive;
  archive.Pax(PaxText("mtime", "1.5") + PaxText("path", "long/name") + PaxText("size", "3"));
  archive.Member(TarHeaderBlock("short", 0), "abc").File("b", "x");
  archive.Pax(PaxText("path", "folder/x")).Member(TarHeaderBlock("d", 0, '5')).File("c", "y");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre("long/name=abc", "b=x", "c=y")));
}

TEST(TarReaderTest, EmptyPaxValuesSayNothing) {
  TarBuilder archive;
  archive.Pax(PaxText("path", "") + PaxText("size", "")).File("a", "x");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre("a=x")));
}

TEST(TarReaderTest, SkipsGlobalHeaders) {
  TarBuilder archive;
  archive.Pax(PaxText("comment", "a commit"), 'g').File("a", "x");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre("a=x")));
}

TEST(TarReaderTest, ReadsLongNames) {
  const std::string name(300, 'n');
  TarBuilder archive;
  archive.Member(TarHeaderBlock("././@LongLink", 4, 'K'), "to\0"s);
  archive.LongName(name).File(name.substr(0, 100), "x").File("b", "y");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre(name + "=x", "b=y")));
}

TEST(TarReaderTest, TheLastNameThatIsToldCounts) {
  TarBuilder archive;
  archive.LongName("first").Pax(PaxText("path", "second")).File("third", "x");
  EXPECT_THAT(ReadMembers(archive), IsOkAndHolds(ElementsAre("second=x")));
}

TEST(TarReaderTest, WhatFollowsTheEndIsPadding) {
  const std::string archive = TarBuilder().File("a", "x").End().bytes();
  EXPECT_THAT(ReadMembers(archive + std::string(9000, '\0')), IsOkAndHolds(ElementsAre("a=x")));
  EXPECT_THAT(ReadMembers(archive + std::string(9000, 'z')), IsOkAndHolds(ElementsAre("a=x")));
}

TEST(TarReaderTest, AMissingEndIsNoDamage) {
  const std::string archive = TarBuilder().File("a", "x").bytes();
  for (size_t zeros : {0, 1, 511, 512, 513, 1023}) {
    EXPECT_THAT(ReadMembers(archive + std::string(zeros, '\0')), IsOkAndHolds(ElementsAre("a=x")));
  }
  EXPECT_THAT(ReadMembers(archive.substr(0, 513)), IsOkAndHolds(ElementsAre("a=x")));
}

TEST(TarReaderTest, ReportsAMemberThatIsCut) {
  const std::string archive = TarBuilder().File("a", "x").File("b.jpg", "beta").bytes();
  EXPECT_THAT(ReadMembers(archive.substr(0, 1536 + 3)),
              Damaged("byte 1024: the archive is truncated: only 3 of the 4 bytes of member "
                      "'b.jpg' are there"));
  EXPECT_THAT(
      ReadMembers(archive.substr(0, 1024 + 100)),
      Damaged(
          "byte 1024: the archive is truncated: only 100 of the 512 bytes of a header are there"));
}

TEST(TarReaderTest, ReportsAnExtraHeaderThatIsCut) {
  const TarBuilder pax = TarBuilder().Pax(PaxText("path", "long"));
  EXPECT_THAT(ReadMembers(absl::string_view(pax.bytes()).substr(0, 515)),
              Damaged("truncated: only 3 of the 13 bytes of member 'PaxHeaders/x' are there"));
  EXPECT_THAT(ReadMembers(pax), Damaged("truncated: the member that an extended header"));
  EXPECT_THAT(ReadMembers(TarBuilder().LongName("x").End()), Damaged("describes is missing"));
}

TEST(TarReaderTest, ReportsALoneBlockOfZeros) {
  TarBuilder archive;
  archive.File("a", "x").Member(std::string(512, '\0')).File("b", "y");
  EXPECT_THAT(ReadMembers(archive),
              Damaged("byte 1024: the archive is damaged: it must end with two blocks of zeros"));
}

TEST(TarReaderTest, ReportsWhatIsNoHeader) {
  EXPECT_THAT(ReadMembers(TarBuilder().File("a", "x").bytes() + std::string(600, 'z')),
              Damaged("byte 1024: no tar header"));
}

TEST(TarReaderTest, RefusesWhatIsNoFile) {
  const std::pair<char, const char*> refused[] = {
      {'1', "is a hard link: write the archive with tar --hard-dereference"},
      {'2', "is a symbolic link: write the archive with tar --dereference --hard-dereference"},
      {'3', "is a device or a pipe"},
      {'4', "is a device or a pipe"},
      {'6', "is a device or a pipe"},
      {'S', "is a sparse file: write the archive without tar --sparse"},
      {'M', "begins in another volume"},
      {'Z', "has the type 90, which is not known"}};
  for (const auto& [type, why] : refused) {
    TarBuilder archive;
    archive.File("a", "x").Member(TarHeaderBlock("b.jpg", 0, type));
    EXPECT_THAT(ReadMembers(archive), Damaged(absl::StrCat("byte 1024: member 'b.jpg' ", why)));
  }
}

TEST(TarReaderTest, RefusesSparseFilesOfPax) {
  TarBuilder archive;
  archive.Pax(PaxText("GNU.sparse.major", "1") + PaxText("GNU.sparse.name", "b.jpg"));
  archive.File("GNUSparseFile.1/b.jpg", "x");
  EXPECT_THAT(ReadMembers(archive), Damaged("member 'b.jpg' is a sparse file"));
}

TEST(TarReaderTest, RefusesDirectoriesWithBytes) {
  EXPECT_THAT(ReadMembers(TarBuilder().Member(TarHeaderBlock("b/", 5, '5'), "bytes")),
              Damaged("member 'b/' is a directory, but has 5 bytes"));
}

TEST(TarReaderTest, RefusesGlobalHeadersThatNameOrSizeMembers) {
  for (const char* key : {"path", "size", "GNU.sparse.size"}) {
    TarBuilder archive;
    archive.Pax(PaxText(key, "1"), 'g').File("a", "x");
    EXPECT_THAT(ReadMembers(archive), Damaged(absl::StrCat("sets '", key, "' for all members")));
  }
}

TEST(TarReaderTest, RefusesDamagedPaxRecords) {
  EXPECT_THAT(ReadMembers(TarBuilder().Pax("12 path=ab\n").File("a", "x")),
              Damaged("byte 0: damaged: pax records"));
  EXPECT_THAT(ReadMembers(TarBuilder().Pax(PaxText("size", "-1")).File("a", "x")),
              Damaged("the size in pax records is no number"));
}

TEST(TarReaderTest, RefusesExtraHeadersThatAreTooLong) {
  for (char type : {'L', 'K', 'x', 'g'}) {
    const std::string header = TarHeaderBlock("x", TarReader::kMaxExtraBytes + 1, type);
    EXPECT_THAT(ReadMembers(header),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("1048577 bytes"), HasSubstr("1.0 MiB"))));
  }
}

TEST(TarReaderTest, LongNamesAreShownInPart) {
  TarBuilder archive;
  archive.LongName(std::string(100000, 'n')).Member(TarHeaderBlock("n", 0, '2'));
  const absl::Status status = ReadMembers(archive).status();
  EXPECT_THAT(status, Damaged("is a symbolic link"));
  EXPECT_LT(status.message().size(), 400u);
}

TEST(TarReaderTest, SizesNearTwoTo64DoNotOverflow) {
  for (uint64_t size : {UINT64_MAX, UINT64_MAX - 511, UINT64_MAX - 1535, uint64_t{1} << 62 | 1}) {
    TarBuilder archive;
    archive.Pax(PaxText("size", absl::StrCat(size))).File("a", "x");
    EXPECT_THAT(ReadMembers(archive), Damaged(absl::StrCat("damaged: a member of ", size)));
  }
}

TEST(TarReaderTest, AsksForAMemberAndTheNextHeader) {
  std::string header = TarHeaderBlock("a.jpg", 0);
  PutField(124, "\x80\0\0\0\0\0\0\2\0\0\0\1"s, header.data());  // 8 GiB and one byte.
  StoreChecksum(header.data());
  TarReader reader;
  TarMember member;
  EXPECT_THAT(reader.Next(BytesOf(""), /*at_end=*/false, member), IsOkAndHolds(Found::kMore));
  EXPECT_EQ(reader.needed(), 512u);
  EXPECT_THAT(reader.Next(BytesOf(header), /*at_end=*/false, member), IsOkAndHolds(Found::kMore));
  EXPECT_EQ(reader.needed(), 512 + (uint64_t{2} << 32) + 512 + 512);
  EXPECT_THAT(reader.Next(BytesOf(header), /*at_end=*/true, member),
              Damaged("only 0 of the 8589934593 bytes of member"));
}

}  // namespace
}  // namespace penstock
