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
  PENSTOCK_RETURN_IF_ERROR(Start());
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
    if (compression_ == Compression::kNone && (left < 4 || length > left - 4)) {
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

absl::Status TfRecordReader::Start() {
  if (started_) return absl::OkStatus();
  started_ = true;
  uint8_t head[kFrameHeaderBytes];
  const size_t size = std::min<uint64_t>(sizeof(head), source_.size());
  PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(0, std::span(head, size)));
  compression_ = DetectCompression(std::span<const uint8_t>(head, size));
  if (compression_ != Compression::kNone) decompressor_.emplace(compression_);
  return absl::OkStatus();
}

absl::Status TfRecordReader::Fill(size_t size) {
  if (buffered().size() >= size) return absl::OkStatus();
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
  begin_ = 0;
  for (size_t before = ~size_t{0}; buffer_.size() < size && buffer_.size() != before;) {
    before = buffer_.size();
    PENSTOCK_RETURN_IF_ERROR(ReadMore());
  }
  return absl::OkStatus();
}

absl::Status TfRecordReader::ReadMore() {
  if (decompressor_.has_value()) return ReadCompressed(kReadBytes);
  const size_t size = std::min<uint64_t>(kReadBytes, source_.size() - read_);
  const size_t before = buffer_.size();
  buffer_.resize(before + size);
  PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(read_, std::span(buffer_).subspan(before)));
  read_ += size;
  return absl::OkStatus();
}

absl::Status TfRecordReader::ReadCompressed(size_t room) {
  const size_t before = buffer_.size();
  buffer_.resize(before + room);
  std::span<uint8_t> out = std::span(buffer_).subspan(before);
  absl::Status status;
  while (out.size() == room) {
    if (input_begin_ == input_.size()) {
      input_.resize(std::min<uint64_t>(kReadBytes, source_.size() - read_));
      input_begin_ = 0;
      if (input_.empty()) break;
      status = source_.ReadAt(read_, input_);
      if (!status.ok()) break;
      read_ += input_.size();
    }
    std::span<const uint8_t> in = std::span<const uint8_t>(input_).subspan(input_begin_);
    // Padding, which `gzip -d` ignores too. No member begins with a zero.
    while (compression_ == Compression::kGzip && !inside_member_ && !in.empty() && in[0] == 0) {
      in = in.subspan(1);
      ++input_begin_;
    }
    if (in.empty()) continue;
    absl::StatusOr<bool> ended = decompressor_->Step(in, out);
    input_begin_ = input_.size() - in.size();
    inside_member_ = ended.ok() && !*ended;
    if (!ended.ok()) {
      status = Annotate(ended.status(),
                        absl::StrCat(source_.name(), ": compressed byte ", read_ - in.size()));
      break;
    }
  }
  buffer_.resize(buffer_.size() - out.size());
  if (status.ok() && buffer_.size() == before && inside_member_) {
    return absl::DataLossError(absl::StrCat(source_.name(), ": ", CompressionName(compression_),
                                            ": cut after compressed byte ", read_));
  }
  return status;
}

}  // namespace penstock
