#include "records/format/unpacked_stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

constexpr size_t kInputBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<size_t> UnpackedStream::Read(std::span<uint8_t> out) {
  PENSTOCK_RETURN_IF_ERROR(Start());
  return decompressor_.has_value() ? ReadCompressed(out) : ReadPlain(out);
}

absl::Status UnpackedStream::Start() {
  if (started_) return absl::OkStatus();
  started_ = true;
  uint8_t head[kFrameHeaderBytes];
  const size_t size = std::min<uint64_t>(sizeof(head), source_.size());
  PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(0, std::span(head, size)));
  compression_ = DetectCompression(std::span<const uint8_t>(head, size));
  if (compression_ != Compression::kNone) decompressor_.emplace(compression_);
  return absl::OkStatus();
}

absl::StatusOr<size_t> UnpackedStream::ReadPlain(std::span<uint8_t> out) {
  const size_t size = std::min<uint64_t>(out.size(), source_.size() - read_);
  PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(read_, out.first(size)));
  read_ += size;
  return size;
}

absl::StatusOr<size_t> UnpackedStream::ReadCompressed(std::span<uint8_t> out) {
  const size_t room = out.size();
  while (out.size() == room && room > 0) {
    PENSTOCK_RETURN_IF_ERROR(FillInput());
    if (input_begin_ == input_.size()) break;
    PassPadding();
    PENSTOCK_RETURN_IF_ERROR(Step(out));
  }
  if (out.size() == room && room > 0 && inside_member_) {
    return absl::DataLossError(absl::StrCat(source_.name(), ": ", CompressionName(compression_),
                                            ": cut after compressed byte ", read_));
  }
  return room - out.size();
}

// Reads compressed bytes unless some are left. If there are none afterwards, the source has ended.
absl::Status UnpackedStream::FillInput() {
  if (input_begin_ < input_.size()) return absl::OkStatus();
  input_.resize(std::min<uint64_t>(kInputBytes, source_.size() - read_));
  input_begin_ = 0;
  PENSTOCK_RETURN_IF_ERROR(source_.ReadAt(read_, input_));
  read_ += input_.size();
  return absl::OkStatus();
}

// Zeros between members are padding, which `gzip -d` ignores too. No member begins with a zero.
void UnpackedStream::PassPadding() {
  if (compression_ != Compression::kGzip || inside_member_) return;
  while (input_begin_ < input_.size() && input_[input_begin_] == 0) ++input_begin_;
}

absl::Status UnpackedStream::Step(std::span<uint8_t>& out) {
  std::span<const uint8_t> in = std::span<const uint8_t>(input_).subspan(input_begin_);
  if (in.empty()) return absl::OkStatus();
  const absl::StatusOr<bool> ended = decompressor_->Step(in, out);
  input_begin_ = input_.size() - in.size();
  inside_member_ = ended.ok() && !*ended;
  return Annotate(ended.status(),
                  absl::StrCat(source_.name(), ": compressed byte ", read_ - in.size()));
}

}  // namespace penstock
