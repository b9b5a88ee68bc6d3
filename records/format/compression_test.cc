#include "records/format/compression.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::vector<uint8_t> SomeBytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i >> 5);
  return bytes;
}

class CompressionTest : public ::testing::TestWithParam<Compression> {
 protected:
  std::vector<uint8_t> Members(std::initializer_list<std::vector<uint8_t>> members) {
    std::vector<uint8_t> out;
    for (const auto& member : members) EXPECT_OK(CompressMember(GetParam(), member, out));
    return out;
  }
};

TEST_P(CompressionTest, JoinsMembers) {
  std::vector<uint8_t> bytes = SomeBytes(100'000);
  std::vector<uint8_t> twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  std::vector<uint8_t> out(200'000);
  EXPECT_OK(Decompressor(GetParam()).DecompressExactly(Members({bytes, {}, bytes}), out));
  EXPECT_EQ(out, twice);
}

TEST_P(CompressionTest, DecompressesExactly) {
  std::vector<uint8_t> bytes = SomeBytes(100'000), out(100'000);
  Decompressor decompressor(GetParam());
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(decompressor.DecompressExactly(Members({bytes}), out));
    EXPECT_EQ(out, bytes);
  }
}

TEST_P(CompressionTest, ReportsAnotherSizeThanExpected) {
  std::vector<uint8_t> members = Members({SomeBytes(1000)});
  Decompressor decompressor(GetParam());
  std::vector<uint8_t> small(999), large(1001);
  EXPECT_THAT(decompressor.DecompressExactly(members, small),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than the 999 bytes")));
  EXPECT_THAT(decompressor.DecompressExactly(members, large),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("hold 1000 bytes, 1001 were")));
}

TEST_P(CompressionTest, ReportsACutAtEveryByte) {
  std::vector<uint8_t> members = Members({SomeBytes(300)});
  Decompressor decompressor(GetParam());
  std::vector<uint8_t> out(300), larger(301);
  for (size_t size = 1; size < members.size(); ++size) {
    std::span<const uint8_t> cut = std::span(members).first(size);
    EXPECT_THAT(decompressor.DecompressExactly(cut, larger),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("cut after compressed byte ", size))));
    EXPECT_THAT(decompressor.DecompressExactly(cut, out),
                StatusIs(absl::StatusCode::kDataLoss, AnyOf(HasSubstr("cut"), HasSubstr("hold"))))
        << size;
  }
}

TEST_P(CompressionTest, ABombFillsNoMoreThanItsRoom) {
  std::vector<uint8_t> bomb = Members({std::vector<uint8_t>(64 << 20)});
  EXPECT_LT(bomb.size(), 100'000u);
  std::vector<uint8_t> out(1 << 20);
  EXPECT_THAT(Decompressor(GetParam()).DecompressExactly(bomb, out),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than the 1048576 bytes")));
}

TEST_P(CompressionTest, FlippedBitsAreFoundOrHarmless) {
  const std::vector<uint8_t> bytes = SomeBytes(300);
  const std::vector<uint8_t> members = Members({bytes});
  Decompressor decompressor(GetParam());
  std::vector<uint8_t> out(300);
  for (size_t bit = 0; bit < 8 * members.size(); ++bit) {
    std::vector<uint8_t> flipped = members;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const absl::Status status = decompressor.DecompressExactly(flipped, out);
    // Some fields, such as the time in a gzip header, carry no data.
    EXPECT_TRUE(!status.ok() || out == bytes) << bit;
  }
}

TEST_P(CompressionTest, IsDetected) {
  EXPECT_EQ(DetectCompression(Members({SomeBytes(10)})), GetParam());
  EXPECT_THAT(ParseCompression(CompressionName(GetParam())), IsOkAndHolds(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, CompressionTest,
                         ::testing::Values(Compression::kGzip, Compression::kZstd),
                         [](const auto& instance) {
                           return std::string(CompressionName(instance.param));
                         });

// Returns the output of `zstd --long=28` for three bytes from a pipe: a window of 256 MiB and one
// raw block.
std::vector<uint8_t> FrameWithLongWindow() {
  return {0x28, 0xb5, 0x2f, 0xfd, 0x00, (28 - 10) << 3, (3 << 3) | 1, 0, 0, 'a', 'b', 'c'};
}

TEST(ZstdWindowTest, ALongerWindowThanTheLimitIsNoDamage) {
  std::vector<uint8_t> frame = FrameWithLongWindow(), out(3);
  EXPECT_THAT(Decompressor(Compression::kZstd).DecompressExactly(frame, out),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("without --long")));
  frame[5] = (27 - 10) << 3;
  EXPECT_OK(Decompressor(Compression::kZstd).DecompressExactly(frame, out));
}

TEST(DetectCompressionTest, ARecordLengthThatLooksLikeGzipIsARecord) {
  std::vector<uint8_t> data;
  AppendFrame(std::vector<uint8_t>(0x088b1f), data);
  ASSERT_EQ(data[0], 0x1f);
  ASSERT_EQ(data[1], 0x8b);
  EXPECT_EQ(DetectCompression(data), Compression::kNone);
}

TEST(DetectCompressionTest, NothingIsNotCompressed) {
  EXPECT_EQ(DetectCompression({}), Compression::kNone);
}

}  // namespace
}  // namespace penstock
