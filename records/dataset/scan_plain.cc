// Scans shards without compression.
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "records/dataset/forward_window.h"
#include "records/dataset/scan_state.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

class PlainScan {
 public:
  PlainScan(const ByteSource& source, const ScanOptions& options, ScanState& state)
      : source_(source), options_(options), state_(state), window_(source, options.progress) {}

  absl::Status Run() {
    state_.Close(open_, 0);
    while (offset_ < source_.size()) {
      PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> data, window_.Peek(offset_, need_));
      need_ = kFrameOverhead;
      absl::Status why;
      const size_t taken = TakeRecords(data, why);
      PENSTOCK_RETURN_IF_ERROR(state_.TellFeatures(/*all=*/false));
      offset_ += taken;
      if (!why.ok()) {
        PENSTOCK_RETURN_IF_ERROR(SkipRecord(data.subspan(taken), why));
      } else if (taken == 0) {
        PENSTOCK_RETURN_IF_ERROR(ReadFurtherOrSkip(data));
      }
    }
    state_.Close(open_, offset_);
    return absl::OkStatus();
  }

 private:
  // Adds the records at the front of `data`, and returns their bytes. Sets `why` if the next record
  // cannot be used although its frame is intact.
  size_t TakeRecords(std::span<const uint8_t> data, absl::Status& why) {
    size_t at = 0, summed = 0;
    Frame frame;
    bool held;
    while (TryParseFrame(data, at, Verify::kPayload, frame)) {
      why = CheckLength(frame.payload.size());
      if (why.ok()) why = state_.CheckRecord(frame.payload, held);
      if (!why.ok()) break;
      if (offset_ + at + frame.size() - open_.begin > options_.max_raw_chunk_bytes) {
        Sum(data.subspan(summed, at - summed));
        summed = at;
        state_.Close(open_, offset_ + at);
      }
      at += frame.size();
      ++state_.number;
      ++open_.chunk.records;
      open_.chunk.holdout += held;
      const uint64_t size = offset_ + at - open_.begin;
      if (size < options_.chunk_target) continue;
      Sum(data.subspan(summed, at - summed));
      summed = at;
      state_.Close(open_, offset_ + at);
    }
    Sum(data.subspan(summed, at - summed));
    return at;
  }

  absl::Status CheckLength(uint64_t length) const {
    if (length + kFrameOverhead <= options_.max_raw_chunk_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("has ", length, " bytes, but a chunk has at most ",
                     FormatByteSize(options_.max_raw_chunk_bytes),
                     ": write shorter records, or leave it out (--exclude-corrupt)"));
  }

  // Adds bytes to the open chunk and its checksum.
  void Sum(std::span<const uint8_t> bytes) {
    open_.chunk.crc32c = Crc32c(bytes, open_.chunk.crc32c);
    open_.chunk.size += static_cast<uint32_t>(bytes.size());
  }

  // Handles a frame at the front of `data` that is incomplete, either because the window ends or
  // because of damage.
  absl::Status ReadFurtherOrSkip(std::span<const uint8_t> data) {
    const uint64_t left = source_.size() - offset_;
    if (!HasValidFrameHeader(data)) return SkipToNextFrame(data);
    const uint64_t length = FrameLength(data);
    if (left < kFrameOverhead || length > left - kFrameOverhead) {
      return SkipRest(CutFrameError(offset_, length, left - kFrameHeaderBytes));
    }
    if (absl::Status why = CheckLength(length); !why.ok()) return SkipRecord(data, why);
    const uint64_t size = length + kFrameOverhead;
    if (data.size() >= size) {
      return SkipRecord(data, ParseFrame(data, 0, Verify::kPayload, offset_).status());
    }
    need_ = size;
    return absl::OkStatus();
  }

  absl::Status SkipRecord(std::span<const uint8_t> data, const absl::Status& why) {
    return Skip(FrameLength(data) + kFrameOverhead, why, /*one_record=*/true);
  }

  absl::Status SkipRest(const absl::Status& why) {
    return Skip(source_.size() - offset_, why, /*one_record=*/false);
  }

  absl::Status SkipToNextFrame(std::span<const uint8_t> data) {
    absl::Status why = ParseFrame(data, 0, Verify::kPayload, offset_).status();
    const bool first = state_.number == 0 && offset_ == 0;
    // Listing continues after the damage only if options_.collect_damage.
    if (!options_.collect_damage) {
      if (first) why = Annotate(why, "this is no TFRecord file, or a damaged one");
      return Skip(0, why, /*one_record=*/false);
    }
    PENSTOCK_ASSIGN_OR_RETURN(uint64_t next, NextFrame());
    if (first && next == source_.size()) why = Annotate(why, "this is no TFRecord file");
    return Skip(next - offset_, why, /*one_record=*/false);
  }

  // Returns where the next intact frame after offset_ begins, or the source's size if there is
  // none. The CRCs of both length and payload must be right, so a false match has a chance of one
  // in 2^64 at each place. A frame that is too long for a chunk does not count: it is left out
  // anyway, and checking its payload would take as much memory.
  absl::StatusOr<uint64_t> NextFrame() {
    const uint64_t size = source_.size();
    for (uint64_t from = offset_ + 1; from + kFrameOverhead <= size;) {
      PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> data, window_.Peek(from, kFrameOverhead));
      size_t at = 0;
      while (at + kFrameOverhead <= data.size() && !HasValidFrameHeader(data.subspan(at))) ++at;
      from += at;
      if (at + kFrameOverhead > data.size()) continue;
      const uint64_t length = FrameLength(data.subspan(at));
      if (length <= size - from - kFrameOverhead && CheckLength(length).ok()) {
        PENSTOCK_ASSIGN_OR_RETURN(data, window_.Peek(from, length + kFrameOverhead));
        Frame frame;
        if (TryParseFrame(data, 0, Verify::kPayload, frame)) return from;
      }
      ++from;
    }
    return size;
  }

  absl::Status Skip(uint64_t bytes, const absl::Status& why, bool one_record) {
    return state_.Skip(open_, offset_, bytes, why, one_record);
  }

  const ByteSource& source_;
  const ScanOptions& options_;
  ScanState& state_;
  ForwardWindow window_;
  ScanState::OpenChunk open_;
  uint64_t offset_ = 0;  // Everything before it is in a chunk or left out.
  uint64_t need_ = kFrameOverhead;
};

}  // namespace

absl::Status ScanPlain(const ByteSource& source, const ScanOptions& options, ScanState& state) {
  return PlainScan(source, options, state).Run();
}

}  // namespace penstock
