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
  uint16_t method = 0;  // 0: stored; 8: deflated.
  uint32_t crc = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;  // Of its local header.
};

// The members that the archive's directory lists. Archives of one part, with or without zip64.
// kDataLoss: the archive is damaged, cut or none. kInvalidArgument: a member is encrypted, or
// compressed by another method than deflate.
absl::StatusOr<std::vector<ZipMember>> ListZip(const ByteSource& archive);

// The bytes of a member. Their number and checksum are verified at the end: the last Read() answers
// kDataLoss instead of 0. `archive` must outlive the stream.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenZipMember(const ByteSource& archive,
                                                          const ZipMember& member);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ZIP_READER_H_
