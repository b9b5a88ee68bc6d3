#include "base/crc32c.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32cTest, MatchesPublishedVectors) {
  EXPECT_EQ(Crc32c(BytesOf(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(Crc32c(BytesOf(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(BytesOf("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, ContinuesFromASeed) {
  std::string text = "records on disk";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(BytesOf(text.substr(cut)), Crc32c(BytesOf(text.substr(0, cut)))),
              Crc32c(BytesOf(text)));
  }
}

// The length field of a 5-byte record, as TensorFlow writes it.
TEST(Crc32cTest, MasksAsTfRecordDoes) {
  uint64_t length = 0;
  uint8_t bytes[8];
  std::memcpy(bytes, &length, 8);
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8u);
  EXPECT_EQ(MaskCrc32c(Crc32c(bytes)), 0x07980329u);  // Bytes 29 03 98 07 of an empty record.
}

}  // namespace
}  // namespace penstock
