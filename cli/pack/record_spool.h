// A temporary file of records, for input without random access.
#ifndef PENSTOCK_CLI_PACK_RECORD_SPOOL_H_
#define PENSTOCK_CLI_PACK_RECORD_SPOOL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/file_source.h"
#include "base/io/unique_fd.h"

namespace penstock {

// The file has no name, so that it vanishes when the process ends in any way. It holds uncompressed
// frames. Not thread-safe.
class RecordSpool {
 public:
  // Creates the file on the file system of `folder`, which must exist.
  static absl::StatusOr<RecordSpool> Create(const std::string& folder);

  // Appends the record as a frame. Returns its offset. kResourceExhausted: the disk is full.
  absl::StatusOr<uint64_t> Append(std::span<const uint8_t> payload);

  // Returns everything that was appended. May be called once; nothing may follow.
  absl::StatusOr<std::unique_ptr<FileSource>> Finish();

 private:
  RecordSpool(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  absl::Status Flush();

  UniqueFd fd_;
  std::string name_;  // Its name in messages.
  uint64_t written_ = 0;
  std::vector<uint8_t> buffer_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_RECORD_SPOOL_H_
