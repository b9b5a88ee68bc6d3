#include "records/format/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/crc32c.h"
#include "base/load.h"

namespace penstock {
namespace {

// tables[k][b] is the CRC of byte b followed by k zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
    }
  }
  return tables;
}
constexpr auto kTables = MakeTables();

// Returns the masked CRC-32C of the 8 bytes of `length`. It is computed with eight inlined
// look-ups, because a call of the general routine costs more.
uint32_t LengthCrc(uint64_t length) {
  uint64_t value = length ^ 0xffffffffu;
  uint32_t crc = 0;
  for (int i = 0; i < 8; ++i) crc ^= kTables[7 - i][(value >> (8 * i)) & 0xff];
  return MaskCrc32c(~crc);
}

absl::Status Damaged(uint64_t offset, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("record at offset ", offset, ": ", what));
}

// Returns the reason why TryParseFrame() returned false.
absl::Status DiagnoseFrame(std::span<const uint8_t> data, size_t at, uint64_t base) {
  const size_t left = at <= data.size() ? data.size() - at : 0;
  const uint64_t offset = base + at;
  if (left < kFrameHeaderBytes) {
    return Damaged(offset,
                   absl::StrCat("truncated: ", left, " of the header's 12 bytes are there"));
  }
  const uint8_t* p = data.data() + at;
  const uint64_t length = Load64(p);
  if (uint32_t crc = LengthCrc(length); crc != Load32(p + 8)) {
    return Damaged(
        offset, absl::StrFormat("length CRC computed 0x%08x, stored 0x%08x", crc, Load32(p + 8)));
  }
  if (left < kFrameOverhead || length > left - kFrameOverhead) {
    return CutFrameError(offset, length, left - kFrameHeaderBytes);
  }
  std::span<const uint8_t> payload(p + kFrameHeaderBytes, length);
  return Damaged(
      offset, absl::StrFormat("payload CRC computed 0x%08x, stored 0x%08x",
                              MaskCrc32c(Crc32c(payload)), Load32(p + kFrameHeaderBytes + length)));
}

template <typename T>
uint8_t* Store(T value, uint8_t* out) {
  std::memcpy(out, &value, sizeof(value));
  return out + sizeof(value);
}

}  // namespace

absl::Status CutFrameError(uint64_t offset, uint64_t length, uint64_t left) {
  return Damaged(
      offset, absl::StrCat("truncated: its payload of ", length, " bytes and its CRC do not fit ",
                           "into the ", left, " bytes that are left"));
}

uint64_t FrameLength(std::span<const uint8_t> data) { return Load64(data.data()); }

bool HasValidFrameHeader(std::span<const uint8_t> data) {
  return data.size() >= kFrameHeaderBytes &&
         LengthCrc(Load64(data.data())) == Load32(data.data() + 8);
}

bool TryParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify, Frame& frame) {
  if (offset > data.size() || data.size() - offset < kFrameOverhead) return false;
  const uint8_t* p = data.data() + offset;
  const uint64_t length = Load64(p);
  if (LengthCrc(length) != Load32(p + 8)) return false;
  if (length > data.size() - offset - kFrameOverhead) return false;
  frame.payload = {p + kFrameHeaderBytes, length};
  return verify == Verify::kLength ||
         MaskCrc32c(Crc32c(frame.payload)) == Load32(p + kFrameHeaderBytes + length);
}

absl::StatusOr<Frame> ParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify,
                                 uint64_t base) {
  Frame frame;
  if (!TryParseFrame(data, offset, verify, frame)) return DiagnoseFrame(data, offset, base);
  return frame;
}

absl::Status ParseFrames(std::span<const uint8_t> data, Verify verify,
                         std::vector<std::span<const uint8_t>>& payloads) {
  Frame frame;
  for (size_t offset = 0; offset < data.size(); offset += frame.size()) {
    if (!TryParseFrame(data, offset, verify, frame)) return DiagnoseFrame(data, offset, 0);
    payloads.push_back(frame.payload);
  }
  return absl::OkStatus();
}

void WriteFrame(std::span<const uint8_t> payload, uint8_t* out) {
  const uint64_t length = payload.size();
  out = Store(length, out);
  out = Store(LengthCrc(length), out);
  out = std::copy(payload.begin(), payload.end(), out);
  Store(MaskCrc32c(Crc32c(payload)), out);
}

void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>& out) {
  const size_t before = out.size();
  out.resize(before + payload.size() + kFrameOverhead);
  WriteFrame(payload, out.data() + before);
}

}  // namespace penstock
