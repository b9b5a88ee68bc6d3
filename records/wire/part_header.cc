#include "records/wire/part_header.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/pieces.pb.h"
#include "records/format/wire.h"

namespace penstock::wire {
namespace {

// Field number << 3 | wire type, as in protobuf's encoding.
constexpr uint64_t kPartTag = 3 << 3 | 2;
constexpr uint64_t kRequestTag = 1 << 3 | 0;
constexpr uint64_t kFirstRowTag = 2 << 3 | 0;
constexpr uint64_t kRowsTag = 3 << 3 | 0;
constexpr uint64_t kCrcTag = 4 << 3 | 5;
constexpr uint64_t kSharedOffsetTag = 5 << 3 | 0;
constexpr uint64_t kSharedSizeTag = 6 << 3 | 0;
constexpr uint64_t kReplacedTag = 7 << 3 | 2;
constexpr uint64_t kImageNotesTag = 8 << 3 | 2;
constexpr uint64_t kDataTag = 15 << 3 | 2;

size_t NumberFieldSize(uint64_t value) { return value == 0 ? 0 : 1 + VarintSize(value); }

uint8_t* WriteNumberField(uint64_t tag, uint64_t value, uint8_t* out) {
  return value == 0 ? out : WriteVarint(value, WriteVarint(tag, out));
}

// An empty field is left out.
size_t BytesFieldSize(absl::string_view bytes) {
  return NumberFieldSize(bytes.size()) + bytes.size();
}

uint8_t* WriteBytesField(uint64_t tag, absl::string_view bytes, uint8_t* out) {
  return std::copy(bytes.begin(), bytes.end(), WriteNumberField(tag, bytes.size(), out));
}

size_t CrcFieldSize(const std::optional<uint32_t>& crc) { return crc.has_value() ? 5 : 0; }

uint8_t* WriteCrcField(const std::optional<uint32_t>& crc, uint8_t* out) {
  if (!crc.has_value()) return out;
  *out++ = kCrcTag;
  for (int shift = 0; shift < 32; shift += 8) *out++ = static_cast<uint8_t>(*crc >> shift);
  return out;
}

// Reads the fields of a Part up to its data.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  bool AtEnd() const { return offset_ >= bytes_.size(); }

  absl::StatusOr<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !AtEnd(); shift += 7) {
      uint8_t byte = bytes_[offset_++];
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return AtEnd() ? Beyond("a varint without an end") : Damaged("a varint without an end");
  }

  absl::StatusOr<uint32_t> Fixed32() {
    if (bytes_.size() - offset_ < 4) return Beyond("a checksum beyond the header");
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 8) value |= uint32_t{bytes_[offset_++]} << shift;
    return value;
  }

  absl::StatusOr<std::span<const uint8_t>> Bytes() {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t size, Varint());
    PENSTOCK_RETURN_IF_ERROR(Advance(size));
    return bytes_.subspan(offset_ - size, size);
  }

  // Skips a field that this version does not know.
  absl::Status Skip(uint64_t tag) {
    switch (tag & 7) {
      case 0:
        return Varint().status();
      case 1:
        return Advance(8);
      case 2:
        return Bytes().status();
      case 5:
        return Advance(4);
      default:
        return Damaged(absl::StrCat("wire type ", tag & 7));
    }
  }

 private:
  absl::Status Advance(uint64_t size) {
    if (size > bytes_.size() - offset_) return Beyond("a field beyond the header");
    offset_ += size;
    return absl::OkStatus();
  }
  absl::Status Beyond(absl::string_view what) const {
    return absl::OutOfRangeError(absl::StrCat("Part: ", what, " at byte ", offset_));
  }
  absl::Status Damaged(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("Part: ", what, " at byte ", offset_));
  }

  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
};

absl::StatusOr<std::vector<ReplacedRow>> ReadReplaced(std::span<const uint8_t> bytes) {
  v1::ReplacedRows message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.row_size() != message.record_size()) {
    return absl::InvalidArgumentError("Part: its replaced rows are damaged");
  }
  std::vector<ReplacedRow> rows;
  for (int i = 0; i < message.row_size(); ++i) {
    rows.push_back({message.row(i), message.record(i),
                    i < message.reason_size() ? message.reason(i) : std::string()});
  }
  return rows;
}

std::string EncodeReplaced(std::span<const ReplacedRow> rows) {
  constexpr int kMostReasons = 16;
  constexpr size_t kLongestReason = 256;
  v1::ReplacedRows message;
  for (const ReplacedRow& row : rows) {
    message.add_row(row.row);
    message.add_record(row.record);
    if (message.reason_size() < kMostReasons) message.add_reason(row.why.substr(0, kLongestReason));
  }
  return message.SerializeAsString();
}

absl::StatusOr<std::vector<ImageNote>> ReadImageNotes(std::span<const uint8_t> bytes) {
  v1::ImageNotes message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.row_size() != message.truncated_size() ||
      message.row_size() != message.warnings_size()) {
    return absl::InvalidArgumentError("Part: its notes about images are damaged");
  }
  std::vector<ImageNote> notes;
  for (int i = 0; i < message.row_size(); ++i) {
    notes.push_back({message.row(i), message.truncated(i), message.warnings(i)});
  }
  return notes;
}

std::string EncodeImageNotes(std::span<const ImageNote> notes) {
  v1::ImageNotes message;
  for (const ImageNote& note : notes) {
    message.add_row(note.row);
    message.add_truncated(note.truncated);
    message.add_warnings(note.warnings);
  }
  return message.SerializeAsString();
}

// The lists of a part, each serialized as its message.
struct EncodedLists {
  std::string replaced;
  std::string image_notes;
};

// Reads one field before the data. A uint32 field keeps its lower half, as in protobuf's parser.
absl::Status ReadField(uint64_t tag, Reader& reader, PartHeader& header) {
  if (tag == kCrcTag) {
    PENSTOCK_ASSIGN_OR_RETURN(header.crc32c, reader.Fixed32());
    return absl::OkStatus();
  }
  if (tag == kReplacedTag) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, reader.Bytes());
    PENSTOCK_ASSIGN_OR_RETURN(header.replaced, ReadReplaced(bytes));
    return absl::OkStatus();
  }
  if (tag == kImageNotesTag) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, reader.Bytes());
    PENSTOCK_ASSIGN_OR_RETURN(header.image_notes, ReadImageNotes(bytes));
    return absl::OkStatus();
  }
  if (tag < kRequestTag || tag > kSharedSizeTag || (tag & 7) != 0) return reader.Skip(tag);
  PENSTOCK_ASSIGN_OR_RETURN(uint64_t value, reader.Varint());
  if (tag == kRequestTag) header.request = value;
  if (tag == kFirstRowTag) header.first_row = static_cast<uint32_t>(value);
  if (tag == kRowsTag) header.rows = static_cast<uint32_t>(value);
  if (tag == kSharedOffsetTag) header.shared_offset = value;
  if (tag == kSharedSizeTag) header.shared_size = static_cast<uint32_t>(value);
  return absl::OkStatus();
}

// Returns the size of the message Part, with its data.
uint64_t PartSize(const PartHeader& header, const EncodedLists& lists) {
  return NumberFieldSize(header.request) + NumberFieldSize(header.first_row) +
         NumberFieldSize(header.rows) + CrcFieldSize(header.crc32c) +
         NumberFieldSize(header.shared_offset) + NumberFieldSize(header.shared_size) +
         BytesFieldSize(lists.replaced) + BytesFieldSize(lists.image_notes) +
         NumberFieldSize(header.data_size) + header.data_size;
}

uint8_t* WriteNumbers(const PartHeader& header, uint8_t* next) {
  next = WriteNumberField(kRequestTag, header.request, next);
  next = WriteNumberField(kFirstRowTag, header.first_row, next);
  next = WriteNumberField(kRowsTag, header.rows, next);
  next = WriteCrcField(header.crc32c, next);
  next = WriteNumberField(kSharedOffsetTag, header.shared_offset, next);
  return WriteNumberField(kSharedSizeTag, header.shared_size, next);
}

absl::StatusOr<std::optional<ParsedPartHeader>> ParseStart(std::span<const uint8_t> start,
                                                           uint64_t message_size) {
  if (start.empty() || start[0] != kPartTag) return std::nullopt;
  Reader reader(start);
  PENSTOCK_RETURN_IF_ERROR(reader.Varint().status());
  PENSTOCK_ASSIGN_OR_RETURN(uint64_t part_size, reader.Varint());
  if (part_size > message_size - reader.offset()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Part of ", part_size, " bytes in a message of ", message_size));
  }
  if (part_size < message_size - reader.offset()) return std::nullopt;

  ParsedPartHeader parsed;
  while (reader.offset() < message_size) {
    PENSTOCK_ASSIGN_OR_RETURN(uint64_t tag, reader.Varint());
    if (tag == kDataTag) {
      PENSTOCK_ASSIGN_OR_RETURN(parsed.header.data_size, reader.Varint());
      parsed.data_offset = reader.offset();
      uint64_t left = message_size - reader.offset();
      if (parsed.header.data_size == left) return parsed;
      if (parsed.header.data_size < left) return std::nullopt;
      return absl::InvalidArgumentError(absl::StrCat("Part: data of ", parsed.header.data_size,
                                                     " bytes, but ", left, " are left"));
    }
    PENSTOCK_RETURN_IF_ERROR(ReadField(tag, reader, parsed.header));
  }
  parsed.data_offset = message_size;
  return parsed;
}

}  // namespace

size_t WritePartHeader(const PartHeader& header, std::span<uint8_t, kMaxPartHeaderBytes> out) {
  uint8_t* next = WriteVarint(PartSize(header, {}), WriteVarint(kPartTag, out.data()));
  next = WriteNumbers(header, next);
  next = WriteNumberField(kDataTag, header.data_size, next);
  return next - out.data();
}

std::string EncodePartHeader(const PartHeader& header) {
  const EncodedLists lists{EncodeReplaced(header.replaced), EncodeImageNotes(header.image_notes)};
  std::string out(
      kMaxPartHeaderBytes + BytesFieldSize(lists.replaced) + BytesFieldSize(lists.image_notes),
      '\0');
  auto* first = reinterpret_cast<uint8_t*>(out.data());
  uint8_t* next = WriteVarint(PartSize(header, lists), WriteVarint(kPartTag, first));
  next = WriteNumbers(header, next);
  next = WriteBytesField(kReplacedTag, lists.replaced, next);
  next = WriteBytesField(kImageNotesTag, lists.image_notes, next);
  next = WriteNumberField(kDataTag, header.data_size, next);
  out.resize(next - first);
  return out;
}

absl::StatusOr<std::optional<ParsedPartHeader>> ParsePartHeader(std::span<const uint8_t> start,
                                                                uint64_t message_size) {
  auto parsed = ParseStart(start, message_size);
  const bool seen_all = start.size() >= message_size;
  if (!absl::IsOutOfRange(parsed.status()) || !seen_all) return parsed;
  return absl::InvalidArgumentError(parsed.status().message());
}

}  // namespace penstock::wire
