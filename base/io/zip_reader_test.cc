#include "base/io/zip_reader.h"

#include <zlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "base/io/testing/memory_source.h"
#include "base/io/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::string Little(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i, value >>= 8) bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string Deflate(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An archive of one member, as numpy.savez_compressed() writes it.
struct Archive {
  std::string name = "a.npy";
  std::string text = "some text, some text, some text";
  int method = 8;
  int flags = 0;
  std::string comment = {};

  std::string Bytes() const {
    const std::string packed = method == 8 ? Deflate(text) : text;
    const auto crc =
        crc32(0, reinterpret_cast<const uint8_t*>(text.data()), static_cast<uInt>(text.size()));
    const std::string common = Little(20, 2) + Little(static_cast<uint64_t>(flags), 2) +
                               Little(static_cast<uint64_t>(method), 2) + Little(0, 4) +
                               Little(crc, 4) + Little(packed.size(), 4) + Little(text.size(), 4) +
                               Little(name.size(), 2) + Little(0, 2);
    const std::string local = Little(0x04034b50, 4) + common + name + packed;
    const std::string entry = Little(0x02014b50, 4) + Little(20, 2) + common + Little(0, 14) + name;
    return local + entry + Little(0x06054b50, 4) + Little(0, 4) + Little(1, 2) + Little(1, 2) +
           Little(entry.size(), 4) + Little(local.size(), 4) + Little(comment.size(), 2) + comment;
  }
};

MemorySource SourceOf(const std::string& bytes) {
  return MemorySource("a.zip", {bytes.begin(), bytes.end()});
}

absl::StatusOr<std::string> ReadAll(ByteStream& stream, size_t step) {
  std::string text;
  std::vector<uint8_t> block(step);
  while (true) {
    const absl::StatusOr<size_t> size = stream.Read(block);
    if (!size.ok()) return size.status();
    if (*size == 0) return text;
    text.append(block.begin(), block.begin() + static_cast<ptrdiff_t>(*size));
  }
}

absl::StatusOr<std::string> ReadFirst(const ByteSource& source, size_t step = 7) {
  const absl::StatusOr<std::vector<ZipMember>> members = ListZip(source);
  if (!members.ok()) return members.status();
  if (members->empty()) return absl::NotFoundError("no member");
  absl::StatusOr<std::unique_ptr<ByteStream>> stream = OpenZipMember(source, members->front());
  if (!stream.ok()) return stream.status();
  return ReadAll(**stream, step);
}

TEST(ZipReaderTest, ReadsStoredAndDeflatedMembers) {
  for (const int method : {0, 8}) {
    Archive archive{.method = method};
    for (const size_t step : {1, 7, 1000}) {
      EXPECT_THAT(ReadFirst(SourceOf(archive.Bytes()), step), IsOkAndHolds(archive.text));
    }
    archive.text.clear();
    archive.comment = "PK\x05\x06 is what an end begins with";
    EXPECT_THAT(ReadFirst(SourceOf(archive.Bytes())), IsOkAndHolds(""));
  }
}

TEST(ZipReaderTest, BothNamesOfAMemberMustBeEqual) {
  for (const bool of_directory : {false, true}) {
    std::string bytes = Archive{}.Bytes();
    const size_t at = of_directory ? bytes.rfind("a.npy") : bytes.find("a.npy");
    bytes[at] = 'c';
    EXPECT_THAT(ReadFirst(SourceOf(bytes)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differently")));
  }
}

TEST(ZipReaderTest, ReadsWhatTheWriterWrites) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(ZipWriter writer, ZipWriter::Create(folder.File("a.zip")));
  for (const char* text : {"alpha", "", "gamma"}) {
    ASSERT_OK(writer.Add(absl::StrCat(text, ".npy"), SourceOf(text)));
  }
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const auto source, FileSource::Open(folder.File("a.zip")));
  ASSERT_OK_AND_ASSIGN(const std::vector<ZipMember> members, ListZip(*source));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[2].name, "gamma.npy");
  ASSERT_OK_AND_ASSIGN(const auto stream, OpenZipMember(*source, members[2]));
  EXPECT_THAT(ReadAll(*stream, 3), IsOkAndHolds("gamma"));
}

TEST(ZipReaderTest, ACutAtAnyByteIsAnError) {
  for (const int method : {0, 8}) {
    const std::string whole = Archive{.method = method}.Bytes();
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THAT(ReadFirst(SourceOf(whole.substr(0, size))),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.zip")))
          << size;
    }
  }
}

TEST(ZipReaderTest, AFlipInTheContentIsAnError) {
  for (const int method : {0, 8}) {
    const Archive archive{.method = method};
    const std::string whole = archive.Bytes();
    const size_t begin = 30 + archive.name.size();
    for (size_t at = begin; at < begin + 10; ++at) {
      std::string flipped = whole;
      flipped[at] ^= 0x10;
      EXPECT_THAT(ReadFirst(SourceOf(flipped)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("member a.npy")))
          << at;
    }
  }
}

// With any byte of the headers or the directory flipped, reading gives an error or the right text.
TEST(ZipReaderTest, AFlipAnywhereIsNoOtherText) {
  const Archive archive;
  const std::string whole = archive.Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string flipped = whole;
      flipped[at] ^= flip;
      const absl::StatusOr<std::string> text = ReadFirst(SourceOf(flipped));
      if (text.ok()) {
        EXPECT_EQ(*text, archive.text) << at;
      }
    }
  }
}

TEST(ZipReaderTest, SaysWhatItDoesNotRead) {
  EXPECT_THAT(ReadFirst(SourceOf(Archive{.flags = 1}.Bytes())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is encrypted")));
  EXPECT_THAT(ReadFirst(SourceOf(Archive{.method = 12}.Bytes())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("compressed by method 12")));
  EXPECT_THAT(ReadFirst(SourceOf("this is no archive, but some text")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no zip archive")));
}

}  // namespace
}  // namespace penstock
