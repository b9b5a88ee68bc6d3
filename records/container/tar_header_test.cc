#include "records/container/tar_header.h"

#include <string>

#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/container/testing/tar_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<TarHeader> Parse(const std::string& block) { return ParseTarHeader(BytesOf(block)); }

// The header of "a.jpg" with the field at `begin` overwritten by `text`.
std::string HeaderWith(size_t begin, absl::string_view text) {
  std::string block = TarHeaderBlock("a.jpg", 7);
  PutField(begin, text, block.data());
  StoreChecksum(block.data());
  return block;
}

absl::StatusOr<uint64_t> SizeOf(absl::string_view field) {
  const std::string block = HeaderWith(124, field);
  const absl::StatusOr<TarHeader> header = Parse(block);
  if (!header.ok()) return header.status();
  return header->size;
}

TEST(TarHeaderTest, ReadsNameTypeAndSize) {
  const std::string block = TarHeaderBlock("a.jpg", 1234, '7');
  ASSERT_OK_AND_ASSIGN(const TarHeader header, Parse(block));
  EXPECT_EQ(header.prefix, "");
  EXPECT_EQ(header.name, "a.jpg");
  EXPECT_EQ(header.type, '7');
  EXPECT_EQ(header.size, 1234u);
}

TEST(TarHeaderTest, NamesMayFillTheirFields) {
  std::string block = HeaderWith(345, std::string(155, 'p'));
  PutField(0, std::string(100, 'n'), block.data());
  StoreChecksum(block.data());
  ASSERT_OK_AND_ASSIGN(const TarHeader header, Parse(block));
  EXPECT_EQ(header.prefix, std::string(155, 'p'));
  EXPECT_EQ(header.name, std::string(100, 'n'));
}

TEST(TarHeaderTest, OnlyPosixHasAPrefix) {
  for (const std::string& magic : {std::string("ustar "), std::string(6, '\0')}) {
    std::string block = HeaderWith(345, "times");
    PutField(257, magic, block.data());
    StoreChecksum(block.data());
    ASSERT_OK_AND_ASSIGN(const TarHeader header, Parse(block));
    EXPECT_EQ(header.prefix, "");
  }
}

TEST(TarHeaderTest, V7sTypeIsARegularFile) {
  const std::string block = TarHeaderBlock("a.jpg", 7, '\0');
  ASSERT_OK_AND_ASSIGN(const TarHeader header, Parse(block));
  EXPECT_EQ(header.type, '0');
}

TEST(TarHeaderTest, ReadsOctalSizes) {
  EXPECT_THAT(SizeOf("00000000017"), IsOkAndHolds(15u));
  EXPECT_THAT(SizeOf("       17 \0\0"), IsOkAndHolds(15u));
  EXPECT_THAT(SizeOf("777777777777"), IsOkAndHolds((uint64_t{1} << 36) - 1));
  EXPECT_THAT(SizeOf("            "), IsOkAndHolds(0u));
  EXPECT_THAT(SizeOf(std::string(12, '\0')), IsOkAndHolds(0u));
}

TEST(TarHeaderTest, ReadsSizesOfBase256) {
  using namespace std::string_literals;
  EXPECT_THAT(SizeOf("\x80\0\0\0\0\0\0\2\0\0\0\1"s), IsOkAndHolds((uint64_t{1} << 33) + 1));
  EXPECT_THAT(SizeOf("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s), IsOkAndHolds(UINT64_MAX));
}

TEST(TarHeaderTest, RefusesSizesThatAreNoNumber) {
  using namespace std::string_literals;
  for (const std::string& field :
       {"-0000000001\0"s, "00000000018\0"s, "0x000000017\0"s,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"s, "\x80\0\0\1\0\0\0\0\0\0\0\0"s,
        "\xa0\0\0\0\0\0\0\0\0\0\0\1"s, "\1\0\0\0\0\0\0\0\0\0\0\1"s}) {
    EXPECT_THAT(SizeOf(field),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the size field is not a number")));
  }
}

TEST(TarHeaderTest, SumsBytesWithAndWithoutSign) {
  std::string block = TarHeaderBlock("\xe4\xf6.jpg", 7);
  EXPECT_OK(Parse(block));
  unsigned sum = 0;
  PutField(148, "        ", block.data());
  for (char c : block) sum += static_cast<unsigned>(static_cast<signed char>(c));
  PutField(148, absl::StrFormat("%06o", sum) + std::string(1, '\0'), block.data());
  EXPECT_OK(Parse(block));
}

TEST(TarHeaderTest, ReportsEveryFlippedBit) {
  const std::string whole = TarHeaderBlock("a.jpg", 7);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    if (bit / 8 >= 148 && bit / 8 < 156) continue;  // "0" and " " before the sum mean the same.
    std::string block = whole;
    block[bit / 8] = static_cast<char>(block[bit / 8] ^ 1 << bit % 8);
    EXPECT_THAT(Parse(block), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("no tar header: checksum computed")))
        << bit;
  }
}

TEST(TarHeaderTest, ReportsAWrongChecksum) {
  for (size_t digit = 149; digit < 154; ++digit) {
    for (char flip : {1, 2, 4, 8, 16, 32, 64, -128}) {
      std::string block = TarHeaderBlock("a.jpg", 7);
      block[digit] = static_cast<char>(block[digit] ^ flip);
      EXPECT_THAT(Parse(block), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stored")));
    }
  }
  EXPECT_THAT(Parse(std::string(512, 'x')),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stored no number")));
}

}  // namespace
}  // namespace penstock
