// TFRecord framing: docs/reference/tfrecord_format.md.
//
//   length   uint64, little-endian
//   crc      uint32, masked CRC-32C of the 8 length bytes
//   payload  `length` bytes
//   crc      uint32, masked CRC-32C of the payload
#ifndef PENSTOCK_RECORDS_FORMAT_TFRECORD_H_
#define PENSTOCK_RECORDS_FORMAT_TFRECORD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

constexpr size_t kFrameHeaderBytes = 12;
constexpr size_t kFrameFooterBytes = 4;
constexpr size_t kFrameOverhead = kFrameHeaderBytes + kFrameFooterBytes;

enum class Verify : uint8_t {
  kLength,   // The length's CRC only: for bytes whose own checksum has been verified.
  kPayload,  // The payload's CRC too.
};

struct Frame {
  std::span<const uint8_t> payload;  // Points into the parsed bytes.

  // Of the whole frame.
  size_t size() const { return payload.size() + kFrameOverhead; }
};

// Whether `data` begins with a length and its valid CRC.
bool HasValidFrameHeader(std::span<const uint8_t> data);

// The length that `data` begins with. REQUIRES: HasValidFrameHeader(data).
uint64_t FrameLength(std::span<const uint8_t> data);

// The frame at `offset`. kDataLoss: damaged or cut, naming the offset (counted from `base`, where
// `data` begins in its file) and both CRCs. The length's CRC is checked before the length is used.
absl::StatusOr<Frame> ParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify,
                                 uint64_t base = 0);

// ParseFrame() for loops: false where it fails; ask it for the reason.
bool TryParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify, Frame& frame);

// kDataLoss for a payload of `length` bytes in a frame at `offset`, when only `left` bytes follow
// its header.
absl::Status CutFrameError(uint64_t offset, uint64_t length, uint64_t left);

// The payloads of `data`, whole frames, appended to `payloads`.
absl::Status ParseFrames(std::span<const uint8_t> data, Verify verify,
                         std::vector<std::span<const uint8_t>>& payloads);

// Writes `payload` as a frame of payload.size() + kFrameOverhead bytes.
void WriteFrame(std::span<const uint8_t> payload, uint8_t* out);

// Appends `payload` as a frame.
void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>& out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TFRECORD_H_
