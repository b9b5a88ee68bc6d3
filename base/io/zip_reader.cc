#include "base/io/zip_reader.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/inflate_stream.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr uint64_t kEndBytes = 22;  // The end record of an archive, without its comment.
constexpr uint64_t kMaxCommentBytes = 65535;
constexpr uint64_t kLocatorBytes = 20;  // The locator before the end record, in zip64.
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kEntryBytes = 46;  // A directory entry, without its variable fields.
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{64} << 20;
constexpr uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50, kEnd64Mark = 0x06064b50;
constexpr uint32_t kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr uint16_t kLargeSizes = 1, kEncrypted = 1, kStored = 0, kDeflated = 8;

// Reads the little-endian number of `size` bytes at offset `at`.
uint64_t Number(std::span<const uint8_t> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i > 0; --i) value = value << 8 | bytes[at + i - 1];
  return value;
}

absl::Status Damaged(const ByteSource& archive, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(archive.name(), ": zip archive: ", what));
}

absl::StatusOr<std::vector<uint8_t>> ReadRange(const ByteSource& archive, uint64_t offset,
                                               uint64_t size) {
  if (offset > archive.size() || size > archive.size() - offset) {
    return Damaged(archive, absl::StrCat("truncated or damaged: ", size, " bytes at offset ",
                                         offset, " are needed, but the file has ", archive.size()));
  }
  std::vector<uint8_t> bytes(size);
  PENSTOCK_RETURN_IF_ERROR(archive.ReadAt(offset, bytes));
  return bytes;
}

struct Directory {
  uint64_t entries = 0, offset = 0, size = 0;
};

absl::StatusOr<Directory> ReadEnd64(const ByteSource& archive, std::span<const uint8_t> locator) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> end,
                            ReadRange(archive, Number(locator, 8, 8), kEnd64Bytes));
  if (Number(end, 0, 4) != kEnd64Mark) return Damaged(archive, "has no zip64 end record");
  return Directory{Number(end, 32, 8), Number(end, 48, 8), Number(end, 40, 8)};
}

// Only a comment may follow the end record.
absl::StatusOr<Directory> FindDirectory(const ByteSource& archive) {
  const uint64_t size = archive.size();
  const uint64_t tail = std::min(size, kLocatorBytes + kEndBytes + kMaxCommentBytes);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                            ReadRange(archive, size - tail, tail));
  for (size_t behind = kEndBytes; behind <= bytes.size(); ++behind) {
    const size_t at = bytes.size() - behind;
    // A comment may look like an end record.
    const bool ends = Number(bytes, at + 20, 2) == behind - kEndBytes;
    if (!ends || Number(bytes, at, 4) != kEndMark) continue;
    const bool large = at >= kLocatorBytes && Number(bytes, at - kLocatorBytes, 4) == kLocatorMark;
    if (large) return ReadEnd64(archive, std::span(bytes).subspan(at - kLocatorBytes));
    return Directory{Number(bytes, at + 10, 2), Number(bytes, at + 16, 4),
                     Number(bytes, at + 12, 4)};
  }
  return Damaged(archive, "has no end record, so it is cut or no zip archive");
}

// Replaces the values that need 64 bits by those of the zip64 extra field.
absl::Status TakeZip64(const ByteSource& archive, std::span<const uint8_t> extra,
                       ZipMember& member) {
  while (extra.size() >= 4) {
    const uint64_t size = Number(extra, 2, 2);
    if (size > extra.size() - 4) break;
    std::span<const uint8_t> field = extra.subspan(4, size);
    if (Number(extra, 0, 2) != kLargeSizes) {
      extra = extra.subspan(4 + size);
      continue;
    }
    for (uint64_t* number : {&member.size, &member.packed_size, &member.header_offset}) {
      if (*number != 0xffffffff) continue;
      if (field.size() < 8) return Damaged(archive, "has a short zip64 field");
      *number = Number(field, 0, 8);
      field = field.subspan(8);
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status CheckReadable(const ByteSource& archive, const ZipMember& member, uint64_t flags) {
  const std::string name = absl::StrCat(archive.name(), ": member ", member.name);
  if ((flags & kEncrypted) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is encrypted"));
  }
  if (member.method == kStored || member.method == kDeflated) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": is compressed by method ", member.method,
                                                 "; stored and deflated members can be read"));
}

// Parses the entry at the front of `rest` and removes it.
absl::StatusOr<ZipMember> TakeEntry(const ByteSource& archive, std::span<const uint8_t>& rest) {
  if (rest.size() < kEntryBytes || Number(rest, 0, 4) != kEntryMark) {
    return Damaged(archive, "its directory is damaged");
  }
  const size_t name = Number(rest, 28, 2), extra = Number(rest, 30, 2);
  const size_t size = kEntryBytes + name + extra + Number(rest, 32, 2);
  if (size > rest.size()) return Damaged(archive, "its directory is truncated");
  ZipMember member;
  member.name.assign(rest.begin() + kEntryBytes, rest.begin() + kEntryBytes + name);
  member.method = static_cast<uint16_t>(Number(rest, 10, 2));
  member.crc = static_cast<uint32_t>(Number(rest, 16, 4));
  member.packed_size = Number(rest, 20, 4);
  member.size = Number(rest, 24, 4);
  member.header_offset = Number(rest, 42, 4);
  PENSTOCK_RETURN_IF_ERROR(TakeZip64(archive, rest.subspan(kEntryBytes + name, extra), member));
  PENSTOCK_RETURN_IF_ERROR(CheckReadable(archive, member, Number(rest, 8, 2)));
  rest = rest.subspan(size);
  return member;
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ListZip(const ByteSource& archive) {
  PENSTOCK_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(archive));
  if (directory.size > kMaxDirectoryBytes) {
    return Damaged(archive, absl::StrCat("damaged: its directory would have ", directory.size,
                                         " bytes; the limit is ", kMaxDirectoryBytes));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                            ReadRange(archive, directory.offset, directory.size));
  std::vector<ZipMember> members;
  for (std::span<const uint8_t> rest = bytes; members.size() < directory.entries;) {
    PENSTOCK_ASSIGN_OR_RETURN(ZipMember member, TakeEntry(archive, rest));
    members.push_back(std::move(member));
    const bool more = rest.size() >= 4 && Number(rest, 0, 4) == kEntryMark;
    if (more && members.size() == directory.entries) {
      return Damaged(archive, absl::StrCat("damaged: its directory has more than the ",
                                           directory.entries, " members of its end record"));
    }
  }
  return members;
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenZipMember(const ByteSource& archive,
                                                          const ZipMember& member) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> header,
                            ReadRange(archive, member.header_offset, kLocalBytes));
  if (Number(header, 0, 4) != kLocalMark) {
    return Damaged(archive, absl::StrCat("damaged: offset ", member.header_offset,
                                         " has no header of member ", member.name));
  }
  const uint64_t name_bytes = Number(header, 26, 2);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> name_again,
                            ReadRange(archive, member.header_offset + kLocalBytes, name_bytes));
  // No checksum covers names, so this alone notices that one of the two is damaged.
  if (!std::ranges::equal(name_again, BytesOf(member.name))) {
    return Damaged(archive,
                   absl::StrCat("the directory and the header at offset ", member.header_offset,
                                " name member ", member.name, " differently"));
  }
  const uint64_t begin = member.header_offset + kLocalBytes + name_bytes + Number(header, 28, 2);
  if (begin > archive.size() || member.packed_size > archive.size() - begin) {
    return Damaged(archive, absl::StrCat("member ", member.name, " is truncated"));
  }
  auto packed = std::make_unique<SourceStream>(archive, begin, begin + member.packed_size);
  const std::string name = absl::StrCat(archive.name(), ": member ", member.name);
  std::unique_ptr<ByteStream> bytes = std::move(packed);
  if (member.method == kDeflated)
    bytes = std::make_unique<InflateStream>(std::move(bytes), member.packed_size, name);
  return std::make_unique<VerifiedStream>(std::move(bytes), member.size, member.crc, name);
}

}  // namespace penstock
