// Reads a TFRecord file from its beginning to its end.
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
  uint64_t number = 0;  // From 0.
  uint64_t offset = 0;  // Of its frame, in the decompressed bytes.
  std::span<const uint8_t> payload;
};

struct TfRecordReaderOptions {
  Verify verify = Verify::kPayload;
  // A longer record is refused before memory is taken for it.
  uint64_t max_record_bytes = uint64_t{1} << 30;
};

// Reads ahead 1 MiB and holds one record. gzip and zstd are recognised and decompressed on the way.
// Not thread-safe.
class TfRecordReader {
 public:
  // `source` must outlive the reader.
  explicit TfRecordReader(const ByteSource& source, const TfRecordReaderOptions& options = {})
      : source_(source), options_(options), bytes_(source) {}

  // True: `record` is filled, valid until the next call. False: a clean end.
  // kDataLoss: damaged or cut, naming file, record and offset; only PassOver() may follow.
  // kResourceExhausted: the record is longer than the limit.
  absl::StatusOr<bool> Next(Record& record);

  // Once after Next() failed with kDataLoss or kResourceExhausted: passes over that record, so that
  // Next() may follow. False: nobody knows where the next record begins.
  absl::StatusOr<bool> PassOver();

  // Once Next() was called.
  Compression compression() const { return bytes_.compression(); }

 private:
  // Until `size` bytes are buffered or the source ends.
  absl::Status Fill(size_t size);
  absl::Status NextFrame(Frame& frame);
  std::span<const uint8_t> buffered() const { return std::span(buffer_).subspan(begin_); }

  const ByteSource& source_;
  const TfRecordReaderOptions options_;
  UnpackedStream bytes_;

  std::vector<uint8_t> buffer_;  // Decompressed bytes, [begin_, size).
  size_t begin_ = 0;
  uint64_t offset_ = 0;  // Of begin_ in the decompressed bytes.
  uint64_t number_ = 0;
  uint64_t failed_bytes_ = 0;  // Of the frame that Next() failed at; 0: not known.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TFRECORD_READER_H_
