// Reads zip archives (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
#ifndef PENSTOCK_BASE_IO_ZIP_READER_H_
#define PENSTOCK_BASE_IO_ZIP_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "base/io/byte_stream.h"

namespace penstock {

struct ZipMember {
  std::string name;
  uint16_t method = 0;         // 0 if the member is stored, 8 if it is deflated.
  uint32_t crc = 0;            // CRC-32 of the unpacked bytes.
  uint64_t packed_size = 0;    // Bytes in the archive.
  uint64_t size = 0;           // Bytes when unpacked.
  uint64_t header_offset = 0;  // Offset of the local header, in bytes.
};

// Lists the members in the archive's directory. The archive must have one part; zip64 is supported.
// kDataLoss: the archive is damaged or truncated, or it is not a zip archive.
// kInvalidArgument: a member is encrypted, or compressed with a method other than deflate.
absl::StatusOr<std::vector<ZipMember>> ListZip(const ByteSource& archive);

// Streams the unpacked bytes of a member. Their number and checksum are verified at the end: if
// they are wrong, the last Read() returns kDataLoss instead of 0. `archive` must outlive the
// stream.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenZipMember(const ByteSource& archive,
                                                          const ZipMember& member);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ZIP_READER_H_
