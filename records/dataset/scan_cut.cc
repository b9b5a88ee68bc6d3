// Scans shards without TFRecord frames.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "records/container/frames.h"
#include "records/dataset/forward_window.h"
#include "records/dataset/scan_state.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

using Cut = RecordCutter::Cut;

class CutScan {
 public:
  CutScan(const ByteSource& source, const StoredRecords& stored, const ScanOptions& options,
          ScanState& state)
      : source_(source),
        options_(options),
        state_(state),
        window_(source, options.progress),
        cutter_(NewCutter(stored, &keys_)) {}

  absl::Status Run() {
    state_.Close(open_, 0);
    for (bool more = true; more;) {
      PENSTOCK_ASSIGN_OR_RETURN(more, TakeRecord());
      PENSTOCK_RETURN_IF_ERROR(state_.TellFeatures(/*all=*/false));
    }
    state_.Close(open_, offset_);
    return absl::OkStatus();
  }

 private:
  // Returns false if there are no more records.
  absl::StatusOr<bool> TakeRecord() {
    PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> bytes, window_.Peek(offset_, need_));
    const bool at_end = offset_ + bytes.size() >= source_.size();
    const absl::StatusOr<Cut> cut = cutter_->Next(bytes, at_end);
    if (!cut.ok()) return SkipRest(cut.status());
    if (cut->what == Cut::What::kEnd) {
      const absl::Status end = cutter_->CheckEnd(source_, offset_);
      if (!end.ok() && !absl::IsDataLoss(end)) return end;
      if (!end.ok()) PENSTOCK_RETURN_IF_ERROR(SkipRest(end).status());
      return false;
    }
    if (cut->what == Cut::What::kMore) {
      need_ = cut->size;
      if (absl::Status size = CheckSize(std::min(need_, source_.size() - offset_)); !size.ok()) {
        return SkipRest(size);
      }
      return true;
    }
    need_ = 1;
    return AddRecord(bytes.first(cut->size), cut->payload);
  }

  absl::Status CheckSize(uint64_t bytes) const {
    if (bytes <= options_.max_raw_chunk_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("needs ", FormatByteSize(bytes),
                                                     ", but a chunk has at most ",
                                                     FormatByteSize(options_.max_raw_chunk_bytes)));
  }

  // Adds `bytes` bytes of the file as one record.
  absl::StatusOr<bool> AddRecord(std::span<const uint8_t> bytes, std::span<const uint8_t> payload) {
    const uint64_t framed = payload.size() + kFrameOverhead;
    absl::Status why = CheckSize(std::max<uint64_t>(bytes.size(), framed));
    bool held = false;
    if (why.ok()) why = state_.CheckRecord(payload, held);
    if (!why.ok()) return Skip(bytes.size(), why, /*one_record=*/true);
    ManifestBuilder::Chunk& chunk = open_.chunk;
    const uint64_t larger = std::max<uint64_t>(chunk.size + bytes.size(), chunk.raw_size + framed);
    if (larger > options_.max_raw_chunk_bytes) state_.Close(open_, offset_);
    offset_ += bytes.size();
    ++state_.number;
    ++chunk.records;
    chunk.holdout += held;
    chunk.crc32c = Crc32c(bytes, chunk.crc32c);
    chunk.size += static_cast<uint32_t>(bytes.size());
    chunk.raw_size += static_cast<uint32_t>(framed);
    if (chunk.raw_size >= options_.chunk_target) state_.Close(open_, offset_);
    return true;
  }

  absl::StatusOr<bool> SkipRest(const absl::Status& why) {
    return Skip(source_.size() - offset_, why, /*one_record=*/false);
  }

  // Like ScanState::Skip(), but returns false if the end of the file is reached.
  absl::StatusOr<bool> Skip(uint64_t bytes, const absl::Status& why, bool one_record) {
    PENSTOCK_RETURN_IF_ERROR(state_.Skip(open_, offset_, bytes, why, one_record));
    return offset_ < source_.size();
  }

  const ByteSource& source_;
  const ScanOptions& options_;
  ScanState& state_;
  ForwardWindow window_;
  SampleKeys keys_;
  const std::unique_ptr<RecordCutter> cutter_;
  ScanState::OpenChunk open_;
  uint64_t offset_ = 0;  // Everything before it is in a chunk or left out.
  uint64_t need_ = 1;
};

}  // namespace

absl::Status ScanCut(const ByteSource& source, const StoredRecords& stored,
                     const ScanOptions& options, ScanState& state) {
  return CutScan(source, stored, options, state).Run();
}

}  // namespace penstock
