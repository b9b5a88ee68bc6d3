// Reads a shard of any container from beginning to end.
#ifndef PENSTOCK_RECORDS_CONTAINER_SHARD_READER_H_
#define PENSTOCK_RECORDS_CONTAINER_SHARD_READER_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "records/container/frames.h"
#include "records/format/tfrecord_reader.h"

namespace penstock {

// Holds one record in memory. Not thread-safe.
class ShardReader {
 public:
  // If `stored` is unset, the container is detected from the first bytes of the file. `source` must
  // outlive the reader. Errors are those of DetectContainer().
  static absl::StatusOr<ShardReader> Create(const ByteSource& source,
                                            const std::optional<StoredRecords>& stored = {});

  // Returns true if it has filled `record`, which is then valid until the next call. The offset of
  // a record counts bytes of the file, or of the decompressed data if the file is compressed.
  // Returns false at a clean end. Errors are those of TfRecordReader::Next().
  absl::StatusOr<bool> Next(Record& record);

 private:
  explicit ShardReader(const ByteSource& source) : source_(&source) {}
  absl::StatusOr<bool> NextCut(Record& record);
  // Reads until buffer_ has `size` bytes of the source, or all that are left.
  absl::Status Fill(uint64_t size);

  const ByteSource* source_;
  // Null if the file does not hold frames; the members below are then used.
  std::unique_ptr<TfRecordReader> frames_;
  std::unique_ptr<RecordCutter> cutter_;
  std::vector<uint8_t> buffer_;  // The bytes of the source from offset_ on.
  uint64_t offset_ = 0;
  uint64_t number_ = 0;
  size_t taken_ = 0;  // Bytes of the record that was returned last.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SHARD_READER_H_
