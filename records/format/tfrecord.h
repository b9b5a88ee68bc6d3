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
  kLength,   // Checks only the CRC of the length: for bytes with a verified checksum.
  kPayload,  // Also checks the CRC of the payload.
};

struct Frame {
  std::span<const uint8_t> payload;  // Points into the parsed bytes.

  // Bytes of the whole frame.
  size_t size() const { return payload.size() + kFrameOverhead; }
};

// Whether `data` begins with a length and a valid CRC of it.
bool HasValidFrameHeader(std::span<const uint8_t> data);

// Returns the payload length at the front of `data`, in bytes. REQUIRES: HasValidFrameHeader(data).
uint64_t FrameLength(std::span<const uint8_t> data);

// Parses the frame at `offset`. The CRC of the length is checked before the length is used.
// kDataLoss: the frame is damaged or truncated. The message has both CRCs and the offset in the
// file, which is `base`, the offset of `data` in its file, plus `offset`.
absl::StatusOr<Frame> ParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify,
                                 uint64_t base = 0);

// Like ParseFrame(), for loops. Returns false if there is an error; call ParseFrame() for the
// reason.
bool TryParseFrame(std::span<const uint8_t> data, size_t offset, Verify verify, Frame& frame);

// Returns kDataLoss for a frame at `offset` whose payload has `length` bytes, if only `left` bytes
// follow its header.
absl::Status CutFrameError(uint64_t offset, uint64_t length, uint64_t left);

// Appends the payloads of `data`, which consists of whole frames, to `payloads`. Errors are those
// of ParseFrame().
absl::Status ParseFrames(std::span<const uint8_t> data, Verify verify,
                         std::vector<std::span<const uint8_t>>& payloads);

// Writes `payload` as a frame of payload.size() + kFrameOverhead bytes.
void WriteFrame(std::span<const uint8_t> payload, uint8_t* out);

// Appends `payload` as a frame.
void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>& out);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TFRECORD_H_
