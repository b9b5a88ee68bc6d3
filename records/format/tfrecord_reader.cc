#include "records/format/tfrecord_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<bool> TfRecordReader::Next(Record& record) {
  PENSTOCK_RETURN_IF_ERROR(Fill(kFrameHeaderBytes));
  if (buffered().empty()) return false;
  Frame frame;
  absl::Status status = NextFrame(frame);
  if (!status.ok()) {
    return Annotate(status, absl::StrCat(source_.name(), ": record ", number_));
  }
  record = {number_++, offset_, frame.payload};
  begin_ += frame.size();
  offset_ += frame.size();
  return true;
}

absl::StatusOr<bool> TfRecordReader::PassOver() {
  if (failed_bytes_ == 0) return false;
  ++number_;
  while (failed_bytes_ > 0) {
    PENSTOCK_RETURN_IF_ERROR(Fill(1));
    if (buffered().empty()) return false;
    const size_t bytes = std::min<uint64_t>(buffered().size(), failed_bytes_);
    begin_ += bytes;
    offset_ += bytes;
    failed_bytes_ -= bytes;
  }
  return true;
}

absl::Status TfRecordReader::NextFrame(Frame& frame) {
  failed_bytes_ = 0;
  if (HasValidFrameHeader(buffered())) {
    const uint64_t length = FrameLength(buffered());
    const uint64_t left = source_.size() - offset_ - kFrameHeaderBytes;
    if (compression() == Compression::kNone && (left < 4 || length > left - 4)) {
      return CutFrameError(offset_, length, left);
    }
    if (length > options_.max_record_bytes) {
      failed_bytes_ = std::min(length, ~uint64_t{kFrameOverhead}) + kFrameOverhead;
      return absl::ResourceExhaustedError(absl::StrCat("record at offset ", offset_, ": has ",
                                                       length, " bytes, the limit is ",
                                                       FormatByteSize(options_.max_record_bytes)));
    }
    PENSTOCK_RETURN_IF_ERROR(Fill(length + kFrameOverhead));
    failed_bytes_ = length + kFrameOverhead;
  } else if (number_ == 0) {
    return Annotate(ParseFrame(buffered(), 0, options_.verify).status(),
                    "this is no TFRecord file, or a damaged one");
  }
  PENSTOCK_ASSIGN_OR_RETURN(frame, ParseFrame(buffered(), 0, options_.verify, offset_));
  return absl::OkStatus();
}

absl::Status TfRecordReader::Fill(size_t size) {
  if (buffered().size() >= size) return absl::OkStatus();
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
  begin_ = 0;
  while (buffer_.size() < size) {
    const size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const absl::StatusOr<size_t> read = bytes_.Read(std::span(buffer_).subspan(before));
    buffer_.resize(before + read.value_or(0));
    if (!read.ok()) return read.status();
    if (*read == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace penstock
