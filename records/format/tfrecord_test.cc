#include "records/format/tfrecord.h"

#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<uint8_t> Frames(std::initializer_list<std::string> payloads) {
  std::vector<uint8_t> out;
  for (const std::string& payload : payloads) AppendFrame(BytesOf(payload), out);
  return out;
}

// A header with a valid CRC and any length.
std::vector<uint8_t> HeaderOf(uint64_t length) {
  std::vector<uint8_t> out(12);
  std::memcpy(out.data(), &length, 8);
  uint32_t crc = MaskCrc32c(Crc32c(std::span(out).first(8)));
  std::memcpy(out.data() + 8, &crc, 4);
  return out;
}

TEST(TfRecordTest, FramesAsTheFormatSays) {
  std::vector<uint8_t> data = Frames({"alpha"});
  ASSERT_EQ(data.size(), 21u);
  EXPECT_EQ(std::vector<uint8_t>(data.begin(), data.begin() + 12), HeaderOf(5));
  EXPECT_EQ(Text(std::span(data).subspan(12, 5)), "alpha");
  uint32_t crc;
  std::memcpy(&crc, data.data() + 17, 4);
  EXPECT_EQ(crc, MaskCrc32c(Crc32c(BytesOf("alpha"))));
}

TEST(TfRecordTest, ReadsFramesInOrder) {
  std::vector<uint8_t> data = Frames({"alpha", "", "gamma"});
  std::vector<std::span<const uint8_t>> payloads;
  EXPECT_OK(ParseFrames(data, Verify::kPayload, payloads));
  ASSERT_EQ(payloads.size(), 3u);
  EXPECT_EQ(Text(payloads[0]) + "," + Text(payloads[1]) + "," + Text(payloads[2]), "alpha,,gamma");
}

TEST(TfRecordTest, NoBytesAreNoFrames) {
  std::vector<std::span<const uint8_t>> payloads;
  EXPECT_OK(ParseFrames({}, Verify::kPayload, payloads));
  EXPECT_TRUE(payloads.empty());
}

TEST(TfRecordTest, ReportsACutAtEveryByte) {
  std::vector<uint8_t> data = Frames({"alpha", "beta", "gamma"});
  const size_t starts[] = {0, 21, 41, data.size()};
  for (size_t size = 1; size < data.size(); ++size) {
    size_t start = *(std::upper_bound(std::begin(starts), std::end(starts), size) - 1);
    std::vector<std::span<const uint8_t>> payloads;
    absl::Status status = ParseFrames(std::span(data).first(size), Verify::kPayload, payloads);
    if (start == size) {
      EXPECT_OK(status);
      continue;
    }
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("record at offset ", start, ": truncated"))));
  }
}

TEST(TfRecordTest, ReportsEveryFlippedBit) {
  const std::vector<uint8_t> whole = Frames({"alpha", "beta"});
  for (size_t bit = 0; bit < 8 * 21; ++bit) {
    std::vector<uint8_t> data = whole;
    data[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_THAT(ParseFrame(data, 0, Verify::kPayload),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("record at offset 0"),
                               HasSubstr(bit < 96 ? "length CRC" : "payload CRC"))));
  }
}

TEST(TfRecordTest, RefusesLengthsNearTwoTo64) {
  for (uint64_t below : {0, 1, 11, 12, 15, 16, 17}) {
    std::vector<uint8_t> data = HeaderOf(std::numeric_limits<uint64_t>::max() - below);
    data.resize(64);
    EXPECT_THAT(ParseFrame(data, 0, Verify::kPayload),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("do not fit into the 52 bytes")));
  }
}

TEST(TfRecordTest, LengthOnlyVerificationIgnoresThePayload) {
  std::vector<uint8_t> data = Frames({"alpha"});
  data[13] ^= 1;
  EXPECT_OK(ParseFrame(data, 0, Verify::kLength));
  EXPECT_FALSE(ParseFrame(data, 0, Verify::kPayload).ok());
}

TEST(TfRecordTest, RefusesAnOffsetBeyondTheEnd) {
  std::vector<uint8_t> data = Frames({"alpha"});
  EXPECT_THAT(ParseFrame(data, 1000, Verify::kLength),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 1000")));
}

}  // namespace
}  // namespace penstock
