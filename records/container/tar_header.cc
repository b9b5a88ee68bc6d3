#include "records/container/tar_header.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct Field {
  size_t begin, size;
};
constexpr Field kName = {0, 100}, kSize = {124, 12}, kChecksum = {148, 8}, kMagic = {257, 6},
                kPrefix = {345, 155};
constexpr size_t kType = 156;

absl::string_view FieldText(std::span<const uint8_t> block, Field field) {
  return {reinterpret_cast<const char*>(block.data()) + field.begin, field.size};
}

// Returns the field up to its first NUL, or all of it.
absl::string_view NameIn(absl::string_view field) { return field.substr(0, field.find('\0')); }

// The field is big-endian. The first bit marks the format and is skipped; the second bit is the
// sign.
std::optional<uint64_t> ParseBase256(absl::string_view field) {
  if (field[0] & 0x40) return std::nullopt;
  uint64_t value = field[0] & 0x3f;
  for (char c : field.substr(1)) {
    if (value >> 56 != 0) return std::nullopt;
    value = value << 8 | static_cast<uint8_t>(c);
  }
  return value;
}

// Parses octal digits after optional spaces, up to a space or NUL. A blank field is 0.
std::optional<uint64_t> ParseOctal(absl::string_view field) {
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  uint64_t value = 0;  // At most 36 bits.
  for (char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

std::optional<uint64_t> ParseNumber(absl::string_view field) {
  return field[0] & 0x80 ? ParseBase256(field) : ParseOctal(field);
}

struct Sums {
  uint32_t bytes = 0;  // Sum of the bytes as numbers from 0 to 255.
  uint32_t high = 0;   // Number of bytes that have their first bit set.
};

Sums SumOf(std::span<const uint8_t> bytes) {
  Sums sums;
  for (uint8_t byte : bytes) {
    sums.bytes += byte;
    sums.high += byte >> 7;
  }
  return sums;
}

absl::Status CheckSum(std::span<const uint8_t> block) {
  const Sums all = SumOf(block), field = SumOf(block.subspan(kChecksum.begin, kChecksum.size));
  const uint32_t sum = all.bytes - field.bytes + uint32_t{kChecksum.size} * ' ';
  const uint32_t signed_sum = sum - 256 * (all.high - field.high);
  const std::optional<uint64_t> stored = ParseOctal(FieldText(block, kChecksum));
  if (stored == sum || stored == signed_sum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("no tar header: checksum computed ", sum, ", stored ",
                                          stored ? absl::StrCat(*stored) : "no number"));
}

}  // namespace

absl::StatusOr<TarHeader> ParseTarHeader(std::span<const uint8_t> block) {
  if (absl::Status status = CheckSum(block); !status.ok()) return status;
  const std::optional<uint64_t> size = ParseNumber(FieldText(block, kSize));
  if (!size) return absl::DataLossError("damaged tar header: the size field is not a number");
  TarHeader header;
  header.name = NameIn(FieldText(block, kName));
  if (FieldText(block, kMagic) == absl::string_view("ustar\0", 6)) {
    header.prefix = NameIn(FieldText(block, kPrefix));
  }
  if (block[kType] != 0) header.type = static_cast<char>(block[kType]);
  header.size = *size;
  return header;
}

}  // namespace penstock
