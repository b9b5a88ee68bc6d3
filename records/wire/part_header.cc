#include "records/wire/part_header.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/wire.h"

namespace penstock::wire {
namespace {

// Field number << 3 | wire type, as protobuf's encoding has it.
constexpr uint64_t kPartTag = 3 << 3 | 2;
constexpr uint64_t kRequestTag = 1 << 3 | 0;
constexpr uint64_t kFirstRowTag = 2 << 3 | 0;
constexpr uint64_t kRowsTag = 3 << 3 | 0;
constexpr uint64_t kCrcTag = 4 << 3 | 5;
constexpr uint64_t kSharedOffsetTag = 5 << 3 | 0;
constexpr uint64_t kSharedSizeTag = 6 << 3 | 0;
constexpr uint64_t kDataTag = 15 << 3 | 2;

size_t NumberFieldSize(uint64_t value) { return value == 0 ? 0 : 1 + VarintSize(value); }

uint8_t* WriteNumberField(uint64_t tag, uint64_t value, uint8_t* out) {
  return value == 0 ? out : WriteVarint(value, WriteVarint(tag, out));
}

size_t CrcFieldSize(const std::optional<uint32_t>& crc) { return crc.has_value() ? 5 : 0; }

uint8_t* WriteCrcField(const std::optional<uint32_t>& crc, uint8_t* out) {
  if (!crc.has_value()) return out;
  *out++ = kCrcTag;
  for (int shift = 0; shift < 32; shift += 8) *out++ = static_cast<uint8_t>(*crc >> shift);
  return out;
}

// Walks the fields of a Part up to its data.
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
    return Damaged("a number without end");
  }

  absl::StatusOr<uint32_t> Fixed32() {
    if (bytes_.size() - offset_ < 4) return Damaged("a checksum beyond the header");
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 8) value |= uint32_t{bytes_[offset_++]} << shift;
    return value;
  }

  // A field that this version does not know.
  absl::Status Skip(uint64_t tag) {
    switch (tag & 7) {
      case 0:
        return Varint().status();
      case 1:
        return Advance(8);
      case 2: {
        PENSTOCK_ASSIGN_OR_RETURN(uint64_t size, Varint());
        return Advance(size);
      }
      case 5:
        return Advance(4);
      default:
        return Damaged(absl::StrCat("wire type ", tag & 7));
    }
  }

 private:
  absl::Status Advance(uint64_t size) {
    if (size > bytes_.size() - offset_) return Damaged("a field beyond the header");
    offset_ += size;
    return absl::OkStatus();
  }
  absl::Status Damaged(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("Part: ", what, " at byte ", offset_));
  }

  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
};

// One field before the data. uint32 fields keep their low half, as protobuf's parser does.
absl::Status ReadField(uint64_t tag, Reader& reader, PartHeader& header) {
  if (tag == kCrcTag) {
    PENSTOCK_ASSIGN_OR_RETURN(header.crc32c, reader.Fixed32());
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

}  // namespace

size_t WritePartHeader(const PartHeader& header, std::span<uint8_t, kMaxPartHeaderBytes> out) {
  uint64_t size = NumberFieldSize(header.request) + NumberFieldSize(header.first_row) +
                  NumberFieldSize(header.rows) + CrcFieldSize(header.crc32c) +
                  NumberFieldSize(header.shared_offset) + NumberFieldSize(header.shared_size) +
                  NumberFieldSize(header.data_size) + header.data_size;
  uint8_t* next = WriteVarint(size, WriteVarint(kPartTag, out.data()));
  next = WriteNumberField(kRequestTag, header.request, next);
  next = WriteNumberField(kFirstRowTag, header.first_row, next);
  next = WriteNumberField(kRowsTag, header.rows, next);
  next = WriteCrcField(header.crc32c, next);
  next = WriteNumberField(kSharedOffsetTag, header.shared_offset, next);
  next = WriteNumberField(kSharedSizeTag, header.shared_size, next);
  next = WriteNumberField(kDataTag, header.data_size, next);
  return next - out.data();
}

absl::StatusOr<std::optional<ParsedPartHeader>> ParsePartHeader(std::span<const uint8_t> start,
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

}  // namespace penstock::wire
