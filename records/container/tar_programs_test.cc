// Tests archives written by GNU tar.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/container/testing/cut_records.h"
#include "records/container/webdataset.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class TarProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("tar --version 2>/dev/null | grep -q GNU") != 0) GTEST_SKIP() << "no GNU tar";
  }

  // Archives files_ with tar and these options, and returns the records.
  CutRecords Archive(const std::string& options) {
    const std::string command = absl::StrCat("tar -C ", files_.path(), " --sort=name -cf ",
                                             out_.File("x.tar"), " ", options);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    const std::string archive = out_.Read("x.tar");
    const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter();
    const CutRecords all = CutAll(BytesOf(archive), *cutter, Growth::kAsNeeded);
    EXPECT_EQ(CutAll(BytesOf(archive), *cutter, Growth::kWhole), all);
    return all;
  }

  TempFolder files_, out_;
};

// Writes 3 samples of 2 members.
void WriteSamples(const std::string& folder, const TempFolder& files) {
  for (const char* key : {"a", "b", "c"}) {
    files.Write(absl::StrCat(folder, key, ".jpg"), std::string(1000, key[0]));
    files.Write(absl::StrCat(folder, key, ".cls"), absl::StrCat(key[0] - 'a', "\n"));
  }
}

TEST_F(TarProgramsTest, EveryFormatGivesTheSameSamples) {
  WriteSamples("train/", files_);
  const CutRecords all = Archive("--format=ustar .");
  EXPECT_OK(all.status);
  EXPECT_EQ(all.payloads.size(), 3u);
  for (const char* format : {"v7", "oldgnu", "gnu", "pax", "posix"}) {
    const CutRecords other = Archive(absl::StrCat("--format=", format, " ."));
    EXPECT_OK(other.status) << format;
    EXPECT_EQ(other.payloads, all.payloads) << format;
  }
}

TEST_F(TarProgramsTest, EveryFormatGivesTheSameLongNames) {
  const std::string folder(60, 'f');
  WriteSamples(absl::StrCat(folder, "/", folder, "/", folder, "/"), files_);
  const CutRecords all = Archive("--format=ustar .");
  EXPECT_OK(all.status);
  EXPECT_EQ(all.payloads.size(), 3u);
  for (const char* format : {"oldgnu", "gnu", "pax"}) {
    EXPECT_EQ(Archive(absl::StrCat("--format=", format, " .")).payloads, all.payloads) << format;
  }
}

TEST_F(TarProgramsTest, ReadsVeryLongNames) {
  const std::string folder(200, 'f');
  WriteSamples(absl::StrCat(folder, "/", folder, "/"), files_);
  const CutRecords all = Archive("--format=gnu .");
  EXPECT_OK(all.status);
  EXPECT_EQ(all.payloads.size(), 3u);
  EXPECT_EQ(Archive("--format=pax .").payloads, all.payloads);
}

TEST_F(TarProgramsTest, SkipsLabelsTimesAndOwnersOfPax) {
  WriteSamples("", files_);
  const CutRecords all = Archive("--format=gnu .");
  for (const char* options :
       {"--format=gnu -V label .", "--format=pax -V label .",
        "--format=gnu --incremental --atime-preserve a.jpg a.cls b.jpg b.cls c.jpg c.cls",
        "--format=pax --pax-option=globexthdr.name=g,comment=x ."}) {
    const CutRecords other = Archive(options);
    EXPECT_OK(other.status) << options;
    EXPECT_EQ(other.payloads.size(), all.payloads.size()) << options;
  }
}

TEST_F(TarProgramsTest, RefusesLinksUnlessTheyAreFollowed) {
  files_.Write("a.jpg", "x");
  std::filesystem::create_symlink("a.jpg", files_.File("b.jpg"));
  for (const char* format : {"v7", "ustar", "gnu", "pax"}) {
    const std::string options = absl::StrCat("--format=", format);
    EXPECT_THAT(Archive(options + " .").status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'./b.jpg' is a symbolic link")));
    EXPECT_EQ(Archive(options + " --dereference --hard-dereference .").payloads.size(), 2u);
  }
}

TEST_F(TarProgramsTest, RefusesHardLinksUnlessTheyAreFollowed) {
  files_.Write("a.jpg", "x");
  std::filesystem::create_hard_link(files_.File("a.jpg"), files_.File("b.jpg"));
  EXPECT_THAT(Archive(".").status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'./b.jpg' is a hard link")));
  EXPECT_EQ(Archive("--hard-dereference .").payloads.size(), 2u);
}

TEST_F(TarProgramsTest, RefusesSparseFilesUnlessTheyAreWrittenWhole) {
  std::filesystem::resize_file(files_.Write("a.jpg", "x"), 1 << 20);
  for (const char* options : {"--format=gnu", "--format=pax", "--format=pax --sparse-version=0.0",
                              "--format=pax --sparse-version=0.1"}) {
    EXPECT_THAT(Archive(absl::StrCat("--sparse ", options, " .")).status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.jpg' is a sparse file")))
        << options;
  }
  EXPECT_EQ(Archive(".").payloads.size(), 1u);
}

TEST_F(TarProgramsTest, RefusesPipes) {
  ASSERT_EQ(::mkfifo(files_.File("a.jpg").c_str(), 0600), 0);
  EXPECT_THAT(Archive(".").status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'./a.jpg' is a device or a pipe")));
}

}  // namespace
}  // namespace penstock
