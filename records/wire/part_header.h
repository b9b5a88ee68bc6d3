// The bytes of a ServerMessage{part} that stand before its tensor bytes.
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
  std::optional<uint32_t> crc32c = std::nullopt;  // Of the tensor bytes.
  // Where the tensor bytes are in the stream's shared pool; size 0: they are the data.
  uint64_t shared_offset = 0;
  uint32_t shared_size = 0;
  uint64_t data_size = 0;
  std::vector<ReplacedRow> replaced = {};
  std::vector<ImageNote> image_notes = {};

  // Whether it says more than numbers.
  bool has_lists() const { return !replaced.empty() || !image_notes.empty(); }
};

// Tag and size of the part (1 + 5), request (1 + 10), first_row and rows (1 + 5 each), crc32c
// (1 + 4), shared_offset (1 + 10) and shared_size (1 + 5), tag and size of the data (1 + 5).
inline constexpr size_t kMaxPartHeaderBytes = 57;
// What a reader must see of a message to find its data; leaves room for fields it does not know.
inline constexpr size_t kPartHeaderWindow = 128;

// Writes what precedes the data and returns its length. Followed by data_size bytes of data it is
// what protobuf would have serialised: zeros are left out, and the whole of an empty data field.
// REQUIRES: data_size < 2^31; !has_lists().
size_t WritePartHeader(const PartHeader& header, std::span<uint8_t, kMaxPartHeaderBytes> out);

// The same with lists. Of replaced rows the first few keep their reasons.
std::string EncodePartHeader(const PartHeader& header);

struct ParsedPartHeader {
  PartHeader header;
  size_t data_offset = 0;  // From the start of the message; the data ends with the message.
};

// `start` is the first min(message_size, kPartHeaderWindow) bytes of a ServerMessage, or more.
// nullopt: it is not a Part, or not one whose data comes last; ParseServerMessage() takes it from
// there. kOutOfRange: the header is longer than `start`.
// kInvalidArgument: a Part whose sizes contradict message_size or whose fields are damaged.
absl::StatusOr<std::optional<ParsedPartHeader>> ParsePartHeader(std::span<const uint8_t> start,
                                                                uint64_t message_size);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_PART_HEADER_H_
