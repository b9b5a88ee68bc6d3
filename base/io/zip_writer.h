// Writes zip archives whose members are stored as they are
// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
#ifndef PENSTOCK_BASE_IO_ZIP_WRITER_H_
#define PENSTOCK_BASE_IO_ZIP_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/atomic_file.h"
#include "base/io/byte_source.h"

namespace penstock {

// All sizes and offsets have 64 bits (zip64), so that members of any size have the same form. All
// times are 1980-01-01, so that equal members give equal archives. Not thread-safe.
//
//   PENSTOCK_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::Create("arrays.npz"));
//   PENSTOCK_RETURN_IF_ERROR(zip.Add("ids.npy", *source));
//   PENSTOCK_RETURN_IF_ERROR(zip.Finish());
class ZipWriter {
 public:
  // Returns the errors of AtomicFile::Create(). The file appears complete, in Finish(), or not at
  // all.
  static absl::StatusOr<ZipWriter> Create(const std::string& path);

  // Reads `source` twice, because its checksum is stored before its bytes.
  // REQUIRES: `name` is ASCII of at most 1,024 characters.
  absl::Status Add(std::string name, const ByteSource& source);
  // Writes the directory and commits the file. Call it once, after the last Add().
  absl::Status Finish();

 private:
  struct Member {
    std::string name;
    uint64_t offset;  // Offset of the local header, in bytes.
    uint64_t size;
    uint32_t crc;
  };

  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}
  absl::Status Write(const std::string& bytes);

  AtomicFile file_;
  uint64_t written_ = 0;
  std::vector<Member> members_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ZIP_WRITER_H_
