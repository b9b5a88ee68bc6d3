#include "records/decode/npy_reader.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/io/testing/memory_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/npy.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NpyText(int version, const std::string& dictionary, const std::string& data) {
  std::string file = std::string("\x93NUMPY", 6) + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>(dictionary.size() >> (8 * i)));
  }
  return file + dictionary + data;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape,
                      ", }    \n");
}

// Reads all rows, and calls Finish().
absl::StatusOr<std::vector<std::string>> ReadRows(const std::string& file) {
  const MemorySource source("a.npy", {file.begin(), file.end()});
  absl::StatusOr<NpyReader> reader =
      NpyReader::Open(std::make_unique<SourceStream>(source), "a.npy");
  if (!reader.ok()) return reader.status();
  std::vector<std::string> rows;
  for (uint64_t i = 0; i < reader->rows(); ++i) {
    const absl::StatusOr<std::span<const uint8_t>> row = reader->Next();
    if (!row.ok()) return row.status();
    rows.emplace_back(row->begin(), row->end());
  }
  if (absl::Status status = reader->Finish(); !status.ok()) return status;
  return rows;
}

TEST(NpyReaderTest, ReadsEachVersion) {
  for (const int version : {1, 2, 3}) {
    EXPECT_THAT(ReadRows(NpyText(version, Dictionary("|u1", "(3, 2)"), "abcdef")),
                IsOkAndHolds(ElementsAre("ab", "cd", "ef")));
  }
}

TEST(NpyReaderTest, TakesTheDictionaryInAnyOrder) {
  EXPECT_THAT(
      ReadRows(NpyText(1, "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<i2\"}", "abcd")),
      IsOkAndHolds(ElementsAre("ab", "cd")));
  EXPECT_THAT(ReadRows(NpyText(1, Dictionary("|b1", "(2L,)"), "ab")),
              IsOkAndHolds(ElementsAre("a", "b")));
}

TEST(NpyReaderTest, ReadsWhatTheWriterWrites) {
  TempFolder folder;
  const uint32_t shape[] = {3, 5};
  ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                       NpyWriter::Create(folder.File("a.npy"), Dtype::kF32, shape));
  std::vector<uint8_t> rows(60 * 20'000);  // More than one block.
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i * 7 / 5);
  ASSERT_OK(writer.Append(rows));
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const auto source, FileSource::Open(folder.File("a.npy")));
  ASSERT_OK_AND_ASSIGN(NpyReader reader,
                       NpyReader::Open(std::make_unique<SourceStream>(*source), "a.npy"));
  EXPECT_THAT(reader.header().shape, ElementsAre(20'000, 3, 5));
  EXPECT_EQ(reader.header().kind, NpyKind::kFloat);
  EXPECT_EQ(reader.row_values(), 15u);
  std::vector<uint8_t> read;
  for (uint64_t i = 0; i < reader.rows(); ++i) {
    ASSERT_OK_AND_ASSIGN(const auto row, reader.Next());
    read.insert(read.end(), row.begin(), row.end());
  }
  ASSERT_OK(reader.Finish());
  EXPECT_EQ(read, rows);
}

TEST(NpyReaderTest, ACutAtAnyByteIsAnError) {
  const std::string whole = NpyText(1, Dictionary("<i4", "(2,)"), "abcdefgh");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ReadRows(whole.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.npy: is truncated")))
        << size;
  }
}

TEST(NpyReaderTest, MoreBytesThanRowsAreAnError) {
  EXPECT_THAT(
      ReadRows(NpyText(1, Dictionary("<i4", "(2,)"), "abcdefghi")),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has more bytes after its last row")));
}

TEST(NpyReaderTest, SaysWhatItDoesNotRead) {
  const std::pair<std::string, const char*> cases[] = {
      {Dictionary("<f4", "(3, 2)", "True"), "Fortran order"},
      {Dictionary(">f4", "(3,)"), "not little-endian"},
      {Dictionary("<U5", "(3,)"), "an array of text"},
      {Dictionary("|S5", "(3,)"), "an array of byte strings"},
      {Dictionary("|O", "(3,)"), "an array of Python objects"},
      {Dictionary("<c8", "(3,)"), "an array of complex numbers"},
      {Dictionary("<M8[ns]", "(3,)"), "an array of times"},
      {Dictionary("<f16", "(3,)"), "an array of numbers of 16 bytes"},
      {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }", "a structured array"},
      {Dictionary("<f4", "()"), "a single number"},
      {Dictionary("<f4", "(3, 100000000000)"), "more than 64.0 MiB"},
      {Dictionary("<f4", "(3, 0)"), "a row has no values"},
  };
  for (const auto& [dictionary, what] : cases) {
    EXPECT_THAT(
        ReadRows(NpyText(1, dictionary, "")),
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("a.npy: "), HasSubstr(what))));
  }
  EXPECT_THAT(ReadRows(NpyText(4, Dictionary("<f4", "(3,)"), "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is of version 4.0")));
  EXPECT_THAT(ReadRows("this is no array"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("this is no .npy file")));
}

TEST(NpyReaderTest, RefusesWhatIsNoDictionary) {
  for (const char* text :
       {"", "{", "{'descr': '<f4'}", "{'descr: '<f4'", "{'shape': (1,, 2)}", "{'shape': (1",
        "{'shape': (-1,)}", "{'fortran_order': Maybe}", "{'other': 1}", "{'descr': <f4}"}) {
    EXPECT_THAT(ParseNpyHeader(text),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a NumPy dictionary")))
        << text;
  }
}

}  // namespace
}  // namespace penstock
