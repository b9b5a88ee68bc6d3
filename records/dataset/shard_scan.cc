#include "records/dataset/shard_scan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "records/dataset/scan_state.h"

namespace penstock {
namespace {

absl::Status Scan(const ByteSource& source, const StoredRecords& stored, const ScanOptions& options,
                  ScanState& state) {
  if (!HoldsFrames(stored.container)) return ScanCut(source, stored, options, state);
  if (stored.container == Container::kTfRecord) return ScanPlain(source, options, state);
  return ScanCompressed(source, options, state);
}

}  // namespace

void ScanState::Close(OpenChunk& open, uint64_t next_begin) {
  if (open.chunk.records > 0) {
    open.chunk.gap = open.begin - end_;
    end_ = open.begin + open.chunk.size;
    scan.chunks.push_back(open.chunk);
  }
  open = {.begin = next_begin, .chunk = {}};
  open.chunk.first_record = number;
}

absl::Status ScanState::CheckRecord(std::span<const uint8_t> payload, bool& held) {
  absl::Status status = check_.Check(payload, held);
  if (absl::IsResourceExhausted(status)) {
    unchecked_ = Annotate(status, absl::StrCat(source_.name(), ": record ", number));
  }
  return status;
}

absl::Status ScanState::Skip(OpenChunk& open, uint64_t& offset, uint64_t bytes,
                             const absl::Status& why, bool one_record) {
  DamagedRange range;
  range.offset = offset;
  range.bytes = bytes;
  range.record = number++;
  range.records = 1;
  range.all_counted = one_record;
  offset += bytes;
  range.to_end = offset == source_.size();
  Close(open, offset);
  return Damaged(std::move(range), why);
}

absl::Status ScanState::Damaged(DamagedRange range, const absl::Status& why) {
  PENSTOCK_RETURN_IF_ERROR(unchecked_);
  range.file = std::string(source_.name());
  absl::string_view reason = why.message();
  absl::ConsumePrefix(&reason, absl::StrCat("record at offset ", range.offset, ": "));
  range.reason = std::string(reason);
  if (!options_.collect_damage) {
    return absl::Status(why.code(), absl::StrCat(range.file, ": record ", range.record,
                                                 " at offset ", range.offset, ": ", reason));
  }
  scan.excluded_records += range.records;
  scan.damage.Add(std::move(range));
  return absl::OkStatus();
}

absl::Status ScanState::TellFeatures(bool all) {
  if (told_features_ || !options_.on_features || !(all || check_.has_first_records())) {
    return absl::OkStatus();
  }
  told_features_ = true;
  return options_.on_features(check_.FirstFeatures());
}

absl::StatusOr<ShardScan> ScanShard(const ByteSource& source, const ScanOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(RecordCheck check, RecordCheck::Create(options));
  PENSTOCK_ASSIGN_OR_RETURN(const StoredRecords stored, StoredAs(source, options.stored));
  ScanState state(source, options, check);
  state.scan.container = stored.container;
  PENSTOCK_RETURN_IF_ERROR(Scan(source, stored, options, state));
  PENSTOCK_RETURN_IF_ERROR(state.TellFeatures(/*all=*/true));
  state.scan.features = check.survey().Summary();
  state.scan.unread = check.survey().unread();
  CheckedImages images = check.checked_images();
  if (options.measure_images) state.scan.pixel_sums = std::move(images.sums);
  state.scan.images = images.counts;
  return std::move(state.scan);
}

}  // namespace penstock
