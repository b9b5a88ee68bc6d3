// The bytes of a ServerMessage{part} that precede its tensor bytes.
#ifndef PENSTOCK_RECORDS_WIRE_PART_HEADER_H_
#define PENSTOCK_RECORDS_WIRE_PART_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/engine/messages.h"
#include "records/image/image_note.h"

namespace penstock::wire {

struct PartHeader {
  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  std::optional<uint32_t> crc32c = std::nullopt;  // CRC-32C of the tensor bytes.
  // Offset of the tensor bytes in the stream's shared pool. If shared_size is 0, they are the data.
  uint64_t shared_offset = 0;
  uint32_t shared_size = 0;
  uint64_t data_size = 0;
  std::vector<ReplacedRow> replaced = {};
  std::vector<ImageNote> image_notes = {};

  // Whether the header has more than numbers.
  bool has_lists() const { return !replaced.empty() || !image_notes.empty(); }
};

// Tag and size of the part (1 + 5), request (1 + 10), first_row and rows (1 + 5 each), crc32c (1 +
// 4), shared_offset (1 + 10), shared_size (1 + 5), and tag and size of the data (1 + 5).
inline constexpr size_t kMaxPartHeaderBytes = 57;
// Bytes of a message that a reader must see to find the data. Leaves room for unknown fields.
inline constexpr size_t kPartHeaderWindow = 128;

// Writes the header and returns its length. The header, followed by data_size bytes of data, is
// exactly what protobuf would serialize: fields that are 0 are left out, and so is an empty data
// field.
// REQUIRES: data_size < 2^31; !has_lists().
size_t WritePartHeader(const PartHeader& header, std::span<uint8_t, kMaxPartHeaderBytes> out);

// Like WritePartHeader(), but with the lists. Only the first few replaced rows keep their reasons.
std::string EncodePartHeader(const PartHeader& header);

struct ParsedPartHeader {
  PartHeader header;
  size_t data_offset = 0;  // Bytes from the start of the message. The data ends with the message.
};

// Parses the header of a part. `start` is at least the first min(message_size, kPartHeaderWindow)
// bytes of a ServerMessage. Returns nullopt if the message is not a Part, or its data is not its
// last field; pass it to ParseServerMessage() then.
// kOutOfRange: the header is longer than `start`.
// kInvalidArgument: the sizes of the Part contradict message_size, or its fields are damaged.
absl::StatusOr<std::optional<ParsedPartHeader>> ParsePartHeader(std::span<const uint8_t> start,
                                                                uint64_t message_size);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_PART_HEADER_H_
