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
  // Framed records of about this size share one gzip member or zstd frame: what is read at once.
  size_t chunk_bytes = size_t{256} << 10;
};

// Nothing stands under the final name until Finish(); destruction before it leaves no trace.
// TensorFlow reads what it writes without compression and with gzip. Not thread-safe.
class ShardWriter {
 public:
  static absl::StatusOr<ShardWriter> Create(const std::string& path,
                                            const ShardWriterOptions& options);

  // Appends one framed record. kResourceExhausted: the disk is full.
  absl::Status Write(std::span<const uint8_t> payload);

  // Flushes to the disk and gives the file its name. Once; nothing may follow.
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
