#include "records/container/shard_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {
namespace {

using Cut = RecordCutter::Cut;

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

}  // namespace

absl::StatusOr<ShardReader> ShardReader::Create(const ByteSource& source,
                                                const std::optional<StoredRecords>& stored) {
  PENSTOCK_ASSIGN_OR_RETURN(const StoredRecords how, StoredAs(source, stored));
  ShardReader reader(source);
  if (HoldsFrames(how.container)) {
    reader.frames_ = std::make_unique<TfRecordReader>(source);
  } else {
    reader.cutter_ = NewCutter(how);
  }
  return reader;
}

absl::StatusOr<bool> ShardReader::Next(Record& record) {
  return frames_ != nullptr ? frames_->Next(record) : NextCut(record);
}

absl::StatusOr<bool> ShardReader::NextCut(Record& record) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(taken_));
  offset_ += taken_;
  taken_ = 0;
  for (uint64_t need = 1;;) {
    PENSTOCK_RETURN_IF_ERROR(Fill(need));
    const bool at_end = offset_ + buffer_.size() >= source_->size();
    const absl::StatusOr<Cut> cut = cutter_->Next(buffer_, at_end);
    if (!cut.ok()) {
      return Annotate(cut.status(),
                      absl::StrCat(source_->name(), ": record ", number_, " at offset ", offset_));
    }
    if (cut->what == Cut::What::kEnd) {
      PENSTOCK_RETURN_IF_ERROR(Annotate(cutter_->CheckEnd(*source_, offset_), source_->name()));
      return false;
    }
    if (cut->what == Cut::What::kRecord) {
      record = {number_++, offset_, cut->payload};
      taken_ = cut->size;
      return true;
    }
    need = cut->size;
  }
}

absl::Status ShardReader::Fill(uint64_t size) {
  const uint64_t left = source_->size() - offset_;
  if (buffer_.size() >= std::min(size, left)) return absl::OkStatus();
  if (const uint64_t limit = TfRecordReaderOptions().max_record_bytes; size > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(source_->name(), ": record ", number_, " at offset ", offset_, " has ", size,
                     " bytes or more; the limit is ", FormatByteSize(limit)));
  }
  const size_t before = buffer_.size();
  buffer_.resize(std::min(std::max(size, before + kReadBytes), left));
  return source_->ReadAt(offset_ + before, std::span(buffer_).subspan(before));
}

}  // namespace penstock
