#include "records/wire/part_header.h"

#include <random>
#include <string>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/pieces.pb.h"
#include "tests/status_matchers.h"

namespace penstock::wire {
namespace {

using ::testing::HasSubstr;

std::string HeaderBytes(const PartHeader& header) {
  uint8_t buffer[kMaxPartHeaderBytes];
  size_t size = WritePartHeader(header, buffer);
  return std::string(reinterpret_cast<char*>(buffer), size);
}

std::string Message(PartHeader header, const std::string& data) {
  header.data_size = data.size();
  return HeaderBytes(header) + data;
}

absl::StatusOr<std::optional<ParsedPartHeader>> ParsePart(const std::string& message) {
  size_t seen = std::min(message.size(), kPartHeaderWindow);
  return ParsePartHeader({reinterpret_cast<const uint8_t*>(message.data()), seen}, message.size());
}

MATCHER(IsNotAPart, "is no error and no part") { return arg.ok() && !arg->has_value(); }

std::string Serialised(const PartHeader& header, const std::string& data) {
  v1::ServerMessage message;
  message.mutable_part()->set_request(header.request);
  message.mutable_part()->set_first_row(header.first_row);
  message.mutable_part()->set_rows(header.rows);
  if (header.crc32c.has_value()) message.mutable_part()->set_crc32c(*header.crc32c);
  message.mutable_part()->set_shared_offset(header.shared_offset);
  message.mutable_part()->set_shared_size(header.shared_size);
  message.mutable_part()->set_data(data);
  return message.SerializeAsString();
}

// A value with a random number of bits; it is often 0.
uint64_t RandomBits(std::mt19937_64& random, int max_bits) {
  int bits = static_cast<int>(random() % (max_bits + 1));
  return bits == 0 ? 0 : random() >> (64 - bits);
}

PartHeader RandomHeader(std::mt19937_64& random) {
  return {.request = RandomBits(random, 64),
          .first_row = static_cast<uint32_t>(RandomBits(random, 32)),
          .rows = static_cast<uint32_t>(RandomBits(random, 32)),
          .crc32c =
              random() % 2 == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(random() % 3)),
          .shared_offset = RandomBits(random, 64),
          .shared_size = static_cast<uint32_t>(RandomBits(random, 32)),
          .data_size = 0};
}

TEST(PartHeaderTest, WritesTheBytesThatProtobufWrites) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    PartHeader header = RandomHeader(random);
    std::string data(RandomBits(random, 12), 'x');
    ASSERT_EQ(Message(header, data), Serialised(header, data)) << i;
  }
}

TEST(PartHeaderTest, ReadsTheBytesThatProtobufWrites) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    PartHeader header = RandomHeader(random);
    std::string data(RandomBits(random, 12), 'x');
    std::string message = Serialised(header, data);
    ASSERT_OK_AND_ASSIGN(std::optional<ParsedPartHeader> parsed, ParsePart(message));
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(parsed->header.request, header.request);
    ASSERT_EQ(parsed->header.first_row, header.first_row);
    ASSERT_EQ(parsed->header.rows, header.rows);
    ASSERT_EQ(parsed->header.crc32c, header.crc32c);
    ASSERT_EQ(parsed->header.shared_offset, header.shared_offset);
    ASSERT_EQ(parsed->header.shared_size, header.shared_size);
    ASSERT_EQ(message.substr(parsed->data_offset), data);
  }
}

TEST(PartHeaderTest, LargestHeaderFits) {
  const PartHeader header{.request = ~uint64_t{0},
                          .first_row = ~uint32_t{0},
                          .rows = ~uint32_t{0},
                          .crc32c = ~uint32_t{0},
                          .shared_offset = ~uint64_t{0},
                          .shared_size = ~uint32_t{0},
                          .data_size = (uint64_t{1} << 31) - 1};
  EXPECT_LE(HeaderBytes(header).size(), kMaxPartHeaderBytes);
}

TEST(PartHeaderTest, OtherMessagesAreNotParts) {
  EXPECT_THAT(ParsePart(""), IsNotAPart());
  v1::ServerMessage message;
  message.mutable_credit()->set_bytes(5);
  EXPECT_THAT(ParsePart(message.SerializeAsString()), IsNotAPart());
}

TEST(PartHeaderTest, SkipsFieldsItDoesNotKnow) {
  // Unknown fields (4: a number, 5: fixed64, 6: bytes, 7: fixed32), then the data "ab".
  std::string part(
      "\x20\x07\x29wwwwwwww\x32\x02zz\x3dvvvv\x7a\x02"
      "ab");
  std::string message = std::string("\x1a") + static_cast<char>(part.size()) + part;
  ASSERT_OK_AND_ASSIGN(std::optional<ParsedPartHeader> parsed, ParsePart(message));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(message.substr(parsed->data_offset), "ab");
}

TEST(PartHeaderTest, LeavesPartsWithFieldsAfterTheDataToProtobuf) {
  std::string message("\x1a\x05\x7a\x01x\x08\x01");
  EXPECT_THAT(ParsePart(message), IsNotAPart());
}

TEST(PartHeaderTest, LeavesMessagesWithFieldsAfterThePartToProtobuf) {
  EXPECT_THAT(ParsePart("\x1a\x02\x08\x05\x10\x07"), IsNotAPart());
}

// The size of the part is right, so only its last field is truncated.
TEST(PartHeaderTest, RefusesFieldsBeyondTheirPart) {
  for (size_t bytes = 0; bytes < 4; ++bytes) {
    const std::string part = "\x25" + std::string(bytes, 'c');
    EXPECT_THAT(ParsePart("\x1a" + std::string(1, static_cast<char>(part.size())) + part),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a checksum beyond")));
  }
  for (const char* message : {"\x1a\x03\x32\x05z", "\x1a\x03\x32\x02z", "\x1a\x03\x29zz"}) {
    EXPECT_THAT(ParsePart(message),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a field beyond")));
  }
}

TEST(PartHeaderTest, RefusesTruncationAtEveryByte) {
  std::string message = Message({.request = 300, .first_row = 70000, .rows = 2}, "0123456789");
  for (size_t size = 1; size < message.size(); ++size) {
    EXPECT_THAT(ParsePart(message.substr(0, size)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Part")))
        << size;
  }
}

TEST(PartHeaderTest, RefusesAbsurdSizes) {
  // A part of 2^63 bytes; data of 2^63 bytes in a part of 12.
  std::string huge("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(ParsePart(huge), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Part of")));
  std::string data("\x1a\x0a\x7a\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(ParsePart(data), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data of")));
}

TEST(PartHeaderTest, RefusesNumbersWithoutEnd) {
  std::string message = "\x1a\x0b\x08" + std::string(10, '\xff');
  EXPECT_THAT(ParsePart(message), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("end")));
}

TEST(PartHeaderTest, DamageNeverPutsDataOutsideTheMessage) {
  std::string message = Message({.request = 300, .first_row = 70000, .rows = 2}, "0123456789");
  for (size_t bit = 0; bit < message.size() * 8; ++bit) {
    std::string damaged = message;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto parsed = ParsePart(damaged);
    if (!parsed.ok() || !parsed->has_value()) continue;
    EXPECT_EQ((*parsed)->data_offset + (*parsed)->header.data_size, damaged.size()) << bit;
  }
}

PartHeader WithReplaced(uint32_t rows) {
  PartHeader header{.request = 7, .first_row = 3, .rows = rows};
  for (uint32_t row = 0; row < rows; ++row) {
    header.replaced.push_back({row, uint64_t{1} << 40 | row, "feature 'jpeg': no image"});
  }
  return header;
}

TEST(PartHeaderTest, ReplacedRowsSurviveTheWire) {
  PartHeader header = WithReplaced(3);
  header.data_size = 5;
  const std::string message = EncodePartHeader(header) + "12345";
  v1::ServerMessage parsed;
  ASSERT_TRUE(parsed.ParseFromString(message));
  EXPECT_EQ(parsed.part().replaced().row_size(), 3);
  EXPECT_EQ(parsed.part().data(), "12345");
  ASSERT_OK_AND_ASSIGN(const auto part, ParsePartHeader(BytesOf(message), message.size()));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->header.replaced, header.replaced);
  EXPECT_EQ(part->data_offset, message.size() - 5);
  EXPECT_EQ(part->header.rows, 3u);
}

TEST(PartHeaderTest, OfManyReplacedRowsTheFirstKeepTheirReasons) {
  PartHeader header = WithReplaced(1000);
  header.replaced[0].why = std::string(5000, 'x');
  const std::string message = EncodePartHeader(header);
  // The reader learns that it must look at more of the message.
  EXPECT_THAT(ParsePart(message), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("beyond")));
  ASSERT_OK_AND_ASSIGN(const auto part, ParsePartHeader(BytesOf(message), message.size()));
  ASSERT_TRUE(part.has_value());
  ASSERT_EQ(part->header.replaced.size(), 1000u);
  EXPECT_EQ(part->header.replaced[0].why, std::string(256, 'x'));
  EXPECT_EQ(part->header.replaced[15].why, header.replaced[15].why);
  EXPECT_EQ(part->header.replaced[999], (ReplacedRow{999, header.replaced[999].record, ""}));
}

TEST(PartHeaderTest, NotesAboutImagesSurviveTheWire) {
  PartHeader header{.request = 7, .rows = 3, .data_size = 5};
  header.image_notes = {{2, true, 0}, {0, false, 300}, {2, true, 1}};
  const std::string message = EncodePartHeader(header) + "12345";
  ASSERT_OK_AND_ASSIGN(const auto part, ParsePartHeader(BytesOf(message), message.size()));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->header.image_notes, header.image_notes);
  EXPECT_EQ(part->data_offset, message.size() - 5);
  v1::ServerMessage parsed;
  ASSERT_TRUE(parsed.ParseFromString(message));
  EXPECT_EQ(parsed.SerializeAsString(), message);
}

TEST(PartHeaderTest, RefusesDamagedNotesAboutImages) {
  v1::ServerMessage message;
  message.mutable_part()->mutable_image_notes()->add_row(1);
  message.mutable_part()->mutable_image_notes()->add_truncated(true);
  EXPECT_THAT(ParsePart(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("notes about images")));
}

TEST(PartHeaderTest, RefusesDamagedReplacedRows) {
  v1::ServerMessage message;
  message.mutable_part()->mutable_replaced()->add_row(1);
  EXPECT_THAT(ParsePart(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("replaced rows are damaged")));
}

}  // namespace
}  // namespace penstock::wire
