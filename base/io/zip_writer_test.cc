#include "base/io/zip_writer.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/io/file_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

class ZipWriterTest : public testing::Test {
 protected:
  absl::Status Write(const std::vector<std::pair<std::string, std::string>>& members) {
    absl::StatusOr<ZipWriter> zip = ZipWriter::Create(path_);
    if (!zip.ok()) return zip.status();
    for (const auto& [name, content] : members) {
      const auto source = FileSource::Open(folder_.Write(name, content)).value();
      if (absl::Status added = zip->Add(name, *source); !added.ok()) return added;
    }
    return zip->Finish();
  }
  std::string Bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static uint64_t U64(const std::string& bytes, size_t at) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("a.zip");
};

// CRC-32 of "123456789" is cbf43926 (https://reveng.sourceforge.io/crc-catalogue/all.htm).
TEST_F(ZipWriterTest, AMemberIsItsHeaderNameAndBytes) {
  ASSERT_OK(Write({{"a.txt", "123456789"}}));
  EXPECT_EQ(Bytes().substr(0, 64),
            std::string("PK\x03\x04\x2d\0\0\0\0\0\0\0\x21\0\x26\x39\xf4\xcb"
                        "\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\x14\0"
                        "a.txt\x01\0\x10\0\x09\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0"
                        "123456789",
                        64));
}

TEST_F(ZipWriterTest, TheDirectoryIsFoundFromTheEnd) {
  ASSERT_OK(Write({{"a.txt", "123456789"}, {"b.txt", ""}}));
  const std::string bytes = Bytes();
  EXPECT_EQ(bytes.substr(bytes.size() - 22, 4), "PK\x05\x06");
  const uint64_t end = U64(bytes, bytes.size() - 22 - 12);
  ASSERT_EQ(bytes.substr(end, 4), "PK\x06\x06");
  EXPECT_EQ(U64(bytes, end + 32), 2u);  // Number of members.
  const uint64_t directory = U64(bytes, end + 48);
  EXPECT_EQ(directory + U64(bytes, end + 40), end);
  ASSERT_EQ(bytes.substr(directory, 4), "PK\x01\x02");
  const size_t second = directory + 46 + 5 + 28;
  EXPECT_EQ(bytes.substr(second + 46, 5), "b.txt");
  const uint64_t header = U64(bytes, second + 46 + 5 + 4 + 16);
  EXPECT_EQ(bytes.substr(header, 4), "PK\x03\x04");
  EXPECT_EQ(bytes.substr(header + 30, 5), "b.txt");
}

TEST_F(ZipWriterTest, WhatIsNotFinishedIsNotThere) {
  ASSERT_OK_AND_ASSIGN(ZipWriter zip, ZipWriter::Create(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace penstock
