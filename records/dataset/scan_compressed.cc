// Scans gzip and zstd shards.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "records/container/tar_header.h"
#include "records/dataset/forward_window.h"
#include "records/dataset/scan_state.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

// A chunk consists of whole members ("member" is gzip's word; zstd calls them frames) and ends with
// a member whose end is also the end of a record. Members that share a record stay together.
class CompressedScan {
 public:
  CompressedScan(const ByteSource& source, const ScanOptions& options, ScanState& state)
      : source_(source),
        options_(options),
        state_(state),
        window_(source, options.progress),
        decompressor_(CompressionOf(state.scan.container)),
        end_(source.size()) {}

  absl::Status Run() {
    state_.Close(open_, 0);
    while (offset_ < end_) {
      absl::Status member = ReadMember();
      if (absl::IsDataLoss(member)) return EndDamaged(member, source_.size(), 0);
      PENSTOCK_RETURN_IF_ERROR(member);
      PENSTOCK_RETURN_IF_ERROR(LeaveOutPadding());
      TakeRecords();
      PENSTOCK_RETURN_IF_ERROR(state_.TellFeatures(/*all=*/false));
      const bool last = offset_ == end_;
      if (why_.ok() && last && parsed_ < raw_.size()) {
        why_ = DiagnoseRecord();
      }
      if (!why_.ok()) {
        PENSTOCK_RETURN_IF_ERROR(EndDamaged(why_, offset_, CountFromDamaged()));
      } else if (parsed_ == raw_.size()) {
        MarkGood();
        if (last || raw_.size() >= options_.chunk_target) EndChunk();
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kStep = size_t{256} << 10;  // Bytes decompressed at a time.

  // Appends the next decompressed member to raw_.
  absl::Status ReadMember() {
    decompressor_.Reset();
    for (bool ended = false; !ended;) {
      PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> data, window_.Peek(offset_, 1));
      std::span<uint8_t> room = Room();
      const size_t room_before = room.size();
      std::span<const uint8_t> in = data;
      absl::StatusOr<bool> step = decompressor_.Step(in, room);
      const size_t used = data.size() - in.size();
      const size_t produced = room_before - room.size();
      raw_.resize(raw_.size() - room.size());
      open_.chunk.crc32c = Crc32c(data.first(used), open_.chunk.crc32c);
      behind_crc32c_ = Crc32c(data.first(used), behind_crc32c_);
      offset_ += used;
      if (!step.ok()) return StepFailed(step.status());
      if (IsTooLarge() && good_.records > 0) EndChunkBefore();
      if (IsTooLarge()) return TooLarge();
      ended = *step;
      if (!ended && used == 0 && produced == 0) {
        return absl::DataLossError(absl::StrCat("cut after compressed byte ", source_.size()));
      }
    }
    return absl::OkStatus();
  }

  // If only zeros follow this gzip member, the data ends here. Tapes and block devices pad with
  // zeros, and `gzip -d` ignores them.
  absl::Status LeaveOutPadding() {
    if (decompressor_.compression() != Compression::kGzip || offset_ == end_) {
      return absl::OkStatus();
    }
    PENSTOCK_ASSIGN_OR_RETURN(std::span<const uint8_t> next, window_.Peek(offset_, 1));
    if (next[0] != 0) return absl::OkStatus();
    // Does not read through the window, which cannot go back if this is no padding.
    std::vector<uint8_t> bytes;
    for (uint64_t at = offset_; at < end_; at += bytes.size()) {
      bytes.resize(std::min<uint64_t>(end_ - at, uint64_t{1} << 20));
      PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(at, bytes));
      if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != 0; })) {
        return absl::OkStatus();
      }
      if (options_.progress) PENSTOCK_RETURN_IF_ERROR(options_.progress(bytes.size()));
    }
    end_ = offset_;
    return absl::OkStatus();
  }

  // For damage, ScanState adds the name of the file.
  absl::Status StepFailed(const absl::Status& status) const {
    const std::string place = absl::StrCat("compressed byte ", offset_);
    if (absl::IsDataLoss(status)) return Annotate(status, place);
    return Annotate(status, absl::StrCat(source_.name(), ": ", place));
  }

  bool IsTooLarge() const {
    return std::max<uint64_t>(raw_.size(), offset_ - open_.begin) > options_.max_raw_chunk_bytes;
  }

  absl::Status TooLarge() const {
    return absl::ResourceExhaustedError(
        absl::StrCat(source_.name(), ": cannot be cut into chunks: from offset ", open_.begin,
                     " on, it has more than ", FormatByteSize(options_.max_raw_chunk_bytes),
                     " without a ", CompressionName(decompressor_.compression()),
                     " member that ends with a record. Run `penstock pack --from tfrecord '",
                     source_.name(), "' -o OUT` to write shards that can be indexed"));
  }

  // Space at the end of raw_. The caller removes the part that it does not fill.
  std::span<uint8_t> Room() {
    const size_t used = raw_.size();
    if (used + kStep > UsualBytes() && !large_) BecomeLarge();
    raw_.resize(used + kStep);
    return std::span(raw_).subspan(used);
  }

  // Returns the size that chunks usually reach if members are not longer than chunks should be.
  uint64_t UsualBytes() const {
    return std::max<uint64_t>(uint64_t{4} << 20, 2 * options_.chunk_target);
  }

  // Reserves the largest size, so that raw_ does not move afterwards. If it doubled while it grew,
  // it would need up to three times its bytes.
  void BecomeLarge() {
    if (options_.large_buffers != nullptr) place_.emplace(*options_.large_buffers);
    raw_.reserve(options_.max_raw_chunk_bytes + kStep);
    large_ = true;
  }

  // Counts the whole records in raw_. Sets why_ at the first damaged one.
  void TakeRecords() {
    Frame frame;
    bool held;
    while (why_.ok() && parsed_ < raw_.size()) {
      if (!TryParseFrame(raw_, parsed_, Verify::kPayload, frame)) {
        if (!ContinuesInNextMember()) why_ = DiagnoseRecord();
        return;
      }
      why_ = state_.CheckRecord(frame.payload, held);
      if (!why_.ok()) return;
      parsed_ += frame.size();
      ++open_.chunk.records;
      open_.chunk.holdout += held;
    }
  }

  bool ContinuesInNextMember() const {
    std::span<const uint8_t> rest = std::span(raw_).subspan(parsed_);
    if (rest.size() < kFrameHeaderBytes) return true;
    return HasValidFrameHeader(rest) &&
           FrameLength(rest) > rest.size() - std::min<size_t>(rest.size(), kFrameOverhead);
  }

  absl::Status DiagnoseRecord() const {
    if (state_.number == 0 && parsed_ == 0 && raw_.size() >= kTarBlock &&
        ParseTarHeader(std::span(raw_).first(kTarBlock)).ok()) {
      return absl::DataLossError("is a compressed tar: decompress the file and index that");
    }
    return Annotate(ParseFrame(raw_, parsed_, Verify::kPayload).status(), "after decompression");
  }

  // Marks that the open chunk could end here.
  void MarkGood() {
    good_ = open_.chunk;
    good_.size = static_cast<uint32_t>(offset_ - open_.begin);
    good_.raw_size = static_cast<uint32_t>(raw_.size());
    behind_crc32c_ = 0;
    state_.KeepImages();
  }

  // Ends the open chunk at the last mark. The next chunk, and raw_, begin there.
  void EndChunk() {
    const uint64_t end = open_.begin + good_.size;
    open_.chunk = good_;
    state_.number += good_.records;
    state_.Close(open_, end);
    raw_.erase(raw_.begin(), raw_.begin() + good_.raw_size);
    parsed_ -= good_.raw_size;
    good_ = {};
  }

  // Like EndChunk(), but what was read after the mark becomes the beginning of the next chunk.
  void EndChunkBefore() {
    const ManifestBuilder::Chunk whole = open_.chunk;
    const ManifestBuilder::Chunk good = good_;
    EndChunk();
    open_.chunk.records = whole.records - good.records;
    open_.chunk.holdout = whole.holdout - good.holdout;
    open_.chunk.crc32c = behind_crc32c_;
  }

  // Returns the number of records from the damaged one to the end of raw_, or 0 if their lengths do
  // not lead there.
  uint64_t CountFromDamaged() const {
    uint64_t records = 0;
    size_t at = parsed_;
    while (at < raw_.size()) {
      const std::span<const uint8_t> rest = std::span(raw_).subspan(at);
      if (rest.size() < kFrameOverhead || !HasValidFrameHeader(rest)) return 0;
      if (FrameLength(rest) > rest.size() - kFrameOverhead) return 0;
      at += FrameLength(rest) + kFrameOverhead;
      ++records;
    }
    return records;
  }

  // Ends the chunk before the damage, and leaves out everything up to `end`. `left` is the number
  // of records from the damaged one to `end`, or 0 if it is unknown.
  absl::Status EndDamaged(absl::Status why, uint64_t end, uint64_t left) {
    const uint64_t whole = open_.chunk.records - good_.records;
    state_.DropImages();
    EndChunk();
    raw_.clear();
    parsed_ = 0;
    DamagedRange range;
    range.offset = open_.begin;
    range.bytes = end - open_.begin;
    range.record = state_.number + whole;
    range.records = whole + std::max<uint64_t>(left, 1);
    range.all_counted = left > 0;
    range.to_end = end == source_.size();
    state_.number += range.records;
    offset_ = end;
    state_.Close(open_, end);
    why_ = absl::OkStatus();
    return state_.Damaged(std::move(range), why);
  }

  const ByteSource& source_;
  const ScanOptions& options_;
  ScanState& state_;
  ForwardWindow window_;
  Decompressor decompressor_;
  ScanState::OpenChunk open_;
  ManifestBuilder::Chunk good_;               // The open chunk up to the last mark.
  uint32_t behind_crc32c_ = 0;                // CRC of the bytes read after that mark.
  std::optional<LargeBuffers::Place> place_;  // Held for a large raw_, which is freed first.
  bool large_ = false;
  std::vector<uint8_t> raw_;  // Decompressed bytes of the open chunk.
  size_t parsed_ = 0;         // Bytes of raw_ that are parsed.
  absl::Status why_;          // Why the open chunk cannot be used.
  uint64_t offset_ = 0;
  uint64_t end_;  // End of the last member, as far as is known.
};

}  // namespace

absl::Status ScanCompressed(const ByteSource& source, const ScanOptions& options,
                            ScanState& state) {
  return CompressedScan(source, options, state).Run();
}

}  // namespace penstock
