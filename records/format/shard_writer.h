// Writes a TFRecord shard.
#ifndef PENSTOCK_RECORDS_FORMAT_SHARD_WRITER_H_
#define PENSTOCK_RECORDS_FORMAT_SHARD_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/atomic_file.h"
#include "records/format/compression.h"

namespace penstock {

struct ShardWriterOptions {
  Compression compression = Compression::kNone;
  // A gzip member or zstd frame holds about this many bytes of framed records. It is read at once.
  size_t chunk_bytes = size_t{256} << 10;
};

// The file gets its final name in Finish(). If the writer is destroyed before that, nothing
// remains. TensorFlow can read the files without compression and with gzip. Not thread-safe.
class ShardWriter {
 public:
  // Errors are those of AtomicFile::Create().
  static absl::StatusOr<ShardWriter> Create(const std::string& path,
                                            const ShardWriterOptions& options);

  // Appends one framed record. kResourceExhausted: the disk is full.
  absl::Status Write(std::span<const uint8_t> payload);

  // Flushes the file to the disk and gives it its name. Call it once; no other call may follow.
  absl::Status Finish();

 private:
  ShardWriter(AtomicFile file, const ShardWriterOptions& options)
      : file_(std::move(file)), options_(options) {}
  absl::Status Flush();

  AtomicFile file_;
  ShardWriterOptions options_;
  std::vector<uint8_t> chunk_;
  std::vector<uint8_t> compressed_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_SHARD_WRITER_H_
