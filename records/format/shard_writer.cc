#include "records/format/shard_writer.h"

#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {

absl::StatusOr<ShardWriter> ShardWriter::Create(const std::string& path,
                                                const ShardWriterOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return ShardWriter(std::move(file), options);
}

absl::Status ShardWriter::Write(std::span<const uint8_t> payload) {
  AppendFrame(payload, chunk_);
  return chunk_.size() < options_.chunk_bytes ? absl::OkStatus() : Flush();
}

absl::Status ShardWriter::Finish() {
  PENSTOCK_RETURN_IF_ERROR(Flush());
  return file_.Commit();
}

absl::Status ShardWriter::Flush() {
  if (chunk_.empty()) return absl::OkStatus();
  absl::Status status;
  if (options_.compression == Compression::kNone) {
    status = file_.Write(chunk_);
  } else {
    compressed_.clear();
    status = Annotate(CompressMember(options_.compression, chunk_, compressed_), file_.path());
    if (status.ok()) status = file_.Write(compressed_);
  }
  chunk_.clear();
  return status;
}

}  // namespace penstock
