// Reads a shard of any kind from its beginning to its end.
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

// Holds one record. Not thread-safe.
class ShardReader {
 public:
  // If `stored` is unset, the first bytes of the file say it. `source` must outlive the reader.
  static absl::StatusOr<ShardReader> Create(const ByteSource& source,
                                            const std::optional<StoredRecords>& stored = {});

  // True: `record` is filled, valid until the next call; its offset is that in the file, or in what
  // a compressed one unpacks to. False: a clean end. Errors as TfRecordReader::Next().
  absl::StatusOr<bool> Next(Record& record);

 private:
  explicit ShardReader(const ByteSource& source) : source_(&source) {}
  absl::StatusOr<bool> NextCut(Record& record);
  // Until `size` bytes of the source are in buffer_, or all of them are.
  absl::Status Fill(uint64_t size);

  const ByteSource* source_;
  std::unique_ptr<TfRecordReader> frames_;  // Of files that hold frames; else the rest is used.
  std::unique_ptr<RecordCutter> cutter_;
  std::vector<uint8_t> buffer_;  // From offset_ on.
  uint64_t offset_ = 0;
  uint64_t number_ = 0;
  size_t taken_ = 0;  // Bytes of the record that was given out last.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SHARD_READER_H_
