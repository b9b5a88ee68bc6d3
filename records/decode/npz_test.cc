#include "records/decode/npz.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "records/decode/testing/read_file.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class NpzWriterTest : public ::testing::Test {
 protected:
  size_t Files() const {
    const std::filesystem::directory_iterator files(folder_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("p.npz");
  const std::vector<NpzArray> arrays_ = {{"id", Dtype::kI64}, {"score", Dtype::kF32, {2}}};
};

TEST_F(NpzWriterTest, EachArrayIsAnNpyFileOfTheArchive) {
  ASSERT_OK_AND_ASSIGN(NpzWriter npz, NpzWriter::Create(path_, arrays_));
  const int64_t ids[] = {7, 9};
  const float scores[] = {1, 2, 3, 4};
  ASSERT_OK(npz.Append(0, BytesOf(ids, sizeof(ids))));
  ASSERT_OK(npz.Append(1, BytesOf(scores, sizeof(scores))));
  ASSERT_OK(npz.Finish());
  const std::string file = ReadFile(path_);
  EXPECT_THAT(file, HasSubstr("id.npy"));
  EXPECT_THAT(file, HasSubstr("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"));
  EXPECT_THAT(file, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"));
  EXPECT_EQ(Files(), 1u);
}

TEST_F(NpzWriterTest, WhatIsNotFinishedLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(NpzWriter npz, NpzWriter::Create(path_, arrays_));
    EXPECT_EQ(Files(), 2u);
  }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(NpzWriterTest, SaysThatAFolderIsMissing) {
  EXPECT_THAT(NpzWriter::Create(folder_.File("none/p.npz"), arrays_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/p.npz")));
}

}  // namespace
}  // namespace penstock
