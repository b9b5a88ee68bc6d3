// Reads a TFRecord file from beginning to end.
#ifndef PENSTOCK_RECORDS_FORMAT_TFRECORD_READER_H_
#define PENSTOCK_RECORDS_FORMAT_TFRECORD_READER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "records/format/compression.h"
#include "records/format/tfrecord.h"
#include "records/format/unpacked_stream.h"

namespace penstock {

struct Record {
  uint64_t number = 0;  // Number of the record, from 0 on.
  uint64_t offset = 0;  // Offset of its frame in the decompressed bytes.
  std::span<const uint8_t> payload;
};

struct TfRecordReaderOptions {
  Verify verify = Verify::kPayload;
  // A longer record is refused before memory is allocated for it.
  uint64_t max_record_bytes = uint64_t{1} << 30;
};

// Reads ahead 1 MiB and holds one record. Detects and decompresses gzip and zstd. Not thread-safe.
class TfRecordReader {
 public:
  // `source` must outlive the reader.
  explicit TfRecordReader(const ByteSource& source, const TfRecordReaderOptions& options = {})
      : source_(source), options_(options), bytes_(source) {}

  // Returns true if `record` is filled; it is valid until the next call. Returns false at a clean
  // end.
  // kDataLoss: the file is damaged or truncated. The message has the file, the record and the
  // offset. Only PassOver() may follow.
  // kResourceExhausted: the record is longer than max_record_bytes.
  absl::StatusOr<bool> Next(Record& record);

  // Skips the record at which Next() failed with kDataLoss or kResourceExhausted, so that Next()
  // may be called again. Call it once for each failure. Returns false if the start of the next
  // record is unknown.
  absl::StatusOr<bool> PassOver();

  // Valid after the first call of Next().
  Compression compression() const { return bytes_.compression(); }

 private:
  // Reads until `size` bytes are buffered or the source ends.
  absl::Status Fill(size_t size);
  absl::Status NextFrame(Frame& frame);
  std::span<const uint8_t> buffered() const { return std::span(buffer_).subspan(begin_); }

  const ByteSource& source_;
  const TfRecordReaderOptions options_;
  UnpackedStream bytes_;

  std::vector<uint8_t> buffer_;  // Decompressed bytes; those from begin_ on are unread.
  size_t begin_ = 0;
  uint64_t offset_ = 0;  // Offset of begin_ in the decompressed bytes.
  uint64_t number_ = 0;
  uint64_t failed_bytes_ = 0;  // Bytes of the frame at which Next() failed; 0 if unknown.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TFRECORD_READER_H_
