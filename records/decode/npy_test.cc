#include "records/decode/npy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "records/decode/testing/read_file.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string TestPath(const std::string& name) {
  static const TempFolder folder;
  return folder.File(name);
}

std::string Partial(const std::string& path) {
  return absl::StrCat(path, ".", ::getpid(), ".partial");
}

bool Exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

size_t HeaderEnd(const std::string& file) {
  return 10 + static_cast<uint8_t>(file[8]) + 256 * static_cast<uint8_t>(file[9]);
}

std::string HeaderOf(Dtype dtype, std::vector<uint32_t> shape, size_t row_bytes) {
  const std::string path = TestPath("header.npy");
  absl::StatusOr<NpyWriter> writer = NpyWriter::Create(path, dtype, shape);
  EXPECT_OK(writer);
  EXPECT_OK(writer->Append(std::vector<uint8_t>(3 * row_bytes)));
  EXPECT_OK(writer->Finish());
  return ReadFile(path).substr(10);
}

TEST(NpyWriterTest, StatesDtypeAndShape) {
  EXPECT_THAT(HeaderOf(Dtype::kI8, {8, 8, 24}, 1536),
              StartsWith("{'descr': '|i1', 'fortran_order': False, 'shape': (3, 8, 8, 24), }"));
  EXPECT_THAT(HeaderOf(Dtype::kF32, {}, 4),
              StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(HeaderOf(Dtype::kF64, {2}, 16),
              HasSubstr("'<f8', 'fortran_order': False, 'shape': (3, 2)"));
  EXPECT_THAT(HeaderOf(Dtype::kI64, {1}, 8), HasSubstr("'<i8'"));
  EXPECT_THAT(HeaderOf(Dtype::kU8, {194}, 194), HasSubstr("'|u1'"));
}

TEST(NpyWriterTest, HeaderFollowsTheFormat) {
  const std::string path = TestPath("format.npy");
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kU8, {}));
  ASSERT_OK(writer.Finish());
  const std::string file = ReadFile(path);
  EXPECT_THAT(file, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  EXPECT_EQ(HeaderEnd(file), file.size());
  EXPECT_EQ(file.size() % 64, 0);
  EXPECT_EQ(file.back(), '\n');
}

TEST(NpyWriterTest, KeepsRowsInOrderAcrossItsBuffer) {
  const std::string path = TestPath("order.npy");
  const uint32_t kShape[] = {1};
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kI64, kShape));
  std::string want;
  int64_t next = 0;
  for (const size_t rows : {1, 1000, 50000, 7, 40000, 30000, 0, 3}) {
    std::vector<int64_t> values(rows);
    for (int64_t& value : values) value = next++;
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    ASSERT_OK(writer.Append({bytes, 8 * rows}));
    want.append(reinterpret_cast<const char*>(bytes), 8 * rows);
  }
  ASSERT_OK(writer.Finish());
  const std::string file = ReadFile(path);
  EXPECT_THAT(file, HasSubstr(absl::StrCat("'shape': (", next, ", 1)")));
  EXPECT_TRUE(file.substr(HeaderEnd(file)) == want);
}

TEST(NpyWriterTest, LeavesNothingWithoutFinish) {
  const std::string path = TestPath("abandoned.npy");
  {
    ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kU8, {}));
    ASSERT_OK(writer.Append(std::vector<uint8_t>(1 << 20)));
    EXPECT_TRUE(Exists(Partial(path)));
  }
  EXPECT_FALSE(Exists(path));
  EXPECT_FALSE(Exists(Partial(path)));
}

TEST(NpyWriterTest, ReportsAFullDiskAndKeepsTheOldFile) {
  const std::string path = TestPath("full.npy");
  std::ofstream(path) << "old";
  ASSERT_EQ(::symlink("/dev/full", Partial(path).c_str()), 0);
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kU8, {}));
  EXPECT_OK(writer.Append(std::vector<uint8_t>(100)));
  EXPECT_THAT(writer.Finish(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(path)));
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_FALSE(Exists(Partial(path)));
}

TEST(NpyWriterTest, StaysFailedOnceTheDiskWasFull) {
  const std::string path = TestPath("failed.npy");
  ASSERT_EQ(::symlink("/dev/full", Partial(path).c_str()), 0);
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kU8, {}));
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space left"));
  EXPECT_THAT(writer.Append(std::vector<uint8_t>(1 << 20)), full);
  EXPECT_THAT(writer.Append(std::vector<uint8_t>(1)), full);
  EXPECT_THAT(writer.Finish(), full);
}

TEST(NpyWriterTest, RefusesAPartOfARow) {
  const uint32_t kShape[] = {3};
  ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                       NpyWriter::Create(TestPath("part.npy"), Dtype::kI64, kShape));
  EXPECT_THAT(writer.Append(std::vector<uint8_t>(25)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows of 24 bytes")));
}

TEST(NpyWriterTest, RefusesBf16) {
  EXPECT_THAT(NpyWriter::Create(TestPath("bf16.npy"), Dtype::kBf16, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot hold bf16")));
}

TEST(NpyWriterTest, NamesTheFileItCannotCreate) {
  EXPECT_THAT(NpyWriter::Create("/nonexistent/x.npy", Dtype::kU8, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(Partial("/nonexistent/x.npy"))));
}

TEST(NpyWriterTest, FinishesOnce) {
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(TestPath("once.npy"), Dtype::kU8, {}));
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(writer.Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("already")));
}

TEST(NpyWriterTest, LeavesNothingBesideANameThatIsAFolder) {
  const std::string path = TestPath("folder.npy");
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_OK_AND_ASSIGN(NpyWriter writer, NpyWriter::Create(path, Dtype::kU8, {}));
  EXPECT_THAT(writer.Finish(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  EXPECT_FALSE(Exists(Partial(path)));
}

}  // namespace
}  // namespace penstock
